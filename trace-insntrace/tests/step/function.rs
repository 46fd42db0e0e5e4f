//! Tracing of the calls of a function only.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use trace_insntrace::flow::Event;
use trace_insntrace::pt::Writer;
use trace_insntrace::recording::ThreadEnd;
use trace_insntrace::step::{Options, Traced, TracedCalls, TracedRange, Tracer};

use crate::stepped::{self, compile_to, finish, options, program, Stepped};
use crate::{trace_and_release, waiting};

fn calls_of(function: &str, nth: Option<u64>) -> TracedCalls {
    TracedCalls { of: Traced::Function(function.into()), nth, has_breakpoints: true }
}

/// Traces calls in a command to its end. Returns its output and the number of calls, too.
fn trace(mut command: Command, calls: TracedCalls) -> (Stepped, String, Option<u64>, ThreadEnd) {
    let has_breakpoints = calls.has_breakpoints;
    let mut tracer = Tracer::start(command.stdout(Stdio::piped()), options(Writer::new())).unwrap();
    tracer.trace_calls(calls);
    let run = finish(&mut tracer);
    run.check();
    let end = tracer.wait().unwrap();
    let mut output = String::new();
    let stdout = tracer.child_mut().unwrap().stdout.take();
    stdout.unwrap().read_to_string(&mut output).unwrap();
    assert!(tracer.untraced().is_none());
    assert_eq!(tracer.breakpoint_refusal().is_none(), has_breakpoints);
    (run, output, tracer.traced_calls(), end)
}

/// Traces calls in a part of `function.c`, and checks that it does all of its work.
fn trace_part(part: &str, calls: TracedCalls) -> (Stepped, Option<u64>) {
    let mut command = Command::new(program("function.c"));
    command.arg(part);
    let (run, output, number, end) = trace(command, calls);
    assert_eq!((&*output, end), ("done\n", ThreadEnd::Exited(9)), "{part}");
    (run, number)
}

#[test]
fn without_breakpoints_the_same_calls_are_traced_in_single_steps() {
    let parts = [
        ("threads", calls_of("chosen", None)),
        ("nth", calls_of("chosen", Some(4))),
        ("leaves", calls_of("leaves", None)),
        ("signal", calls_of("interrupted", None)),
    ];
    for (part, calls) in parts {
        let command = || {
            let mut command = Command::new(program("function.c"));
            command.args([part, "100"]);
            command
        };
        let (run, output, number, end) =
            trace(command(), TracedCalls { has_breakpoints: false, ..calls.clone() });
        assert_eq!((&*output, end), ("done\n", ThreadEnd::Exited(9)), "{part}");
        let (with, _, expected, _) = trace(command(), calls);
        assert_eq!((number, begins(&run)), (expected, begins(&with)), "{part}");
    }
}

#[test]
fn without_breakpoints_the_program_is_released_after_its_call() {
    let mut child = waiting();
    let mut tracer = Tracer::attach(child.id(), options(Writer::new())).unwrap();
    tracer.trace_calls(TracedCalls { has_breakpoints: false, ..calls_of("add", Some(5)) });
    let run = finish(&mut tracer);
    run.check();
    assert!((2..20).contains(&run.executed.len()) && tracer.traced_calls() == Some(5));
    drop(tracer);
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

/// Returns how often tracing began in all threads, by the decoder.
fn begins(run: &Stepped) -> usize {
    let events = run.packets.keys().flat_map(|trace| run.decode(*trace).1);
    events.filter(|event| matches!(event, Event::Enabled { .. })).count()
}

#[test]
fn each_call_in_each_thread_and_child_is_traced() {
    let (run, number) = trace_part("threads", calls_of("chosen", None));
    assert_eq!(number, Some(41));
    assert_eq!(begins(&run), 41);
    let mut threads = BTreeMap::<_, usize>::new();
    let first = run.executed[0].ip;
    for executed in &run.executed {
        *threads.entry(executed.trace.0).or_default() += usize::from(executed.ip == first);
    }
    assert_eq!(threads.into_values().collect::<Vec<_>>(), [20, 20, 1]);
}

#[test]
fn one_call_is_traced_and_the_program_continues_untraced() {
    let instructions = |nth| {
        let (run, number) = trace_part("nth", calls_of("chosen", Some(nth)));
        assert_eq!((number, begins(&run)), (Some(nth), 1));
        run.executed.len()
    };
    let [third, fourth, seventh] = [3, 4, 7].map(instructions);
    let of_a_round = fourth - third;
    assert!(of_a_round >= 2);
    assert_eq!(seventh - third, 4 * of_a_round);
}

#[test]
fn calls_that_are_left_without_a_return_end() {
    let (run, number) = trace_part("leaves", calls_of("leaves", None));
    assert_eq!((number, begins(&run)), (Some(6), 6));
    assert!(run.executed.len() < 2000, "{}", run.executed.len());
}

#[test]
fn recursion_and_signals_are_inside_of_a_call() {
    let (run, number) = trace_part("signal", calls_of("recursive", None));
    assert_eq!((number, begins(&run)), (Some(1), 1));
    let first = run.executed[0].ip;
    assert_eq!(run.executed.iter().filter(|executed| executed.ip == first).count(), 4);
    let (run, number) = trace_part("signal", calls_of("interrupted", None));
    assert_eq!(number, Some(1));
    assert!(run.executed.len() < 2000, "{}", run.executed.len());
    let first = run.executed[0].ip;
    let last = run.executed.last().unwrap().ip;
    assert!(last - first < 100, "the function continues behind the handler");
}

#[test]
fn functions_of_libraries_are_found_when_the_library_is_mapped() {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "echo one; echo two"]);
    let (run, output, number, end) = trace(command, calls_of("write", None));
    assert_eq!((&*output, end), ("one\ntwo\n", ThreadEnd::Exited(0)));
    assert_eq!(number, Some(2));
    assert!(run.executed.len() < 100, "{}", run.executed.len());
}

/// Traces `loads.c` with so many libraries that have the same function. Returns the number of
/// calls, and of functions that were not watched.
fn trace_libraries(number: usize) -> (usize, usize) {
    let folder = tempfile::tempdir().unwrap();
    let (program, first) = (folder.path().join("loads"), folder.path().join("lib1.so"));
    assert!(compile_to(&program, "loads.c", &["-ldl"]));
    assert!(compile_to(&first, "library.c", &["-shared", "-fPIC"]));
    let path = |number| folder.path().join(format!("lib{number}.so"));
    for other in 2..=number {
        std::fs::copy(&first, path(other)).unwrap();
    }
    let mut command = Command::new(program);
    command.args((1..=number).map(path)).stdout(Stdio::piped());
    let mut tracer = Tracer::start(&mut command, options(Writer::new())).unwrap();
    tracer.trace_calls(calls_of("of_library", None));
    let run = finish(&mut tracer);
    run.check();
    assert_eq!(tracer.wait().unwrap(), ThreadEnd::Exited(5));
    let calls = tracer.traced_calls().unwrap() as usize;
    assert_eq!(begins(&run), calls);
    (calls, tracer.unwatched_functions())
}

#[test]
fn functions_of_libraries_are_found_wherever_they_are() {
    assert_eq!(trace_libraries(1), (3, 0));
    assert_eq!(trace_libraries(2), (6, 0));
    assert_eq!(trace_libraries(3), (9, 0));
    // The processor has no breakpoints for the last two.
    assert_eq!(trace_libraries(5), (13, 2));
}

/// Compiles `twins.c` with so many functions of the same name.
fn twins(folder: &Path, number: usize) -> PathBuf {
    let object = |part| folder.join(format!("{part}.o")).to_str().unwrap().to_owned();
    let parts: Vec<_> = (1..=number).map(object).collect();
    for (index, part) in parts.iter().enumerate() {
        let define = format!("-DPART={}", index + 1);
        assert!(compile_to(Path::new(part), "twins.c", &["-O1", "-c", &define]));
    }
    let program = folder.join("twins");
    let parts: Vec<_> = parts.iter().map(String::as_str).collect();
    assert!(compile_to(&program, "twins.c", &[&["-O1"], &parts[..]].concat()));
    program
}

/// Traces the calls of a function of `twins.c`.
fn trace_twins(number: usize, function: &str) -> Tracer {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(twins(folder.path(), number));
    let mut tracer = Tracer::start(command.stdout(Stdio::null()), options(Writer::new())).unwrap();
    tracer.trace_calls(calls_of(function, None));
    let run = finish(&mut tracer);
    run.check();
    assert_eq!(tracer.wait().unwrap(), ThreadEnd::Exited(5));
    assert_eq!(begins(&run) as u64, tracer.traced_calls().unwrap_or(0));
    tracer
}

#[test]
fn all_functions_of_a_name_in_a_file_are_traced() {
    for (number, calls, unwatched) in [(1, 2, 0), (3, 6, 0), (5, 6, 2)] {
        let tracer = trace_twins(number, "twin");
        let found = (tracer.traced_calls(), tracer.unwatched_functions());
        assert_eq!(found, (Some(calls), unwatched), "{number}");
    }
}

#[test]
fn a_range_has_all_functions_of_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(twins(folder.path(), 5));
    let ranges = vec![TracedRange::Symbol("twin".into())];
    let settings = Options { ranges, ..options(Writer::new()) };
    let (run, _) = stepped::trace(command.stdout(Stdio::null()), settings);
    run.check();
    assert_eq!(begins(&run), 10, "two calls of each");
}

#[test]
fn each_name_of_a_function_is_its_name() {
    for name in ["known", "other_name"] {
        assert_eq!(trace_twins(1, name).traced_calls(), Some(2), "{name}");
    }
}

#[test]
fn a_function_that_chooses_another_one_is_reported() {
    let tracer = trace_twins(1, "indirect");
    assert_eq!(tracer.traced_calls(), None);
    assert!(tracer.has_indirect_function());
    assert!(!trace_twins(1, "known").has_indirect_function());
}

#[test]
fn a_function_that_is_missing_is_not_called() {
    let (run, number) = trace_part("nth", calls_of("missing", None));
    assert_eq!((run.executed.len(), number), (0, None));
}

#[test]
fn calls_in_a_process_that_runs_are_traced() {
    let child = waiting();
    let mut tracer = Tracer::attach(child.id(), options(Writer::new())).unwrap();
    tracer.trace_calls(calls_of("add", None));
    // It calls the function all the time: a breakpoint that is left would end it.
    trace_and_release(child, tracer, 60);
}

#[test]
fn a_call_of_a_process_that_runs_is_traced() {
    let mut child = waiting();
    let mut tracer = Tracer::attach(child.id(), options(Writer::new())).unwrap();
    tracer.trace_calls(calls_of("add", Some(5)));
    let run = finish(&mut tracer);
    run.check();
    assert!((2..20).contains(&run.executed.len()) && tracer.traced_calls() == Some(5));
    assert_eq!(run.packets.len(), 2);
    drop(tracer);
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

#[test]
fn a_scope_that_is_interrupted_where_it_begins_and_ends_is_one_scope() {
    let scopes = TracedCalls { of: Traced::Scopes, nth: None, has_breakpoints: true };
    let (run, output, number, end) = trace(Command::new(program("scopes.c")), scopes);
    assert_eq!((&*output, end), ("done\n", ThreadEnd::Exited(3)));
    assert_eq!(number, Some(1));
    // From the first begin to the last end, but not what follows.
    assert!((900..5000).contains(&run.executed.len()), "{}", run.executed.len());
}
