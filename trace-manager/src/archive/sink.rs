//! The archive sink: writes records in order, and reports its progress to the guard.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use trace_protocol::archive::{self, ClockSample, Identity};
use trace_protocol::buffer::consumer::SaveSlot;
use trace_protocol::buffer::header::Layout;
use trace_protocol::message::ClockSource;

use super::prefix::Prefix;
use super::spool::{Block, BlockInfo, Spool};
use super::status::WriterStatus;
use super::writer::ArchiveWriter;
use crate::error::ManagerError;
use crate::ledger::{GuardHandle, LedgerUpdate, ProviderLedger, SlotPool};
use crate::limited::Progress;
use crate::output::{ArchiveOutput, ArchiveTarget, BlockRole};
use crate::records::{Records, Spares, SECTION};
use crate::sink::{Ending, Finish, Opening, Sink};

/// An archive in the Fuchsia trace format.
#[derive(Debug)]
pub struct ArchiveSink {
    writer: ArchiveWriter,
    /// If this is set when the last block is written, the archive is removed.
    discarded: Arc<AtomicBool>,
    spares: Spares,
    guard: Option<ArchiveGuard>,
    discard_on_drop: DiscardOnDrop,
    /// The id of the provider whose records were written last.
    last_section: Option<u32>,
    /// Whether the present part has records of a provider.
    has_records: bool,
    /// Bytes in the archive for each provider that has not left.
    bytes: BTreeMap<u32, u64>,
}

/// Removes an archive that its caller drops before a session starts.
#[derive(Debug, Default)]
struct DiscardOnDrop(Option<(Arc<Spool>, Arc<AtomicBool>)>);

impl Drop for DiscardOnDrop {
    fn drop(&mut self) {
        if let Some((spool, discarded)) = self.0.take() {
            discarded.store(true, Ordering::Release);
            spool.close();
        }
    }
}

/// The guard's data of an archive.
#[derive(Debug)]
struct ArchiveGuard {
    guard: GuardHandle,
    pool: SlotPool,
    ledgers: BTreeMap<u32, ProviderLedger>,
}

impl ArchiveSink {
    /// Creates a further archive of a session. The guard does not complete it, and snapshots are
    /// not copied from it.
    ///
    /// # Errors
    ///
    /// [`ManagerError::CreateArchive`]; [`ManagerError::EventLoop`] if the process cannot start a
    /// thread.
    pub fn create(target: ArchiveTarget) -> Result<Self, ManagerError> {
        let (output, discarded) = (ArchiveOutput::open(target)?, Arc::default());
        let sink = Self::begin(output, None, None, Arc::clone(&discarded), Spares::default());
        let mut sink = sink.map_err(ManagerError::EventLoop)?;
        sink.discard_on_drop = DiscardOnDrop(Some((sink.writer.spool(), discarded)));
        Ok(sink)
    }

    /// Starts the archive `output`, and hands it to the guard if there is one. `layout` is the
    /// default layout of a provider's buffer.
    pub(crate) fn begin(
        output: ArchiveOutput,
        guard: Option<GuardHandle>,
        layout: Option<Layout>,
        discarded: Arc<AtomicBool>,
        spares: Spares,
    ) -> std::io::Result<Self> {
        let writer = ArchiveWriter::spawn(output, guard.clone(), Arc::clone(&discarded))?;
        let guard = guard.map(|guard| ArchiveGuard {
            pool: SlotPool::new(guard.clone(), layout),
            guard,
            ledgers: BTreeMap::new(),
        });
        let bytes = BTreeMap::new();
        let discard_on_drop = DiscardOnDrop::default();
        let last_section = None;
        let mut sink = Self {
            writer,
            discarded,
            spares,
            guard,
            discard_on_drop,
            last_section,
            has_records: false,
            bytes,
        };
        let mut words = sink.spares.take();
        archive::magic(&mut words);
        sink.write(words, BlockInfo::default());
        Ok(sink)
    }

    /// Returns memory, shared with the guard, for a copy of a provider's rolling buffer. Returns
    /// `None` if there is no guard, or it does not have the provider.
    pub(crate) fn allocate_slot(
        &mut self,
        provider: u32,
        layout: &Layout,
        providers: usize,
    ) -> Option<SaveSlot> {
        let guard = self.guard.as_mut()?;
        guard.ledgers.get(&provider)?;
        guard.pool.allocate(layout, providers)
    }

    /// Notes that a rolling buffer was copied, before its provider gets the reply. `shared` is
    /// whether the guard can read the copy.
    pub(crate) fn copied(&self, provider: u32, wrapped_count: u32, shared: bool) {
        if let Some(ledger) = self.ledger(provider) {
            ledger.copied(wrapped_count, shared);
        }
    }

    /// Notes that a provider has reported its stop.
    pub(crate) fn stopped(&self, provider: u32) {
        if let Some(ledger) = self.ledger(provider) {
            ledger.stopped();
        }
    }

    /// Notes that the copies of a provider's rolling buffers up to `last_saved` are not a part of
    /// this archive.
    pub(crate) fn resume(&self, provider: u32, last_saved: Option<u32>) {
        if let (Some(ledger), Some(last)) = (self.ledger(provider), last_saved) {
            ledger.copied(last, true);
        }
    }

    /// Notes that a provider with a circular buffer streams, from the rolling buffer `first` on,
    /// before the first of them is copied.
    pub(crate) fn stream(&self, provider: u32, first: u32) {
        if let Some(ledger) = self.ledger(provider) {
            ledger.stream(first);
        }
    }

    /// Corrects how many losses from before the session were reported by overwritten records.
    pub(crate) fn correct_reports(&self, provider: u32, overwritten: u64) {
        if let Some(ledger) = self.ledger(provider) {
            ledger.correct_reports(overwritten);
        }
    }

    /// Notes that the session limits the records of a provider itself: to so many words in oneshot
    /// mode. It has come as far as `progress` with the same connection.
    pub(crate) fn limit(&mut self, provider: u32, first_words: Option<u64>, progress: Progress) {
        if let Some(ledger) = self.ledger_mut(provider) {
            ledger.limit(first_words, progress);
        }
    }

    /// Notes how far the session has come with its own limit to a provider's records. Called before
    /// these.
    pub(crate) fn set_progress(&mut self, provider: u32, progress: Progress) {
        if let Some(ledger) = self.ledger_mut(provider) {
            ledger.set_progress(progress);
        }
    }

    fn ledger_mut(&mut self, provider: u32) -> Option<&mut ProviderLedger> {
        self.guard.as_mut()?.ledgers.get_mut(&provider)
    }

    /// Returns whether the caller has discarded the archive.
    pub(crate) fn is_discarded(&self) -> bool {
        self.discarded.load(Ordering::Acquire)
    }

    /// Returns the state of the writer thread.
    pub(crate) fn status(&self) -> Arc<WriterStatus> {
        self.writer.status()
    }

    /// Returns the part of the archive that exists now.
    ///
    /// # Errors
    ///
    /// [`ManagerError::SnapshotOfStream`] if the archive cannot be read again.
    pub(crate) fn prefix(&self) -> Result<Prefix, ManagerError> {
        self.writer.prefix()
    }

    /// Returns the byte count of a provider that has not left.
    pub(crate) fn bytes(&self, provider: u32) -> u64 {
        self.bytes.get(&provider).copied().unwrap_or(0)
    }

    /// Returns and removes the byte count of a provider that has left.
    pub(crate) fn take_bytes(&mut self, provider: u32) -> u64 {
        self.bytes.remove(&provider).unwrap_or(0)
    }

    /// Returns the size of the present part in bytes, or `None` if it has no records of a provider.
    pub(crate) fn part_bytes(&self) -> Option<u64> {
        self.has_records.then(|| self.present_bytes())
    }

    /// Returns the size of the present part in bytes.
    pub(crate) fn present_bytes(&self) -> u64 {
        self.writer.part_bytes()
    }

    /// Takes records that begin with their provider's opening. Some readers refuse a section record
    /// before it.
    pub(crate) fn take_opening(&mut self, records: &Records) {
        self.last_section = Some(records.provider);
        self.take(records);
    }

    /// Writes records about the present part that do not hold for an archive of this and later
    /// parts.
    pub(crate) fn end_part(&mut self, records: &Records) {
        let info = BlockInfo { role: BlockRole::EndsPart, ..BlockInfo::default() };
        self.write_records(records, info);
    }

    /// Ends the present part, and begins the next one. `rate` is that of the CPU's counter, in
    /// ticks per second.
    pub(crate) fn cut(&mut self, rate: u64) {
        let mut words = self.spares.take();
        archive::magic(&mut words);
        let words = self.spares.share(words);
        self.writer.cut(words, rate);
        self.last_section = None;
        self.has_records = false;
    }

    /// Returns the paths of the parts that got their names since the last call.
    pub(crate) fn take_new_parts(&self) -> Vec<PathBuf> {
        self.writer.take_new_parts()
    }

    /// Repeats a provider's opening and durable records at the beginning of a part. `reported`
    /// is the number of lost records that earlier parts report.
    pub(crate) fn reopen(
        &mut self,
        identity: &Identity,
        rate: u64,
        now: &ClockSample,
        durable: Vec<u64>,
        reported: u64,
    ) {
        self.write_opening(identity, rate, now, reported, BlockRole::Repeats);
        *self.bytes.entry(identity.id).or_default() += durable.len() as u64 * 8;
        self.write(durable, BlockInfo { role: BlockRole::Repeats, ..BlockInfo::default() });
        // A copy of several parts leaves the opening out.
        self.last_section = None;
    }

    /// Writes the opening of a provider. Earlier parts report `reported` of its lost records.
    fn write_opening(
        &mut self,
        identity: &Identity,
        rate: u64,
        now: &ClockSample,
        reported: u64,
        role: BlockRole,
    ) {
        let mut words = self.spares.take();
        let place = archive::opening(&mut words, identity, rate, now);
        let rate = (identity.clock == ClockSource::CpuCounter).then_some(place);
        let before_end = rate.map_or(0, |place| (words.len() - place) as u64 * 8);
        let update = self.ledger(identity.id).map(|ledger| ledger.opening(before_end, reported));
        self.last_section = Some(identity.id);
        *self.bytes.entry(identity.id).or_default() += words.len() as u64 * 8;
        self.write(words, BlockInfo { rate, update, role, ..BlockInfo::default() });
    }

    fn ledger(&self, provider: u32) -> Option<&ProviderLedger> {
        self.guard.as_ref()?.ledgers.get(&provider)
    }

    /// Writes words that no other sink shares.
    fn write(&mut self, words: Vec<u64>, info: BlockInfo) {
        let words = self.spares.share(words);
        self.writer.push(Block { words, start: 0, info });
    }

    fn write_records(&mut self, records: &Records, info: BlockInfo) {
        let block = Block { words: records.words.clone(), start: self.first_word(records), info };
        *self.bytes.entry(records.provider).or_default() += block.bytes().len() as u64;
        self.has_records |= !block.bytes().is_empty();
        self.writer.push(block);
    }

    /// Returns the ledger update for the block of these records.
    fn ledger_update(&mut self, records: &Records) -> Option<LedgerUpdate> {
        let ledger = self.ledger(records.provider)?;
        if !records.is_last && !records.is_copy {
            return None;
        }
        if !records.is_last {
            return Some(ledger.save(records.slots.clone(), records.reported));
        }
        let update = ledger.closing(records.slots.clone());
        self.guard.as_mut()?.ledgers.remove(&records.provider);
        Some(update)
    }

    /// Returns the index of the first word to write. The section record is left out if the
    /// archive's last records are of the same provider.
    fn first_word(&mut self, records: &Records) -> usize {
        if records.words().is_empty() {
            return records.words.len();
        }
        match self.last_section.replace(records.provider) == Some(records.provider) {
            true => SECTION,
            false => 0,
        }
    }
}

impl Sink for ArchiveSink {
    fn open(&mut self, opening: &Opening<'_>) {
        let identity = opening.identity();
        let ledger = self.guard.as_ref().and_then(|it| it.guard.join(&opening.joined));
        if let (Some(ledger), Some(guard)) = (ledger, &mut self.guard) {
            guard.ledgers.insert(identity.id, ledger);
        }
        let (rate, now) = (opening.ticks_per_second(), opening.now());
        self.write_opening(identity, rate, now, 0, BlockRole::Content);
    }

    fn take(&mut self, records: &Records) {
        let info = BlockInfo { update: self.ledger_update(records), ..BlockInfo::default() };
        self.write_records(records, info);
    }

    fn finish(mut self: Box<Self>, ending: Ending) -> Finish {
        self.discard_on_drop.0 = None;
        if ending.is_discarded {
            self.discarded.store(true, Ordering::Release);
        }
        let finished = self.writer.finish(ending.counter_rate);
        Finish::new(move || finished.join())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::fd::AsFd;
    use std::path::Path;
    use std::time::{Duration, Instant};

    use trace_protocol::buffer::consumer::IdentityPolicy;
    use trace_protocol::buffer::header::BufferingMode;
    use trace_protocol::socket::Socket;

    use super::*;
    use crate::fixture::{buffer, identity, layout};
    use crate::ledger::{Guard, JoinedProvider};

    fn sink(path: &Path) -> Box<ArchiveSink> {
        Box::new(ArchiveSink::create(ArchiveTarget::File(path.to_owned())).unwrap())
    }

    fn records(provider: u32, words: &[u64]) -> Records {
        let spares = Spares::default();
        let mut all = Records::begin(&spares, provider);
        all.extend(words);
        let words = spares.share(all);
        Records { provider, words, slots: Vec::new(), reported: 0, is_copy: true, is_last: false }
    }

    fn ending(is_discarded: bool) -> Ending {
        Ending { counter_rate: 1, is_discarded }
    }

    #[test]
    fn a_section_record_is_written_when_the_provider_changes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.fxt");
        let mut sink = sink(&path);
        let (first, second) = (records(1, &[10]), records(2, &[20, 21]));
        for records in [&first, &first, &records(2, &[]), &second, &first] {
            sink.take(records);
        }
        sink.take_opening(&records(3, &[30]));
        sink.take(&records(3, &[31]));
        assert_eq!((sink.take_bytes(1), sink.take_bytes(2)), (5 * 8, 3 * 8));
        assert_eq!(sink.take_bytes(1), 0, "the count is removed");
        sink.finish(ending(false)).wait().unwrap();
        let (one, two) = (first.words[0], second.words[0]);
        let expected = [one, 10, 10, two, 20, 21, one, 10, 30, 31];
        let bytes = fs::read(&path).unwrap();
        assert_eq!(bytes[8..], *trace_protocol::words::as_bytes(&expected), "after the magic");
    }

    /// Only copies of rolling buffers are compared with those that were taken.
    #[test]
    fn records_without_a_copy_do_not_change_the_ledger() {
        let directory = tempfile::tempdir().unwrap();
        let target = ArchiveTarget::File(directory.path().join("a.fxt"));
        let output = ArchiveOutput::open(target).unwrap();
        let (guard, _theirs) = Guard::pair().unwrap();
        let handle = GuardHandle::begin(guard, &output, &[]);
        let sink = ArchiveSink::begin(output, handle, None, Arc::default(), Spares::default());
        let (mut sink, layout) = (sink.unwrap(), layout(BufferingMode::Streaming));
        let (buffer, identity) = (buffer(&layout), identity());
        let (packets, _provider) = Socket::packet_pair().unwrap();
        let (policy, packets) = (IdentityPolicy::Own(4711), packets.as_fd());
        let joined = JoinedProvider {
            identity: &identity,
            policy,
            joined_at: 5,
            dropped_before: Some(0),
            overwritten_reports: 0,
            streams_from: None,
            reported_before: 0,
            layout,
            buffer: &buffer,
            packets,
        };
        sink.open(&Opening { joined, now: ClockSample::now(), counter_rate: 1 });
        let durable = Records { is_copy: false, ..records(identity.id, &[10]) };
        assert!(sink.ledger_update(&durable).is_none());
        let copy = sink.ledger_update(&records(identity.id, &[10]));
        assert!(matches!(copy, Some(LedgerUpdate::Save { slots, .. }) if slots.is_empty()));
    }

    #[test]
    fn a_sink_that_is_discarded_or_dropped_leaves_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let sink = || sink(&directory.path().join("a.fxt"));
        assert!(!sink().is_discarded());
        assert_eq!(sink().finish(ending(true)).wait().unwrap(), 0);
        let dropped = sink();
        let status = dropped.status();
        drop(dropped);
        let deadline = Instant::now() + Duration::from_secs(20);
        while !status.has_ended() {
            assert!(Instant::now() < deadline, "the writer does not end");
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(!directory.path().join("a.fxt").exists());
    }
}
