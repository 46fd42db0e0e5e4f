//! Parts of an execution that are traced apart from each other: none is called by another.

use std::path::Path;
use std::process::Command;

use trace_insntrace::print::Format;
use trace_insntrace::pt;
use trace_insntrace::recording::Recording;
use trace_insntrace::step::{Options, Traced, TracedCalls, TracedRange, Tracer};
use trace_insntrace::symbols::Symbols;

use crate::printed::{clock, printed, record};
use crate::stepped::{options, program};

/// Records `parts.c`.
fn recorded(directory: &Path, of: Option<Traced>, ranges: Vec<TracedRange>) -> Recording {
    let settings = Options { clock, ranges, ..options(pt::Writer::new()) };
    let mut tracer = Tracer::start(&mut Command::new(program("parts.c")), settings).unwrap();
    if let Some(of) = of {
        tracer.trace_calls(TracedCalls { of, nth: None, has_breakpoints: true });
    }
    record(&mut tracer, directory)
}

/// Returns the lines of the calls, without numbers and times.
fn calls(recording: &Recording) -> Vec<String> {
    let symbols = Symbols::new(recording.notes()).without_inlined();
    let text = String::from_utf8(printed(recording, Format::Calls, symbols)).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.splitn(3, ' ').nth(2).unwrap().to_owned()).collect()
}

/// Returns the calls with which parts begin. Each part has ended before the next one begins.
fn parts(recording: &Recording) -> Vec<String> {
    let lines = calls(recording);
    let begins = lines.iter().filter(|line| !line.starts_with(' ') && *line != "}");
    let (begins, ends): (Vec<_>, _) = (begins.cloned().collect(), lines.iter());
    assert_eq!(ends.filter(|line| *line == "}").count(), begins.len(), "{lines:#?}");
    begins
}

#[test]
fn calls_that_are_left_by_longjmp_are_beside_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let of = Traced::Function("left".into());
    let recording = recorded(folder.path(), Some(of), Vec::new());
    assert_eq!(parts(&recording), ["left"; 4]);
}

#[test]
fn scopes_are_beside_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let recording = recorded(folder.path(), Some(Traced::Scopes), Vec::new());
    let begin = "trace_runtime::point::announce::scope_begins";
    let expected = [begin, "scope"].repeat(4);
    assert_eq!(parts(&recording), expected);
}

#[test]
fn calls_of_a_function_are_those_of_its_range() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let of = Traced::Function("leaf".into());
    let of_calls = recorded(&path("calls"), Some(of), Vec::new());
    let ranges = vec![TracedRange::Symbol("leaf".into())];
    let of_range = recorded(&path("range"), None, ranges);
    assert_eq!(calls(&of_calls), ["leaf", "}"].repeat(12));
    assert_eq!(calls(&of_range), calls(&of_calls));
}

#[test]
fn a_call_ends_when_its_part_does() {
    let folder = tempfile::tempdir().unwrap();
    let of = Traced::Function("left".into());
    let recording = recorded(folder.path(), Some(of), Vec::new());
    let symbols = Symbols::new(recording.notes()).without_inlined();
    let text = String::from_utf8(printed(&recording, Format::Calls, symbols)).unwrap();
    // A line of a part that has ended is before that of the next one, and has another time.
    let times = text.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let mut fields = line.splitn(3, ' ').skip(1);
        (fields.next().unwrap().parse::<u64>().unwrap(), fields.next().unwrap())
    });
    let times: Vec<_> = times.collect();
    for two in times.windows(2) {
        let [(end, "}"), (begin, "left")] = two else { continue };
        assert!(end < begin, "{text}");
    }
}
