//! Recording into a file, and reading the archive as one line of text for each record.

use std::cell::Cell;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use trace_format::audit::Audit;
use trace_format::layout::ThreadKoids;
use trace_format::record::{Arguments, EventKind, Record, Value};
use trace_format::{Item, Reader};
use trace_runtime::{Builder, Trace};

/// A process has one recording at a time, but tests run on several threads.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

thread_local! {
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Prevents other tests from recording. The thread that holds it may record.
pub(crate) struct Alone(#[allow(dead_code, reason = "held")] MutexGuard<'static, ()>);

/// Waits until no other test records, and prevents others from starting.
pub(crate) fn alone() -> Alone {
    let guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    ALONE.set(true);
    Alone(guard)
}

impl Drop for Alone {
    fn drop(&mut self) {
        ALONE.set(false);
    }
}

/// A record: its text, and its time, thread, process and payload, if it has them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Recorded {
    pub(crate) text: String,
    pub(crate) ticks: u64,
    pub(crate) thread: u64,
    pub(crate) process: u64,
    pub(crate) payload: Vec<u8>,
}

/// A recording of this process.
pub(crate) struct Recording {
    trace: Option<Trace>,
    directory: tempfile::TempDir,
    _alone: Option<MutexGuard<'static, ()>>,
}

impl Recording {
    /// Starts recording everything in streaming mode.
    pub(crate) fn start() -> Self {
        Self::with(Builder::streaming)
    }

    /// Starts recording with options.
    pub(crate) fn with(choose: impl FnOnce(Builder) -> Builder) -> Self {
        let alone =
            (!ALONE.get()).then(|| ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner));
        let directory = tempfile::tempdir().unwrap();
        let builder = trace_runtime::builder().output(directory.path().join("archive.fxt"));
        let trace = Some(choose(builder).init());
        assert!(trace_runtime::trace_enabled!());
        Self { trace, directory, _alone: alone }
    }

    /// Ends the recording, and returns its records.
    pub(crate) fn end(mut self) -> Vec<Recorded> {
        drop(self.trace.take());
        read(&self.directory.path().join("archive.fxt"))
    }
}

/// Returns the text of each record that contains `text`.
pub(crate) fn lines(records: &[Recorded], text: &str) -> Vec<String> {
    records
        .iter()
        .filter(|record| record.text.contains(text))
        .map(|record| record.text.clone())
        .collect()
}

/// Returns the records that contain `text`.
pub(crate) fn find<'a>(records: &'a [Recorded], text: &str) -> Vec<&'a Recorded> {
    records.iter().filter(|record| record.text.contains(text)).collect()
}

/// Returns the id of the calling thread.
pub(crate) fn this_thread() -> u64 {
    std::fs::read_link("/proc/thread-self")
        .unwrap()
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .parse()
        .unwrap()
}

fn read(path: &Path) -> Vec<Recorded> {
    let bytes = std::fs::read(path).unwrap();
    let mut reader = Reader::new(bytes.as_slice());
    let mut all = Vec::new();
    let mut audit = Audit::default();
    while let Some(item) = reader.next().expect("the archive is well-formed") {
        audit.item(&item);
        all.extend(recorded(&item));
    }
    let stats = reader.stats();
    assert_eq!((stats.bad_records, stats.unknown_records), (0, 0));
    assert_eq!(audit, Audit::default());
    all
}

fn recorded(item: &Item<'_>) -> Option<Recorded> {
    let nowhere = ThreadKoids::UNKNOWN;
    let text = text(item)?;
    let (ticks, thread, payload): (u64, ThreadKoids, &[u8]) = match &item.record {
        Record::Event(event) => (event.ticks, item.thread(event.thread), &[]),
        Record::Log(log) => (log.ticks, item.thread(log.thread), &[]),
        Record::UserspaceObject(object) => {
            (0, ThreadKoids::new(item.process(object.process), 0), &[])
        }
        Record::Blob(blob) => (0, nowhere, blob.payload),
        Record::LargeBlob(blob) => match &blob.event {
            Some(event) => (event.ticks, item.thread(event.thread), blob.payload),
            None => (0, nowhere, blob.payload),
        },
        _ => (0, nowhere, &[]),
    };
    Some(Recorded {
        text,
        ticks,
        thread: thread.thread,
        process: thread.process,
        payload: payload.to_vec(),
    })
}

/// Returns the text of a record.
fn text(item: &Item<'_>) -> Option<String> {
    let text = match &item.record {
        Record::Event(event) => {
            let (category, name) = (item.text(event.category), item.text(event.name));
            format!("{} {category}/{name}{}", kind(event.kind), arguments(item, &event.arguments))
        }
        Record::Blob(blob) => format!("blob {} {}", blob.blob_type.bits(), item.text(blob.name)),
        Record::UserspaceObject(object) => {
            let (name, arguments) = (item.text(object.name), arguments(item, &object.arguments));
            format!("userspace {:#x} {name}{arguments}", object.pointer)
        }
        Record::KernelObject(object) => {
            let (name, arguments) = (item.text(object.name), arguments(item, &object.arguments));
            format!("kernel {} {:#x} {name}{arguments}", object.object_type.bits(), object.koid)
        }
        Record::Log(log) => format!("log {}", String::from_utf8_lossy(log.message)),
        Record::LargeBlob(blob) => {
            let (category, name) = (item.text(blob.category), item.text(blob.name));
            match &blob.event {
                Some(event) => {
                    format!("blob event {category}/{name}{}", arguments(item, &event.arguments))
                }
                None => format!("attachment {category}/{name}"),
            }
        }
        _ => return None,
    };
    Some(text)
}

fn kind(kind: EventKind) -> String {
    match kind {
        EventKind::Instant { scope } => format!("instant({:?})", scope.expect("ours have one")),
        EventKind::Counter { id } => format!("counter({id})"),
        EventKind::DurationBegin => "begin".to_owned(),
        EventKind::DurationEnd => "end".to_owned(),
        EventKind::DurationComplete { end } => format!("complete({end})"),
        EventKind::AsyncBegin { id } => format!("async begin({id})"),
        EventKind::AsyncInstant { id } => format!("async instant({id})"),
        EventKind::AsyncEnd { id } => format!("async end({id})"),
        EventKind::FlowBegin { id } => format!("flow begin({id})"),
        EventKind::FlowStep { id } => format!("flow step({id})"),
        EventKind::FlowEnd { id } => format!("flow end({id})"),
    }
}

fn arguments(item: &Item<'_>, arguments: &Arguments<'_>) -> String {
    let mut text = String::new();
    for argument in arguments {
        let value = match argument.value {
            Value::String(value) => item.text(value).into_owned(),
            Value::Uint32(value) => value.to_string(),
            Value::Uint64(value) => value.to_string(),
            Value::Int32(value) => value.to_string(),
            Value::Koid(value) => format!("#{value}"),
            other => format!("{other:?}"),
        };
        text.push_str(&format!(" {}={value}", item.text(argument.name)));
    }
    text
}
