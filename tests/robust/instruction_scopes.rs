//! `trace insn record --in-scope`: only the scopes of a trace point are stepped.

use std::path::Path;

use crate::daemon::Daemon;
use crate::harness::{subject_path, trace, Archive, Event, Run, Shape};

/// The functions of the program's part with scopes.
const MODULE: &str = "subject::announced::";

/// The function that each request of the program calls once.
const INSIDE: &str = "subject::announced::inside";

/// Records a program of six requests. Returns the output.
fn record(directory: &Path, options: &[&str], scope: &str) -> Run {
    record_program(directory, options, scope, &["announced", "6"])
}

fn record_program(directory: &Path, options: &[&str], scope: &str, program: &[&str]) -> Run {
    let mut record = trace(&["insn", "record", "--in-scope", scope, "-o"]);
    record.arg(directory).args(options).arg("--").arg(subject_path());
    Run::of(record.args(program))
}

/// Returns the names and times of the calls of a recording.
fn calls(directory: &Path) -> Vec<Event> {
    let archive = directory.join("calls.fxt");
    let mut print = trace(&["insn", "print", "--format", "fxt", "-o"]);
    let run = Run::of(print.arg(&archive).arg(directory));
    assert_eq!(run.code(), 0, "{run:?}");
    let archive = Archive::read(&archive);
    archive.only().events.iter().filter(|event| event.shape == Shape::Begin).cloned().collect()
}

/// Returns begin and end of each scope of this name that the program has recorded itself.
pub(crate) fn scopes(directory: &Path, name: &str) -> Vec<(u64, u64)> {
    let scopes = parts_of_scopes(directory, name);
    assert!(scopes.iter().all(|(begin, end)| *begin != 0 && *end != u64::MAX), "{scopes:?}");
    scopes
}

/// Returns begin and end of each scope of this name. A scope during which a buffer is handed over
/// has an end of its own. The first and the last one may lack their begin or end.
fn parts_of_scopes(directory: &Path, name: &str) -> Vec<(u64, u64)> {
    let archive = Archive::read(&directory.join("scopes.fxt"));
    let mut events: Vec<_> = archive.only().named(name).collect();
    events.sort_by_key(|event| event.ticks);
    let (mut open, mut scopes) = (Vec::new(), Vec::new());
    for event in events {
        match event.shape {
            Shape::Complete(end) => scopes.push((event.ticks, end)),
            Shape::Begin => open.push(event.ticks),
            Shape::End => scopes.push((open.pop().unwrap_or(0), event.ticks)),
            _ => panic!("{event:?}"),
        }
    }
    scopes.extend(open.into_iter().map(|begin| (begin, u64::MAX)));
    scopes
}

#[test]
fn the_instructions_of_each_scope_are_recorded_and_no_others() {
    let directory = tempfile::tempdir().unwrap();
    let run = record(directory.path(), &[], "web/request");
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(run.stderr().contains("6 scopes of web/request"), "{run:?}");
    let calls = calls(directory.path());
    let inside: Vec<_> = calls.iter().filter(|call| call.name == INSIDE).collect();
    let requests = scopes(directory.path(), "request");
    assert_eq!((inside.len(), requests.len()), (6, 8));
    for call in &inside {
        let holds = |(begin, end): &(u64, u64)| (*begin..=*end).contains(&call.ticks);
        assert!(requests.iter().any(holds), "{call:?} in {requests:?}");
    }
    assert!(!calls.iter().any(|call| call.name.ends_with("::outside")));
    assert_eq!(scopes(directory.path(), "other").len(), 6);
}

#[test]
fn one_scope_is_recorded_and_the_program_continues_untraced() {
    let directory = tempfile::tempdir().unwrap();
    let run = record(directory.path(), &["--nth", "3"], "web/request");
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(run.stderr().contains("scope 3 of web/request was recorded"), "{run:?}");
    let calls = calls(directory.path());
    assert_eq!(calls.iter().filter(|call| call.name == INSIDE).count(), 1);
    assert_eq!(scopes(directory.path(), "other").len(), 6, "the program runs to its end");
}

/// The functions of windows, and no others of the program's module.
#[test]
fn a_window_of_some_microseconds_has_every_call() {
    let called = |run: &Run| -> Vec<String> { run.stdout().lines().map(str::to_owned).collect() };
    for number in [1, 4] {
        let directory = tempfile::tempdir().unwrap();
        let options = ["--nth", &number.to_string()];
        let program = ["announced-windows", "5"];
        let run = record_program(directory.path(), &options, "web/window", &program);
        assert_eq!(run.code(), 0, "{run:?}");
        let windows = called(&run);
        assert_eq!(windows.len(), 5, "the program runs to its end");
        let calls = calls(directory.path());
        let of_module = calls.iter().filter_map(|call| call.name.strip_prefix(MODULE));
        // Closures and loops of the macro are in `windows` itself.
        let of_module: Vec<_> = of_module.filter(|name| !name.starts_with("windows")).collect();
        assert!(of_module.len() > 20);
        assert_eq!(of_module.join(" "), windows[number - 1]);
    }
}

#[test]
fn a_scope_that_no_program_has_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let run = record(directory.path(), &[], "web/missing");
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(run.stderr().contains("0 scopes of web/missing"), "{run:?}");
    assert!(run.stderr().contains("no program has the scope web/missing\n"), "{run:?}");
    assert!(!run.stderr().contains("the trigger"), "{run:?}");
    assert_eq!(scopes(directory.path(), "request").len(), 8);
}

/// Records scopes of a process that runs, with the daemon at this socket.
fn attach(directory: &Path, pid: u64, socket: &Path) -> Run {
    let mut record = trace(&["insn", "record", "--in-scope", "web/request", "--nth", "3"]);
    record.args(["--attach", &pid.to_string(), "-o"]).arg(directory).env("TRACE_SOCKET", socket);
    Run::of(&mut record)
}

#[test]
fn a_scope_of_a_program_that_runs_is_recorded() {
    let daemon = Daemon::start();
    let program = daemon.program("announced-until-closed");
    daemon.wait_for_programs(1);
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("scope");
    // The program is released, so that it can be attached to again.
    for name in ["first", "second"] {
        let directory = directory.join(name);
        let run = attach(&directory, program.pid(), &daemon.path("manager.sock"));
        assert_eq!(run.code(), 0, "{run:?}");
        assert!(run.stderr().contains("scope 3 of web/request was recorded"), "{run:?}");
        let calls = calls(&directory);
        let inside: Vec<_> = calls.iter().filter(|call| call.name == INSIDE).collect();
        let [inside] = inside[..] else { panic!("{inside:?}") };
        assert!(!calls.iter().any(|call| call.name.ends_with("::outside")));
        let times = parts_of_scopes(&directory, "request");
        // The program may be so slow that the session ends before the scope does.
        let is_last = times.iter().all(|(_, end)| *end < inside.ticks);
        let holds = |(begin, end): &(u64, u64)| (*begin..=*end).contains(&inside.ticks);
        assert!(!times.is_empty() && (is_last || times.iter().any(holds)), "{inside:?} {times:?}");
        assert!(daemon.controller().sessions().unwrap().is_empty(), "the session has ended");
    }
}

#[test]
fn a_program_that_no_daemon_knows_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let own = u64::from(std::process::id());
    let directory = folder.path().join("scope");
    let missing = attach(&directory, own, &folder.path().join("no/manager.sock"));
    assert_eq!(missing.code(), 125, "{missing:?}");
    assert!(missing.stderr().contains("cannot arm the trace points"), "{missing:?}");
    let daemon = Daemon::start();
    let unknown = attach(&directory, own, &daemon.path("manager.sock"));
    assert_eq!(unknown.code(), 125, "{unknown:?}");
    assert!(unknown.stderr().contains("is not registered with the daemon"), "{unknown:?}");
    assert!(unknown.stderr().contains("hint: the program must link"), "{unknown:?}");
    assert!(!directory.exists());
}
