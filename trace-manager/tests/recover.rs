//! Recovery of the archive of a killed process.
#![allow(missing_docs)]

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{flock, FlockOperation};
use tempfile::TempDir;
use trace_format::encode::{append, to_bytes};
use trace_format::layout::{InstantScope, ProviderEvent};
use trace_format::record::Metadata;
use trace_format::{
    Argument, Event, EventKind, Log, Reader, Record, Text, Thread, ThreadKoids, Value,
};
use trace_manager::{recover, RecoverError, Recovered};
use trace_protocol::archive::{self, ClockSample, Identity};
use trace_protocol::buffer::header::{BufferingMode, Layout, Parts, HEADER_SIZE};
use trace_protocol::buffer::memory::WriteMapping;
use trace_protocol::buffer::producer::{DurableWriter, LossReason};
use trace_protocol::buffer::saved::{buffer_path, partial_path, SavedMark};
use trace_protocol::message::ClockSource;

const PID: u64 = 4711;

/// The files of a killed process: a partial archive and a buffer.
struct Left {
    directory: TempDir,
    partial: Vec<u64>,
    layout: Layout,
    durable: Vec<u64>,
}

fn event(name: &'static str, ticks: u64, kind: EventKind, arguments: &[Argument<'_>]) -> Vec<u64> {
    let event = Event {
        ticks,
        thread: Thread::Inline(ThreadKoids::new(PID, 5)),
        category: "trace".into(),
        name: name.into(),
        kind,
        arguments: arguments.into(),
    };
    words(&event.into())
}

fn words(record: &Record<'_>) -> Vec<u64> {
    let mut words = Vec::new();
    append(&mut words, record).unwrap();
    words
}

fn instant(name: &'static str, ticks: u64) -> Vec<u64> {
    event(name, ticks, EventKind::Instant { scope: Some(InstantScope::Thread) }, &[])
}

impl Left {
    /// Returns a partial archive with the event `early` and a buffer with the event `late`.
    fn new() -> Self {
        let parts = Parts {
            losses_size: Layout::MIN_LOSSES_SIZE,
            durable_size: 4096,
            rolling_buffers: 2,
            rolling_size: 4096,
            unit_size: 256,
        };
        let identity = Identity {
            id: 1,
            name: "app".to_owned(),
            process_name: "app".to_owned(),
            pid: PID as u32,
            uid: 0,
            clock: ClockSource::Boottime,
        };
        let mut partial = Vec::new();
        archive::magic(&mut partial);
        archive::opening(&mut partial, &identity, 1_000_000_000, &ClockSample::now());
        partial.extend(instant("early", 10));
        Self {
            directory: tempfile::tempdir().unwrap(),
            partial,
            layout: Layout::new(BufferingMode::Streaming, parts).unwrap(),
            durable: instant("late", 20),
        }
    }

    fn output(&self) -> PathBuf {
        self.directory.path().join("app.fxt")
    }

    fn partial_bytes(&self) -> u64 {
        self.partial.len() as u64 * 8
    }

    /// Writes both files. The first `valid` bytes of the partial archive are valid.
    fn write(&self, valid: u64) -> File {
        fs::write(partial_path(&self.output()), to_bytes(&self.partial)).unwrap();
        let path = buffer_path(&self.output());
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path);
        let file = file.unwrap();
        file.set_len(self.layout.total_size() as u64).unwrap();
        file.write_all_at(&to_bytes(&self.layout.to_header()), 0).unwrap();
        let mapping = WriteMapping::map(file.as_fd(), self.layout.total_size()).unwrap();
        DurableWriter::new(mapping.clone(), self.layout).append(&self.durable).unwrap();
        SavedMark::new(mapping).set(0, valid);
        file
    }

    fn recovered(&self) -> Recovered {
        self.write(self.partial_bytes());
        recover(&self.output()).unwrap()
    }

    /// Returns the names in the directory.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.directory.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn is_untouched(&self) {
        assert_eq!(self.names(), ["app.fxt.buffer", "app.fxt.partial"]);
    }
}

/// Returns the events of an archive, which must have no errors.
fn events(path: &Path) -> Vec<(String, Vec<(String, String)>)> {
    let mut reader = Reader::new(File::open(path).unwrap());
    let mut events = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        let Record::Event(event) = &item.record else { continue };
        let value = |value| match value {
            Value::String(text) => item.text(text).into_owned(),
            value => format!("{value:?}"),
        };
        let arguments = event
            .arguments
            .iter()
            .map(|argument| (item.text(argument.name).into_owned(), value(argument.value)));
        events.push((item.text(event.name).into_owned(), arguments.collect()));
    }
    events
}

fn names(path: &Path) -> Vec<String> {
    events(path).into_iter().map(|(name, _)| name).collect()
}

#[test]
fn an_archive_without_events_does_not_replace_another() {
    let mut left = Left::new();
    left.partial.truncate(left.partial.len() - instant("early", 10).len());
    left.durable.clear();
    fs::write(left.output(), "earlier").unwrap();
    let recovered = left.recovered();
    assert_eq!((recovered.events, recovered.bytes), (0, 0));
    assert_eq!(left.names(), ["app.fxt"]);
    assert_eq!(fs::read_to_string(left.output()).unwrap(), "earlier");
    left.durable = instant("late", 20);
    assert_ne!(left.recovered().bytes, 0, "its only event is in the buffer");
    assert_eq!(left.names(), ["app.fxt", "app.fxt.old"]);
}

#[test]
fn a_buffer_that_was_memory_is_reported() {
    let left = Left::new();
    left.write(left.partial_bytes()).set_len(HEADER_SIZE as u64).unwrap();
    let recovered = recover(&left.output()).unwrap();
    assert!(recovered.is_buffer_lost && !recovered.is_complete());
    assert_eq!((recovered.events, names(&left.output())[1..].concat()), (0, "early".to_owned()));
    let mut reader = Reader::new(File::open(left.output()).unwrap());
    let mut last = None;
    while let Some(item) = reader.next().unwrap() {
        last = match item.record {
            Record::Metadata(Metadata::ProviderEvent { id, event }) => Some((id, event)),
            _ => None,
        };
    }
    assert_eq!(last, Some((1, ProviderEvent::BUFFER_FULL)));
    assert!(!left.recovered().is_buffer_lost);
}

#[test]
fn records_of_the_buffer_follow_those_of_the_archive() {
    let mut left = Left::new();
    left.durable.extend(event("open", 30, EventKind::DurationBegin, &[]));
    left.durable.extend(event("open", 31, EventKind::DurationBegin, &[]));
    left.durable.extend(event("open", 32, EventKind::DurationEnd, &[]));
    let recovered = left.recovered();
    assert_eq!(left.names(), ["app.fxt"], "the recovered files are removed");
    assert_eq!(recovered.archive.file_name().unwrap(), "app.fxt");
    let bytes = fs::read(left.output()).unwrap();
    assert_eq!(recovered.bytes, bytes.len() as u64);
    assert!(bytes.starts_with(&to_bytes(&left.partial)));
    assert_eq!(
        names(&left.output()),
        ["clock anchor", "early", "late", "open", "open", "open", "clock anchor"]
    );
    assert_eq!((recovered.events, recovered.open_scopes), (4, 1));
    assert_eq!((recovered.dropped, recovered.refused, recovered.damaged), (0, 0, 0));
    assert!(recovered.is_complete());
}

#[test]
fn each_file_may_be_given() {
    for name in ["app.fxt", "app.fxt.partial", "app.fxt.buffer"] {
        let left = Left::new();
        left.write(left.partial_bytes());
        let recovered = recover(&left.directory.path().join(name)).unwrap();
        assert_eq!(recovered.archive.file_name().unwrap(), "app.fxt");
        assert_eq!(left.names(), ["app.fxt"]);
    }
}

/// An output may be named like one of the files beside it.
#[test]
fn an_output_may_end_in_buffer() {
    let left = Left::new();
    left.write(left.partial_bytes());
    let odd = left.directory.path().join("x.buffer");
    fs::rename(buffer_path(&left.output()), buffer_path(&odd)).unwrap();
    fs::rename(partial_path(&left.output()), partial_path(&odd)).unwrap();
    assert_eq!(recover(&odd).unwrap().archive.file_name().unwrap(), "x.buffer");
}

#[test]
fn damaged_records_are_omitted_and_counted() {
    let mut left = Left::new();
    let good = left.partial.len();
    let log = Log { ticks: 11, thread: Thread::Inline(ThreadKoids::new(PID, 5)), message: b"x" };
    let mut bad = instant("bad", 12);
    // The header has fifteen arguments, but the record has none.
    bad[0] |= 0xf << 20;
    left.partial.extend(&bad);
    left.partial.extend(words(&log.into()));
    left.partial.extend(instant("after", 13));
    let recovered = left.recovered();
    assert_eq!(recovered.damaged, bad.len() as u64 * 8);
    assert!(!recovered.is_complete());
    let skipped = "bytes skipped in a damaged archive";
    assert_eq!(names(&left.output()), ["clock anchor", "early", "after", "late", skipped]);
    let number = number("number", recovered.damaged);
    assert!(events(&left.output()).contains(&(skipped.to_owned(), vec![number])));
    assert_eq!(left.names(), ["app.fxt", "app.fxt.partial.damaged"]);
    let kept = left.directory.path().canonicalize().unwrap().join("app.fxt.partial.damaged");
    assert_eq!(fs::read(&kept).unwrap(), to_bytes(&left.partial), "the file is kept as it was");
    assert_eq!(recovered.kept, [kept]);
    let bytes = fs::read(left.output()).unwrap();
    assert!(bytes.starts_with(&to_bytes(&left.partial[..good])));
}

#[test]
fn only_the_valid_part_is_used() {
    let mut left = Left::new();
    let valid = left.partial_bytes();
    left.partial.extend(instant("not yet", 13));
    left.write(valid);
    let recovered = recover(&left.output()).unwrap();
    assert!(recovered.is_complete());
    assert_eq!(names(&left.output()), ["clock anchor", "early", "late", "clock anchor"]);
}

#[test]
fn missing_bytes_are_counted() {
    let left = Left::new();
    left.write(left.partial_bytes() + 80);
    let recovered = recover(&left.output()).unwrap();
    assert_eq!((recovered.damaged, recovered.is_complete()), (80, false));
    // A truncated record is omitted.
    let left = Left::new();
    let last = instant("early", 10).len() as u64 * 8;
    left.write(left.partial_bytes() - 8);
    let recovered = recover(&left.output()).unwrap();
    assert_eq!(recovered.damaged, last - 8);
    let skipped = "bytes skipped in a damaged archive";
    assert_eq!(names(&left.output()), ["clock anchor", "late", skipped]);
}

#[test]
fn malformed_records_of_the_buffer_are_refused() {
    let mut left = Left::new();
    left.durable.extend([0x0007_0007_010f_0024, 1]);
    left.durable.extend(instant("last", 40));
    let recovered = left.recovered();
    assert_eq!((recovered.refused, recovered.is_complete()), (1, false));
    let events = events(&left.output());
    assert_eq!(events[3].0, "last");
    assert_eq!(events[4], ("records refused".to_owned(), vec![number("number", 1)]));
    assert_eq!(left.names(), ["app.fxt", "app.fxt.buffer.damaged"]);
}

fn number(key: &str, number: u64) -> (String, String) {
    (key.to_owned(), format!("{:?}", Value::Uint64(number)))
}

/// The partial archive reports three of ten lost records.
#[test]
fn unreported_losses_are_reported() {
    let mut left = Left::new();
    let told = [
        Argument::new("reason", Value::String(Text::from("buffer full"))),
        Argument::new("number", Value::Uint64(3)),
    ];
    let kind = EventKind::Instant { scope: Some(InstantScope::Thread) };
    left.partial.extend(event("records dropped", 11, kind, &told));
    let file = left.write(left.partial_bytes());
    let id = (LossReason::NotSaved as u64 + 1) << 32 | 5;
    let entry = [id, 10, 15, 25, 0, 15, 0, 0];
    file.write_all_at(&to_bytes(&entry), left.layout.losses_offset() as u64).unwrap();
    let recovered = recover(&left.output()).unwrap();
    assert_eq!((recovered.dropped, recovered.is_complete()), (10, true));
    assert_eq!(recovered.dropped_by_reason, [(LossReason::NotSaved, 10)]);
    let events = events(&left.output());
    assert_eq!(events[2].0, "records dropped");
    let [.., (name, arguments), (last, _)] = &events[..] else { panic!("{events:?}") };
    assert_eq!((&**name, &**last), ("records dropped", "clock anchor"));
    let reason = LossReason::NotSaved.as_str();
    assert_eq!(arguments[0], ("reason".to_owned(), reason.to_owned()));
    assert_eq!(arguments[1..], [number("number", 7), number("from", 15), number("to", 25)]);
}

#[test]
fn the_files_of_a_living_process_stay() {
    let left = Left::new();
    let file = left.write(left.partial_bytes());
    flock(&file, FlockOperation::LockExclusive).unwrap();
    let error = recover(&left.output()).unwrap_err();
    assert!(matches!(error, RecoverError::Alive { .. }), "{error}");
    assert!(error.to_string().contains("alive"), "{error}");
    left.is_untouched();
    flock(&file, FlockOperation::Unlock).unwrap();
    assert!(recover(&left.output()).is_ok());
}

#[test]
fn a_file_that_is_not_a_buffer_stays() {
    let left = Left::new();
    let file = left.write(left.partial_bytes());
    file.write_all_at(&[0; 8], 0).unwrap();
    let error = recover(&left.output()).unwrap_err();
    assert!(matches!(error, RecoverError::NotABuffer { .. }), "{error}");
    assert!(error.to_string().contains("app.fxt.buffer"), "{error}");
    left.is_untouched();
    let file = left.write(left.partial_bytes());
    file.set_len(left.layout.total_size() as u64 - 8).unwrap();
    assert!(matches!(recover(&left.output()), Err(RecoverError::NotABuffer { .. })));
    left.is_untouched();
}

#[test]
fn an_archive_without_a_valid_start_is_not_recovered() {
    let left = Left::new();
    for valid in [0, 8, left.partial_bytes() - instant("early", 10).len() as u64 * 8 - 8] {
        left.write(valid);
        let error = recover(&left.output()).unwrap_err();
        assert!(matches!(error, RecoverError::NothingRecorded { .. }), "{valid}: {error}");
        assert!(error.to_string().contains("app.fxt.partial"), "{error}");
        left.is_untouched();
    }
}

#[test]
fn the_error_names_a_missing_file() {
    let left = Left::new();
    for missing in [buffer_path, partial_path] {
        left.write(left.partial_bytes());
        fs::remove_file(missing(&left.output())).unwrap();
        let error = recover(&left.output()).unwrap_err();
        let RecoverError::Io { path, .. } = &error else { panic!("{error}") };
        assert_eq!(path.file_name(), missing(&left.output()).file_name());
    }
}
