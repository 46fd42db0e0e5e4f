//! Running the command in a directory of its own.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;
use trace_format::layout::{InstantScope, ObjectType, ProviderEvent};
use trace_format::{
    Argument, Arguments, Event, EventKind, KernelObject, Record, Text, Thread, ThreadKoids, Value,
    Writer,
};

/// A directory with files, removed at the end of the test.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn put(&self, name: &str, content: &[u8]) {
        fs::write(self.path(name), content).unwrap();
    }

    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Returns the names of all files, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
        let mut names: Vec<String> = entries.map(|entry| name(entry.unwrap())).collect();
        names.sort();
        names
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trace"));
        // The user's configuration has no effect on tests.
        command.current_dir(self.0.path()).args(arguments).env("TRACE_CONFIG", "");
        command
    }

    /// Runs `trace` in the directory.
    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        Run::of(self.command(arguments).stdin(Stdio::null()).output().unwrap())
    }

    /// Runs `trace` with bytes on its standard input.
    pub(crate) fn run_with(&self, arguments: &[&str], input: &[u8]) -> Run {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        match child.stdin.take().unwrap().write_all(input) {
            // The command may end without reading its input.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
            written => written.unwrap(),
        }
        Run::of(child.wait_with_output().unwrap())
    }
}

/// The result of a run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code().expect("the command is not killed by a signal"),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

fn event<'a>(ticks: u64, category: &'a str, name: &'a str, kind: EventKind) -> Event<'a> {
    let thread = Thread::Inline(ThreadKoids::new(12, 34));
    let (category, name) = (Text::from(category), Text::from(name));
    Event { ticks, thread, category, name, kind, arguments: Arguments::NONE }
}

/// Returns an archive of one provider with a clock of 1 MHz, its process's
/// name and a duration with an argument.
pub(crate) fn good() -> Vec<u8> {
    lossless().into_inner()
}

fn lossless() -> Writer<Vec<u8>> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(1, "app").unwrap();
    writer.initialization(1_000_000).unwrap();
    let (object_type, name) = (ObjectType::PROCESS, "./app".into());
    let process = KernelObject { object_type, koid: 12, name, arguments: Arguments::NONE };
    writer.record(&process.into()).unwrap();
    let arguments = [Argument::new("bytes", Value::Uint32(64))];
    let poll = event(5, "net", "poll", EventKind::DurationComplete { end: 7 });
    writer.record(&Event { arguments: (&arguments).into(), ..poll }.into()).unwrap();
    writer
}

/// Returns an archive of an event for each tick.
pub(crate) fn events(number: u64, kind: impl Fn(u64) -> EventKind) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for ticks in 0..number {
        writer.record(&event(ticks, "net", "poll", kind(ticks)).into()).unwrap();
    }
    writer.into_inner()
}

/// Returns an archive of a duration with this name.
pub(crate) fn named(name: &str) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let duration = event(5, "net", name, EventKind::DurationComplete { end: 2_000 });
    writer.record(&duration.into()).unwrap();
    writer.into_inner()
}

/// Returns an archive of durations, by category, name, begin and end in nanoseconds.
pub(crate) fn durations(durations: &[(&str, &str, u64, u64)]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for (category, name, begin, end) in durations {
        let kind = EventKind::DurationComplete { end: *end };
        writer.record(&event(*begin, category, name, kind).into()).unwrap();
    }
    writer.into_inner()
}

/// Returns [`good`] with records dropped and a duration that has not ended.
pub(crate) fn lossy() -> Vec<u8> {
    let mut writer = lossless();
    writer.record(&event(8, "net", "read", EventKind::DurationBegin).into()).unwrap();
    let arguments = [
        Argument::new("reason", Value::String("buffer full".into())),
        Argument::new("number", Value::Uint64(40)),
    ];
    let scope = Some(InstantScope::Thread);
    let dropped = event(9, "trace", "records dropped", EventKind::Instant { scope });
    let dropped = Event { arguments: (&arguments).into(), ..dropped };
    writer.record(&Record::Event(dropped)).unwrap();
    writer.provider_event(1, ProviderEvent::BUFFER_FULL).unwrap();
    writer.into_inner()
}

/// Returns an archive with data for every command.
pub(crate) fn everything() -> Vec<u8> {
    use EventKind::*;
    let mut writer = lossless();
    let value = [Argument::new("depth", Value::Uint64(3))];
    for (ticks, name, kind) in [
        (10, "request", AsyncBegin { id: 42 }),
        (20, "outer", DurationBegin),
        (30, "inner", DurationComplete { end: 50 }),
        (40, "hand over", FlowBegin { id: 7 }),
        (60, "outer", DurationEnd),
        (70, "queue", Counter { id: 1 }),
        (75, "hand over", FlowEnd { id: 7 }),
        (80, "moment", Instant { scope: Some(InstantScope::Thread) }),
        (90, "request", AsyncEnd { id: 42 }),
    ] {
        let event = event(ticks, "net", name, kind);
        writer.record(&Event { arguments: (&value).into(), ..event }.into()).unwrap();
    }
    writer.into_inner()
}

/// Returns [`good`] with the first clock anchor of its provider, as an archive has it that was cut
/// between two records.
pub(crate) fn cut_between_records() -> Vec<u8> {
    let mut writer = lossless();
    let clocks = ["realtime_ns", "monotonic_ns", "boottime_ns"];
    let clocks = clocks.map(|clock| Argument::new(clock, Value::Uint64(5)));
    let scope = Some(InstantScope::Global);
    let anchor = event(8, "trace", "clock anchor", EventKind::Instant { scope });
    writer.record(&Event { arguments: (&clocks).into(), ..anchor }.into()).unwrap();
    writer.into_inner()
}

/// Returns [`good`] without its last byte.
pub(crate) fn cut() -> Vec<u8> {
    let mut archive = good();
    archive.pop();
    archive
}
