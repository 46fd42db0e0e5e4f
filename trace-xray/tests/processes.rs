//! Archives as one log for each process.

use trace_analyze::input::InputFormat;
use trace_format::layout::ObjectType;
use trace_format::{
    Argument, Event, EventKind, KernelObject, Reader, Record, Thread, ThreadKoids, Value, Writer,
};
use trace_xray::calls::{CallStacks, End, Step};
use trace_xray::fxt::{Archive, Fdr, Options, Process};
use trace_xray::map::{Map, Names};
use trace_xray::read::Ordered;

const BEGIN: EventKind = EventKind::DurationBegin;
const END: EventKind = EventKind::DurationEnd;
const INSTANT: EventKind = EventKind::Instant { scope: None };

fn until(end: u64) -> EventKind {
    EventKind::DurationComplete { end }
}

/// An archive that is being written.
struct Made(Writer<Vec<u8>>);

impl Made {
    fn new() -> Self {
        Self(Writer::new(Vec::new()).unwrap())
    }

    /// Begins the records of a provider as the manager does.
    fn provider(&mut self, id: u32, pid: u64, name: &str) {
        self.0.provider(id, "any").unwrap();
        self.0.initialization(1_000_000_000).unwrap();
        let object_type = ObjectType::PROCESS;
        let (koid, name, arguments) = (pid, name.into(), (&[][..]).into());
        self.0.record(&KernelObject { object_type, koid, name, arguments }.into()).unwrap();
    }

    fn event(&mut self, koids: (u64, u64), ticks: u64, name: &str, kind: EventKind) {
        let thread = Thread::Inline(ThreadKoids::new(koids.0, koids.1));
        let (category, name, arguments) = ("c".into(), name.into(), (&[][..]).into());
        self.0.record(&Event { ticks, thread, category, name, kind, arguments }.into()).unwrap();
    }

    fn anchor(&mut self, ticks: u64, monotonic: u64) {
        let clock = |name, value| Argument::new(name, Value::Uint64(value));
        let arguments =
            [clock("realtime_ns", 1), clock("monotonic_ns", monotonic), clock("boottime_ns", 3)];
        let kind = EventKind::Instant { scope: Some(trace_format::layout::InstantScope::Global) };
        let (category, name) = ("trace".into(), "clock anchor".into());
        let (thread, arguments) = (Thread::Inline(ThreadKoids::new(1, 0)), (&arguments[..]).into());
        self.0.record(&Event { ticks, thread, category, name, kind, arguments }.into()).unwrap();
    }

    fn archive(self) -> Archive {
        Archive::read(Reader::new(&self.0.into_inner()[..])).unwrap()
    }
}

/// Returns the calls of a log: thread, name, entry, exit.
fn calls(archive: &Archive, pid: u64, options: &Options) -> Vec<(i32, String, u64, Option<u64>)> {
    calls_of(archive, only(archive, pid), options)
}

/// Returns the only process with this id.
fn only(archive: &Archive, pid: u64) -> &Process {
    let mut processes = archive.processes().filter(|process| process.pid == pid);
    let process = processes.next().unwrap();
    assert!(processes.next().is_none());
    process
}

fn calls_of(
    archive: &Archive,
    process: &Process,
    options: &Options,
) -> Vec<(i32, String, u64, Option<u64>)> {
    let mut bytes = Vec::new();
    let exported = archive.write(Some(process), options, &mut bytes).unwrap();
    let mut names = Names::new(Map::parse(&exported.map).unwrap());
    let mut log = Ordered::new(std::io::Cursor::new(&bytes)).unwrap();
    let (mut stacks, mut calls) = (CallStacks::default(), Vec::new());
    while let Some(item) = log.next().unwrap() {
        let thread = item.buffer.thread;
        if let Some(Step::Left(ended)) = stacks.step(&item) {
            for call in ended {
                assert_eq!(call.end, End::Exit);
                let name = names.get(call.function).to_string();
                calls.push((thread, name, call.entered, Some(call.left)));
            }
        }
    }
    let mut open = 0;
    for (_, thread, stack) in stacks.threads() {
        for call in stack.finish() {
            open += 1;
            calls.push((thread, names.get(call.function).to_string(), call.entered, None));
        }
    }
    assert_eq!((exported.calls as usize, exported.open), (calls.len(), open));
    calls.sort_by_key(|call| (call.0, call.2));
    calls
}

fn call(
    thread: i32,
    name: &str,
    from: u64,
    to: impl Into<Option<u64>>,
) -> (i32, String, u64, Option<u64>) {
    (thread, name.to_owned(), from, to.into())
}

#[test]
fn each_process_has_a_log_with_its_functions_only() {
    let mut made = Made::new();
    made.provider(1, 70, "server");
    made.event((70, 71), 10, "read", until(20));
    made.provider(2, 80, "client");
    made.event((80, 81), 12, "ask", until(22));
    // Another provider of the first process, and one that records another process, as the kernel's.
    made.provider(3, 70, "server");
    made.event((70, 72), 15, "parse", until(16));
    made.provider(4, 90, "kernel");
    made.event((80, 81), 17, "switch", INSTANT);
    made.event((99, 99), 18, "other", INSTANT);
    made.event((0, 0), 19, "cpu", INSTANT);
    let archive = made.archive();
    let process = |pid, name: &str| Process { pid, name: name.to_owned() };
    let expected = [process(70, "server"), process(80, "client"), process(90, "kernel")];
    assert_eq!(archive.processes().cloned().collect::<Vec<_>>(), expected);
    let options = Options::default();
    assert_eq!(
        calls(&archive, 70, &options),
        [call(71, "read", 10, 20), call(72, "parse", 15, 16)]
    );
    assert_eq!(calls(&archive, 80, &options), [call(81, "ask", 12, 22)]);
    let events =
        |pid| archive.write(Some(only(&archive, pid)), &options, std::io::sink()).unwrap().events;
    // Each has the record of its process's name.
    assert_eq!([70, 80, 90].map(events), [2, 2, 3]);
    let exported = archive.write(Some(only(&archive, 80)), &options, std::io::sink()).unwrap();
    assert_eq!(Map::parse(&exported.map).unwrap().functions().count(), 1);
}

/// A process executes another program in the middle of its calls. Its id stays, and so does that of
/// its thread.
#[test]
fn a_program_that_executes_another_has_a_log_of_its_own() {
    let mut made = Made::new();
    made.provider(1, 70, "shell");
    made.event((70, 70), 10, "main", BEGIN);
    made.event((70, 70), 20, "execute", BEGIN);
    made.provider(2, 70, "app");
    made.event((70, 70), 30, "main", until(50));
    made.event((70, 70), 35, "work", until(40));
    made.event((70, 71), 36, "work", until(37));
    let archive = made.archive();
    let names: Vec<_> = archive.processes().map(|process| process.name.as_str()).collect();
    assert_eq!(names, ["app", "shell"]);
    let of = |name: &str| {
        let process = archive.processes().find(|process| process.name == name).unwrap();
        calls_of(&archive, process, &Options::default())
    };
    assert_eq!(of("shell"), [call(70, "main", 10, None), call(70, "execute", 20, None)]);
    let expected = [call(70, "main", 30, 50), call(70, "work", 35, 40), call(71, "work", 36, 37)];
    assert_eq!(of("app"), expected);
}

/// A program that executes itself is not told from one with two providers by its name.
#[test]
fn calls_of_a_program_that_executes_itself_are_not_nested() {
    let mut made = Made::new();
    made.provider(1, 70, "app");
    made.event((70, 70), 10, "main", BEGIN);
    made.event((70, 70), 15, "first", until(20));
    made.provider(2, 70, "app");
    made.event((70, 70), 30, "main", until(50));
    // A provider of the same program, at the same time.
    made.provider(3, 70, "app");
    made.event((70, 70), 35, "library", until(40));
    let archive = made.archive();
    let mut bytes = Vec::new();
    archive.write(Some(only(&archive, 70)), &Options::default(), &mut bytes).unwrap();
    let mut log = Ordered::new(std::io::Cursor::new(&bytes)).unwrap();
    let mut buffers = Vec::new();
    while let Some(item) = log.next().unwrap() {
        if let trace_xray::Record::Function(_) = item.record {
            buffers.push((item.buffer.offset, item.tsc()));
        }
    }
    let times: Vec<_> = buffers.iter().map(|(_, tsc)| *tsc).collect();
    assert_eq!(times, [10, 15, 20, 30, 35, 40, 50]);
    assert!(buffers[2].0 != buffers[3].0 && buffers[3].0 == buffers[6].0, "{buffers:?}");
}

#[test]
fn calls_without_an_end_are_entries() {
    let mut made = Made::new();
    made.provider(1, 70, "killed");
    made.event((70, 71), 10, "main", BEGIN);
    made.event((70, 71), 20, "work", until(25));
    made.event((70, 71), 30, "work", BEGIN);
    // The end of this one is lost, but not that of its caller.
    made.event((70, 72), 10, "main", until(50));
    made.event((70, 72), 20, "lost", BEGIN);
    made.event((70, 72), 60, "unknown", END);
    let archive = made.archive();
    let mut bytes = Vec::new();
    let exported = archive.write(None, &Options::default(), &mut bytes).unwrap();
    assert_eq!((exported.calls, exported.open, exported.cut, exported.unpaired), (5, 3, 0, 1));
    let mut back = Reader::new(Fdr::default().open(Box::new(std::io::Cursor::new(bytes))).unwrap());
    let (mut begins, mut ends) = (Vec::new(), Vec::new());
    while let Some(item) = back.next().unwrap() {
        let Record::Event(event) = item.record else { continue };
        match event.kind {
            BEGIN => begins.push(event.ticks),
            END => ends.push(event.ticks),
            _ => {}
        }
    }
    assert_eq!((begins, ends), (vec![10, 20, 30, 10, 20], vec![25, 50, 50]));
}

#[test]
fn short_calls_are_left_out_unless_something_was_recorded_in_them() {
    let mut made = Made::new();
    made.provider(1, 70, "app");
    made.event((70, 71), 1000, "long", until(9000));
    made.event((70, 71), 2000, "short", until(2999));
    made.event((70, 71), 2100, "inner", until(2200));
    made.event((70, 71), 3000, "limit", until(4000));
    made.event((70, 71), 5000, "full", until(5100));
    made.event((70, 71), 5010, "event", INSTANT);
    made.event((70, 71), 5020, "after", until(5030));
    made.event((70, 71), 9500, "open", BEGIN);
    let archive = made.archive();
    let min_duration = std::time::Duration::from_micros(1);
    let options = Options { min_duration, ..Options::default() };
    let expected = [
        call(71, "long", 1000, 9000),
        call(71, "limit", 3000, 4000),
        call(71, "full", 5000, 5100),
        call(71, "open", 9500, None),
    ];
    assert_eq!(calls(&archive, 70, &options), expected);
    assert_eq!(archive.write(None, &options, std::io::sink()).unwrap().short, 3);
    assert_eq!(calls(&archive, 70, &Options::default()).len(), 7);
}

/// The manager describes a process before the first time. `llvm-xray account` refuses times before
/// that of the first record.
#[test]
fn records_without_a_time_have_the_first_one() {
    let mut made = Made::new();
    made.provider(1, 70, "app");
    made.event((70, 71), 4000, "a", until(5000));
    made.provider(2, 80, "other");
    let mut bytes = Vec::new();
    made.archive().write(None, &Options::default(), &mut bytes).unwrap();
    let mut log = Ordered::new(std::io::Cursor::new(bytes)).unwrap();
    let mut times = Vec::new();
    while let Some(item) = log.next().unwrap() {
        use trace_xray::Record::{CustomEvent, Function, NewCpuId};
        if matches!(item.record, NewCpuId { .. } | Function(_) | CustomEvent(_)) {
            times.push(item.tsc());
        }
    }
    times.dedup();
    // Two threads without an id, and the one with the call.
    assert_eq!(times, [4000, 5000, 4000]);
}

#[test]
fn the_wall_clock_is_that_of_the_clock_anchor() {
    let mut made = Made::new();
    made.provider(1, 70, "app");
    made.anchor(1000, 5_000_002_000);
    made.event((70, 71), 4000, "a", until(5000));
    let mut bytes = Vec::new();
    made.archive().write(None, &Options::default(), &mut bytes).unwrap();
    let mut log = Ordered::new(std::io::Cursor::new(bytes)).unwrap();
    let mut times = Vec::new();
    // Each thread starts with a filler at the time of the first record, here that of the anchor.
    while let Some(item) = log.next().unwrap() {
        if let trace_xray::Record::WallClock(time) = item.record {
            times.push((item.buffer.thread, time.seconds, time.micros));
        }
    }
    assert!(times.contains(&(71, 5, 2)), "{times:?}");
}

#[test]
fn many_processes_have_their_logs() {
    const PROCESSES: u64 = 30_000;
    let mut made = Made::new();
    for pid in 1..=PROCESSES {
        made.provider(pid as u32, pid, "app");
        made.event((pid, pid), 1000 + pid, "call", until(2000 + pid));
        // The process of this thread is not recorded.
        made.event((PROCESSES + pid, 1), 1000 + pid, "call", until(2000 + pid));
    }
    let archive = made.archive();
    let pids = archive.processes().map(|process| process.pid);
    assert!(pids.eq(1..=PROCESSES));
    for pid in [1, 500, PROCESSES] {
        let process = only(&archive, pid);
        let log = archive.write(Some(process), &Options::default(), std::io::sink()).unwrap();
        assert_eq!(log.calls, 2, "{pid}");
    }
    let log = archive.write(None, &Options::default(), std::io::sink()).unwrap();
    assert_eq!(log.calls, 2 * PROCESSES);
}
