//! The manager's side and the guard's side together. The manager ends at a chosen moment.

mod categories;
mod departures;
mod losses;
mod names;
mod parts;
mod streams;

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use trace_format::record::Record;
use trace_format::Reader;
use trace_protocol::archive::{self, ClockSample};
use trace_protocol::buffer::consumer::{Collector, IdentityPolicy, SaveSlot};
use trace_protocol::buffer::header::{field, BufferingMode, PAGE_SIZE};
use trace_protocol::socket::Socket;
use trace_protocol::words::as_bytes;

use super::{run_guard, GuardOutcome};
use crate::buffers::SharedBuffer;
use crate::fixture::{buffer, collector, identity, layout, layout_with, write_event, write_losses};
use crate::ledger::{Guard, GuardHandle, JoinedProvider, LedgerUpdate, ProviderLedger, SlotPool};
use crate::output::{ArchiveOutput, ArchiveTarget};

/// A session of one provider, until the manager dies.
struct Manager {
    directory: TempDir,
    archive: File,
    length: u64,
    /// Bytes before the last part of the archive.
    part_start: u64,
    handle: GuardHandle,
    pool: SlotPool,
    ledger: ProviderLedger,
    collector: Collector,
    buffer: Arc<SharedBuffer>,
    guard: std::os::fd::OwnedFd,
    /// The provider's end of its packet socket.
    provider: Socket,
}

impl Manager {
    fn start(mode: BufferingMode) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), mode)
    }

    fn start_in(directory: TempDir, mode: BufferingMode) -> Self {
        Self::join(directory, mode, None)
    }

    /// Starts a session with a provider that has lost `dropped_before` records, if it recorded
    /// before.
    fn join(directory: TempDir, mode: BufferingMode, dropped_before: Option<u64>) -> Self {
        let path = directory.path().join("out.fxt");
        let mut output = ArchiveOutput::open(ArchiveTarget::File(path)).unwrap();
        output.keep();
        let (guard, theirs) = Guard::pair().unwrap();
        let handle = GuardHandle::begin(guard, &output, &[]).unwrap();
        let layout = layout(mode);
        let buffer = buffer(&layout);
        let (packets, provider) = Socket::packet_pair().unwrap();
        let joined = JoinedProvider {
            identity: &identity(),
            policy: IdentityPolicy::Own(4711),
            joined_at: 5,
            dropped_before,
            overwritten_reports: 0,
            streams_from: None,
            reported_before: 0,
            layout,
            buffer: &buffer,
            packets: packets.as_fd(),
        };
        let ledger = handle.join(&joined).unwrap();
        Self {
            archive: File::from(output.as_fd().try_clone_to_owned().unwrap()),
            length: 0,
            part_start: 0,
            pool: SlotPool::new(handle.clone(), Some(layout)),
            collector: collector(&buffer, layout),
            directory,
            handle,
            ledger,
            buffer,
            guard: theirs,
            provider,
        }
    }

    /// Writes one event with this time into a rolling buffer, as the provider does.
    fn record(&self, wrapped_count: u32, ticks: u64) {
        write_event(&self.buffer, &layout(BufferingMode::Streaming), wrapped_count, ticks);
    }

    fn lose(&self, number: u64) {
        write_losses(&self.buffer, &layout(BufferingMode::Streaming), number);
    }

    fn copy(&mut self, wrapped_count: u32) -> SaveSlot {
        let slot = self.pool.allocate(&layout(BufferingMode::Streaming), 1).unwrap();
        self.collector.copy_rolling_into(wrapped_count, &slot, 7);
        self.ledger.copied(wrapped_count, true);
        slot
    }

    /// Writes a block as the archive's thread does. If `complete` is false, the manager dies in
    /// between.
    fn write(&mut self, words: &[u64], update: Option<&LedgerUpdate>, complete: bool) {
        let end = self.length + words.len() as u64 * 8;
        GuardHandle::before_write(update, end);
        let offset = self.length - self.part_start;
        self.archive.write_all_at(as_bytes(words), offset).unwrap();
        if complete {
            self.length = end;
            self.handle.after_write(update, end);
        }
    }

    fn open(&mut self) {
        self.open_part(0, true);
    }

    /// Opens the provider in a part after others that report `reported` losses.
    fn open_part(&mut self, reported: u64, complete: bool) {
        let mut words = Vec::new();
        archive::magic(&mut words);
        self.write(&words, None, true);
        let mut words = Vec::new();
        let rate = archive::opening(&mut words, &identity(), 1, &ClockSample::now());
        let update = self.ledger.opening((words.len() - rate) as u64 * 8, reported);
        self.write(&words, Some(&update), complete);
    }

    /// Archives a copy.
    fn write_copy(&mut self, slot: &SaveSlot, complete: bool) {
        let mut words = Vec::new();
        self.collector.sanitize_slot(&slot.reader(), &mut words);
        let reported = self.collector.stats().reported_losses;
        self.write(&words, Some(&self.ledger.save(vec![slot.clone()], reported)), complete);
    }

    /// Kills the manager, and lets the provider leave its buffer. Returns the guard's result, and
    /// the archive's path.
    fn die(self) -> (GuardOutcome, PathBuf, TempDir) {
        self.die_beside(drop)
    }

    /// Kills the manager beside a provider.
    fn die_beside<T>(self, provide: impl FnOnce(Socket) -> T) -> (GuardOutcome, PathBuf, TempDir) {
        let Self { directory, guard, archive, handle, pool, ledger, provider, .. } = self;
        let _provider = provide(provider);
        drop((archive, handle, pool, ledger));
        (run_guard(guard), directory.path().join("out.fxt"), directory)
    }

    /// Kills the manager and expects a completed archive. Returns the times of its events.
    fn die_and_read(self) -> Vec<u64> {
        let (outcome, path, _directory) = self.die();
        assert!(matches!(&outcome, GuardOutcome::Completed { missing: 0, .. }), "{outcome:?}");
        read(&path).0
    }
}

/// Returns the times of the tests' events, the names of the others, and the rates.
fn read(path: &Path) -> (Vec<u64>, Vec<String>, Vec<u64>) {
    let mut reader = Reader::new(File::open(path).unwrap());
    let (mut times, mut others, mut rates) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(item) = reader.next().unwrap() {
        match &item.record {
            Record::Event(event) if &*item.text(event.category) == "test" => {
                times.push(event.ticks);
            }
            Record::Event(event) => others.push(item.text(event.name).into_owned()),
            Record::Initialization { ticks_per_second } => rates.push(*ticks_per_second),
            _ => {}
        }
    }
    assert_eq!(reader.stats().bad_records, 0);
    (times, others, rates)
}

#[test]
fn an_empty_archive_is_completed() {
    let manager = Manager::start(BufferingMode::Streaming);
    manager.record(0, 100);
    manager.record(1, 101);
    manager.lose(3);
    let (outcome, path, directory) = manager.die();
    assert!(matches!(outcome, GuardOutcome::Completed { .. }), "{outcome:?}");
    let (times, others, rates) = read(&path);
    assert_eq!(times, [100, 101]);
    assert_eq!(others, ["clock anchor", "records dropped", "clock anchor"]);
    assert!(rates.len() == 1 && rates[0] > 1_000_000, "{rates:?}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn a_complete_copy_is_archived() {
    let mut manager = Manager::start(BufferingMode::Streaming);
    manager.open();
    manager.record(0, 100);
    manager.record(1, 101);
    manager.copy(0);
    // The provider has the reply, and writes the buffer again.
    manager.record(2, 102);
    assert_eq!(manager.die_and_read(), [100, 101, 102]);
}

#[test]
fn a_copy_without_a_reply_is_archived_once() {
    let mut manager = Manager::start(BufferingMode::Streaming);
    manager.open();
    manager.record(0, 100);
    // The manager dies before it updates the ledger.
    let slot = manager.pool.allocate(&layout(BufferingMode::Streaming), 1).unwrap();
    manager.collector.copy_rolling_into(0, &slot, 7);
    assert_eq!(manager.die_and_read(), [100]);
}

#[test]
fn an_incomplete_block_is_replaced_and_no_record_is_written_twice() {
    let mut manager = Manager::start(BufferingMode::Streaming);
    manager.open();
    let slots: Vec<SaveSlot> = (0..3u32)
        .map(|wrap| {
            manager.record(wrap, 100 + u64::from(wrap));
            manager.copy(wrap)
        })
        .collect();
    manager.record(3, 103);
    manager.write_copy(&slots[0], true);
    manager.write_copy(&slots[1], false);
    manager.archive.write_all_at(&[0xff; 100_000], manager.length + 8).unwrap();
    let (outcome, path, _directory) = manager.die();
    assert!(matches!(outcome, GuardOutcome::Completed { .. }), "{outcome:?}");
    let (times, others, rates) = read(&path);
    assert_eq!(times, [100, 101, 102, 103]);
    assert_eq!(others, ["clock anchor", "clock anchor"], "the opening and the end");
    assert!(rates[0] > 1_000_000, "the manager's estimate is replaced");
}

#[test]
fn a_slot_is_reused_once_its_copy_is_written() {
    let mut manager = Manager::start(BufferingMode::Streaming);
    manager.open();
    let mut expected = Vec::new();
    for wrap in 0..20u32 {
        manager.record(wrap, 100 + u64::from(wrap));
        let slot = manager.copy(wrap);
        manager.write_copy(&slot, true);
        expected.push(100 + u64::from(wrap));
    }
    manager.record(20, 120);
    manager.copy(20);
    expected.push(120);
    assert_eq!(manager.die_and_read(), expected);
}

#[test]
fn a_closed_provider_is_not_read_again() {
    let mut manager = Manager::start(BufferingMode::Streaming);
    manager.open();
    manager.record(0, 100);
    let mut words = Vec::new();
    manager.collector.finish(&mut words);
    let update = manager.ledger.closing(Vec::new());
    manager.write(&words, Some(&update), true);
    assert_eq!(manager.die_and_read(), [100]);
}

/// Until then, the guard may have to read the buffer.
#[test]
fn a_buffer_is_freed_when_its_records_are_in_the_archive() {
    let manager = Manager::start(BufferingMode::Streaming);
    manager.record(0, 100);
    let memory = File::from(manager.buffer.as_fd().try_clone_to_owned().unwrap());
    let Manager { ledger, buffer, .. } = manager;
    let update = ledger.closing(Vec::new());
    drop((ledger, buffer));
    assert_ne!(memory.metadata().unwrap().blocks(), 0);
    drop(update);
    assert_eq!(memory.metadata().unwrap().blocks(), 0);
}

#[test]
fn a_provider_is_closed_by_the_valid_length() {
    let mut manager = Manager::start(BufferingMode::Streaming);
    manager.open();
    manager.record(0, 100);
    let mut words = Vec::new();
    manager.collector.finish(&mut words);
    let update = manager.ledger.closing(Vec::new());
    manager.write(&words, Some(&update), false);
    // The message to the guard is lost.
    manager.handle.after_write(None, manager.length + words.len() as u64 * 8);
    assert_eq!(manager.die_and_read(), [100]);
}

/// It may record after its buffer is read.
#[test]
fn a_provider_that_does_not_leave_its_buffer_is_reported() {
    let mut manager = Manager::start(BufferingMode::Streaming);
    manager.open();
    manager.record(0, 100);
    let (outcome, path, _directory) = manager.die_beside(|provider| provider);
    assert!(matches!(outcome, GuardOutcome::Completed { missing: 0, .. }), "{outcome:?}");
    let (times, others, _) = read(&path);
    assert_eq!(times, [100]);
    let unfinished = "buffers read before the program stopped";
    assert_eq!(others, ["clock anchor", unfinished, "clock anchor"]);
}

/// Its session is paused, for example.
#[test]
fn a_provider_that_has_stopped_and_not_left_its_buffer_is_complete() {
    let mut manager = Manager::start(BufferingMode::Streaming);
    manager.open();
    manager.record(0, 100);
    manager.ledger.stopped();
    let (outcome, path, _directory) = manager.die_beside(|provider| provider);
    assert!(matches!(outcome, GuardOutcome::Completed { missing: 0, .. }), "{outcome:?}");
    let (times, others, _) = read(&path);
    assert_eq!((times, others), (vec![100], ["clock anchor"; 2].map(str::to_owned).to_vec()));
}

/// It writes last names and ends of scopes before it replies to the stop.
#[test]
fn a_provider_that_is_about_to_stop_is_reported() {
    let mut manager = Manager::start(BufferingMode::Streaming);
    manager.open();
    manager.record(0, 100);
    manager.buffer.write_at(&101u64.to_ne_bytes(), field::STOPPED_AT as u64 * 8).unwrap();
    let (outcome, path, _directory) = manager.die_beside(|provider| provider);
    assert!(matches!(outcome, GuardOutcome::Completed { missing: 0, .. }), "{outcome:?}");
    let (times, others, _) = read(&path);
    assert_eq!(times, [100]);
    let unfinished = "buffers read before the program stopped";
    assert_eq!(others, ["clock anchor", unfinished, "clock anchor"]);
}

#[test]
fn the_session_continues_without_its_guard() {
    let mut manager = Manager::start(BufferingMode::Streaming);
    let (_, unused) = Guard::pair().unwrap();
    assert_eq!(manager.handle.failure(), None);
    drop(std::mem::replace(&mut manager.guard, unused));
    manager.open();
    manager.record(0, 100);
    let slot = manager.copy(0);
    manager.write_copy(&slot, true);
    assert_eq!(manager.handle.failure(), Some("it has ended"));
    let large = layout_with(BufferingMode::Streaming, 8 * PAGE_SIZE);
    assert!(manager.pool.allocate(&large, 1).is_none(), "a new slot needs the guard");
    assert!(manager.pool.allocate(&layout(BufferingMode::Streaming), 1).is_some());
}
