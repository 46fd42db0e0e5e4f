//! `trace record --xray`: programs that are built with sleds, and know nothing of tracing.

mod ending;
mod events;
mod logs;
mod many;
mod missed;
mod other_runtime;
mod restricted;
mod traced;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::harness::building::products;
use crate::harness::{trace, Archive, Provider, Run, Shape};
use crate::llvm_tools;

/// The compiled programs, and a library in two versions.
struct Built {
    _directory: tempfile::TempDir,
    program: PathBuf,
    /// A program without sleds.
    host: PathBuf,
    library: PathBuf,
    other: PathBuf,
    /// A program whose allocators have sleds.
    allocating: PathBuf,
}

/// Compiles the program and its library with sleds, once.
fn built() -> &'static Built {
    static BUILT: OnceLock<Built> = OnceLock::new();
    BUILT.get_or_init(|| {
        products();
        let directory = tempfile::tempdir().unwrap();
        let compiled =
            |source, name, options: &[&str]| compile(source, directory.path().join(name), options);
        let library = &[SLEDS, "--crate-type=cdylib"];
        Built {
            program: compiled("main.rs", "program", &[SLEDS]),
            host: compiled("host.rs", "host", &[]),
            library: compiled("library.rs", "library.so", library),
            allocating: compiled("allocating.rs", "allocating", &[SLEDS]),
            other: compiled("library.rs", "other.so", &[library, &["--cfg=other"][..]].concat()),
            _directory: directory,
        }
    })
}

/// Returns the program that most tests record.
pub(crate) fn program() -> &'static Path {
    &built().program
}

/// The compiler's option for sleds.
const SLEDS: &str = "-Zinstrument-xray=always";

#[track_caller]
fn compile(source: &str, output: PathBuf, options: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/sleds").join(source);
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()));
    // Sleds are an unstable option of the compiler.
    rustc.env("RUSTC_BOOTSTRAP", "1");
    rustc.args(["--edition=2021", "-O"]).args(options).arg(source).arg("-o").arg(&output);
    let run = Run::of(&mut rustc);
    assert_eq!(run.code(), 0, "{run:?}");
    output
}

/// A recording of the program.
struct Recorded {
    directory: tempfile::TempDir,
    archive: Archive,
    output: String,
    /// What `trace record` has printed.
    messages: String,
}

impl Recorded {
    #[track_caller]
    fn new(options: &[&str], arguments: &[&str]) -> Self {
        Self::of(&built().program, options, arguments)
    }

    #[track_caller]
    fn of(program: &Path, options: &[&str], arguments: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("app.fxt");
        let mut record = trace(&["record", "--xray", "-o"]);
        record.arg(&path).args(options).arg("--").arg(program).args(arguments);
        let run = Run::of(&mut record);
        assert_eq!(run.code(), 0, "{run:?}");
        let archive = Archive::read(&path);
        Self { directory, archive, output: run.stdout(), messages: run.stderr() }
    }

    /// Returns the number of calls of each function of the program itself.
    #[track_caller]
    fn calls(&self) -> BTreeMap<&str, usize> {
        calls(self.archive.only(), &[])
    }

    /// Returns the reasons of the events with this name.
    fn reasons<'a>(&'a self, name: &'a str) -> Vec<&'a str> {
        self.archive.only().named(name).map(|event| &*event.texts["reason"]).collect()
    }
}

/// Returns the number of calls of each function of a provider. Only calls of `open` may lack an
/// end. A call during which a part of the buffer is saved has its begin there and its end later.
#[track_caller]
fn calls<'a>(provider: &'a Provider, open: &[&str]) -> BTreeMap<&'a str, usize> {
    assert_eq!(provider.lost(), 0);
    let (mut calls, mut begun) = (BTreeMap::new(), BTreeMap::<&str, i64>::new());
    for event in provider.events.iter().filter(|event| event.category == "xray") {
        let name = event.name.as_str();
        let count = calls.entry(name);
        match event.shape {
            Shape::Instant => {}
            Shape::Begin => *begun.entry(name).or_default() += 1,
            Shape::End => {
                *begun.entry(name).or_default() -= 1;
                *count.or_default() += 1;
            }
            Shape::Complete(_) => *count.or_default() += 1,
            shape => panic!("{name} is {shape:?}"),
        }
    }
    begun.retain(|name, number| *number != 0 && !open.contains(name));
    assert!(begun.is_empty(), "without an end: {begun:?}");
    calls
}

/// Runs the program without tracing.
#[track_caller]
fn output(arguments: &[&str]) -> String {
    let run = Run::of(Command::new(&built().program).args(arguments));
    assert_eq!(run.code(), 0, "{run:?}");
    run.stdout()
}

#[track_caller]
fn assert_calls(calls: &BTreeMap<&str, usize>, expected: &[(&str, usize)]) {
    for (name, number) in expected {
        assert_eq!(calls.get(name), Some(number), "{name}: {calls:?}");
    }
}

#[test]
fn calls_are_counted_and_values_come_through() {
    let recorded = Recorded::new(&[], &["values"]);
    assert_eq!(recorded.output, output(&["values"]));
    let calls = recorded.calls();
    assert_calls(
        &calls,
        &[
            ("main::main", 1),
            ("main::fibonacci", 1973),
            ("main::mixed", 10),
            ("main::three", 10),
            ("main::jump", 10),
            ("main::target", 10),
        ],
    );
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx") {
        assert_calls(&calls, &[("main::wide::forward", 1000), ("main::wide::add", 2000)]);
    }
}

#[test]
fn a_report_states_how_text_was_written() {
    let recorded = Recorded::new(&[], &["values"]);
    let report = recorded.archive.only().named("sleds patched").next().expect("a report");
    assert_eq!(report.texts["written by"], "/proc/self/mem");
    assert_eq!(report.numbers["refused"], 0);
    assert!(report.numbers["sleds"] > report.numbers["functions"]);
}

/// A duration is inside of its caller's, also if it ended by unwinding.
#[test]
fn unwound_calls_end() {
    let recorded = Recorded::new(&["--functions", "main::*"], &["unwinding"]);
    assert_eq!(recorded.output, "50\n");
    let calls = recorded.calls();
    let hundred = ["main::outer", "main::middle", "main::inner", "main::after"];
    assert_calls(&calls, &hundred.map(|name| (name, 100)));
    let provider = recorded.archive.only();
    let ends = |name| {
        provider.named(name).map(|event| match event.shape {
            Shape::Complete(end) => (event.ticks, end),
            shape => panic!("{shape:?}"),
        })
    };
    for ((inner, after), outer) in
        ends("main::inner").zip(ends("main::after")).zip(ends("main::outer"))
    {
        assert!(outer.0 <= inner.0 && inner.1 <= after.0 && after.1 <= outer.1);
    }
}

/// Half of the threads panic, and are in no recorded function after that.
#[test]
fn calls_end_with_their_thread() {
    let recorded = Recorded::new(&["--functions", "main::*"], &["unwound-threads"]);
    assert_eq!(recorded.output, "10\n");
    assert_calls(&recorded.calls(), &[("main::middle", 20), ("main::inner", 20)]);
}

#[test]
fn threads_have_their_own_calls() {
    let recorded = Recorded::new(&["--functions", "main::*"], &["threads", "5000"]);
    assert_eq!(recorded.output, output(&["threads", "5000"]));
    assert_calls(&recorded.calls(), &[("main::repeated", 4), ("main::target", 20_000)]);
}

/// The child has the patched text of its parent, and records nothing.
#[test]
fn a_forked_child_is_not_disturbed() {
    let recorded = Recorded::new(&["--functions", "main::*"], &["fork"]);
    let mut lines: Vec<_> = recorded.output.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["0", "90", "90"]);
    assert_calls(&recorded.calls(), &[("main::repeated", 1), ("main::target", 10)]);
}

#[test]
fn signal_handlers_are_calls() {
    let recorded = Recorded::new(&["--functions", "main::*"], &["signals"]);
    let hundred = ["main::interrupted", "main::handler", "main::target"];
    assert_calls(&recorded.calls(), &hundred.map(|name| (name, 100)));
}

/// Checks that the calls of each thread are nested in each other.
#[track_caller]
fn assert_nested(provider: &Provider) {
    let mut threads: BTreeMap<u64, Vec<_>> = BTreeMap::new();
    for event in provider.events.iter().filter(|event| event.category == "xray") {
        if let Shape::Complete(end) = event.shape {
            let call = (event.ticks, std::cmp::Reverse(end), event.name.as_str());
            threads.entry(event.thread).or_default().push(call);
        }
    }
    for mut calls in threads.into_values() {
        calls.sort_unstable();
        let mut open: Vec<(u64, &str)> = Vec::new();
        for (begin, std::cmp::Reverse(end), name) in calls {
            while open.last().is_some_and(|(last, _)| *last <= begin) {
                open.pop();
            }
            if let Some((last, around)) = open.last() {
                assert!(end <= *last, "{name} {begin}..{end} ends after {around} at {last}");
            }
            open.push((end, name));
        }
    }
}

/// The library of the recording calls the program's allocator, from its own code, too.
#[test]
fn allocators_with_sleds_are_recorded() {
    let recorded = Recorded::of(&built().allocating, &["-b", "64M"], &[]);
    assert_eq!(recorded.output, "1501500\n");
    let calls = recorded.calls();
    assert_calls(&calls, &[("allocating::boxed", 3000), ("allocating::sum", 3)]);
    // The compiler inlines the allocator of the C library in that of Rust.
    let alloc = calls.iter().filter(|(name, _)| name.contains("GlobalAlloc>::alloc"));
    let alloc: usize = alloc.map(|(_, number)| number).sum();
    assert!(alloc >= 3000 && calls["allocating::take"] >= 3000, "{calls:?}");
    // Those of the C library, and of the recording itself.
    assert!(calls["malloc"] > 0 && calls["free"] > 0, "{calls:?}");
    assert_nested(recorded.archive.only());
}

/// The library is loaded, unloaded and loaded again during the session. The program waits until it
/// is patched.
#[test]
fn libraries_that_are_loaded_later_are_recorded() {
    let library = built().library.to_str().unwrap();
    let recorded = Recorded::new(&["--functions", "library*"], &["library", library]);
    assert_calls(&recorded.calls(), &[("library_function", 20), ("library::in_library", 20)]);
}

/// Its trace points, and the stubs of its functions, are those of the first time.
#[test]
fn a_library_that_is_loaded_again_takes_no_more_memory() {
    let [library, other] = [&built().library, &built().other].map(|path| path.to_str().unwrap());
    let arguments = ["reload", library, other, "4"];
    let recorded = Recorded::new(&["--functions", "library*"], &arguments);
    assert_eq!(recorded.output, "0\n");
    let expected =
        [("library_function", 80), ("library::in_library", 40), ("library::in_another", 40)];
    assert_calls(&recorded.calls(), &expected);
}

/// Both have the same name, the same size, and, with one program, the same address.
#[test]
fn a_library_that_replaces_another_has_its_own_functions() {
    let directory = tempfile::tempdir().unwrap();
    let [library, other] = ["library.so", "other.so"].map(|name| directory.path().join(name));
    std::fs::copy(&built().library, &library).unwrap();
    std::fs::copy(&built().other, &other).unwrap();
    let arguments = ["replaced", library.to_str().unwrap(), other.to_str().unwrap()];
    let recorded = Recorded::new(&["--functions", "library*"], &arguments);
    let expected =
        [("library_function", 20), ("library::in_library", 10), ("library::in_another", 10)];
    assert_calls(&recorded.calls(), &expected);
}

/// The program is not a provider until the library is loaded.
#[test]
fn libraries_of_a_program_without_sleds_are_recorded() {
    let library = built().library.to_str().unwrap();
    let recorded = Recorded::of(&built().host, &[], &[library]);
    assert_calls(&recorded.calls(), &[("library_function", 20), ("library::in_library", 20)]);
}

/// It has neither sleds nor a way to load libraries, and so no thread of the tracer.
#[test]
fn a_program_that_cannot_have_sleds_is_left_alone() {
    products();
    let directory = tempfile::tempdir().unwrap();
    let mut record = trace(&["record", "--xray", "-o"]);
    record.arg(directory.path().join("app.fxt")).args(["--", "cat", "/proc/self/status"]);
    let run = Run::of(&mut record);
    assert!(run.stdout().contains("\nThreads:\t1\n"), "{run:?}");
}

/// A child has the sleds of its parent until it executes a program, which is recorded itself.
#[test]
fn executed_children_are_recorded() {
    let options = ["--functions", "main::*"];
    let recorded = Recorded::new(&options, &["exec", "threads", "5000"]);
    assert_eq!(recorded.output, output(&["threads", "5000"]));
    let [parent, child] = &recorded.archive.providers[..] else {
        panic!("{:?}", recorded.archive.names())
    };
    assert_calls(&calls(parent, &[]), &[("main::main", 1)]);
    assert!(!calls(parent, &[]).contains_key("main::repeated"), "{:?}", calls(parent, &[]));
    assert_calls(&calls(child, &[]), &[("main::repeated", 4), ("main::target", 20_000)]);
}

#[test]
fn functions_are_selected_by_name() {
    let recorded =
        Recorded::new(&["--functions", "main::*,-*::target,-*::main"], &["threads", "10"]);
    let calls = recorded.calls();
    assert_calls(&calls, &[("main::repeated", 4)]);
    let others = |name: &&&str| !name.starts_with("main::") || **name == "main::target";
    assert_eq!(calls.keys().filter(others).count(), 0, "{calls:?}");
}

/// Other categories only: sleds stay NOPs.
#[test]
fn nothing_is_patched_if_the_category_is_not_recorded() {
    let recorded = Recorded::new(&["-c", "other"], &["values"]);
    assert_eq!(recorded.output, output(&["values"]));
    assert_eq!(recorded.archive.names().len(), 1);
    assert!(recorded.calls().is_empty());
}

/// The reasons are those of sleds, not of a program that calls init().
#[test]
fn an_empty_recording_has_a_reason() {
    products();
    let directory = tempfile::tempdir().unwrap();
    let recorded = |options: &[&str], command: &[&str]| {
        let mut record = trace(&["record", "--xray", "-o"]);
        record.arg(directory.path().join("app.fxt")).args(options).arg("--").args(command);
        Run::of(&mut record).stderr()
    };
    let none = recorded(&[], &["true"]);
    for part in ["have sleds", "cargo trace-xray build", "-fxray-instrument", "is not found"] {
        assert!(none.contains(part), "{none}");
    }
    let program = built().program.to_str().unwrap();
    let other = recorded(&["--functions", "other::*"], &[program, "values"]);
    assert!(other.contains("--functions 'other::*' selects"), "{other}");
    assert!(!other.contains("no names"), "{other}");
    let stripped =
        compile("main.rs", directory.path().join("stripped"), &[SLEDS, "-Cstrip=symbols"]);
    let stripped = recorded(&["--functions", "main::*"], &[stripped.to_str().unwrap(), "values"]);
    assert!(stripped.contains("its functions have no names"), "{stripped}");
}

#[test]
fn options_that_make_no_sense_are_refused() {
    products();
    for (arguments, message) in [
        (&["--xray"][..], "COMMAND"),
        (&["--functions", "a", "--", "true"], "--xray"),
        (&["--xray", "--functions", "", "--", "true"], "has no name"),
        (&["--xray", "--functions", " ,-", "--", "true"], "has no name"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let mut record = trace(&["record", "-o"]);
        let run = Run::of(record.arg(directory.path().join("app.fxt")).args(arguments));
        assert_ne!(run.code(), 0, "{run:?}");
        assert!(run.stderr().contains(message), "{run:?}");
    }
    let mut record = trace(&["record", "--xray", "--", "true"]);
    let run = Run::of(record.env("TRACE_XRAY_RUNTIME", "/nonexistent/x.so"));
    assert_eq!(run.code(), 125, "{run:?}");
    assert!(run.stderr().contains("cannot find /nonexistent/x.so\nhint: "), "{run:?}");
}

/// An archive of a recording becomes such a log later.
#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn llvm_has_the_counts_of_a_converted_archive() {
    let recorded = Recorded::new(&["--functions", "main::*"], &["values"]);
    let log = recorded.directory.path().join("app.xray");
    let mut convert = trace(&["convert", "--log-version", "1"]);
    let run = Run::of(convert.arg(recorded.directory.path().join("app.fxt")).arg("-o").arg(&log));
    assert_eq!(run.code(), 0, "{run:?}");
    let calls = recorded.calls();
    let calls = calls.iter().map(|(name, number)| (*name, *number as u64)).collect();
    llvm_tools::check_calls(&log, &calls, "converted");
}

/// It is linked without LLVM's runtime, at a fixed address and at any.
#[test]
#[ignore = "requires clang: run .ci/xray"]
fn llvm_compiles_cpp_programs_that_are_recorded() {
    products();
    let directory = tempfile::tempdir().unwrap();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/sleds/program.cpp");
    for place in [["-fno-PIE", "-no-pie"], ["-fPIE", "-pie"]] {
        let program = directory.path().join("program");
        let mut clang = Command::new("clang++-19");
        clang.args(["-O2", "-pthread", "-fxray-instrument", "-fxray-instruction-threshold=1"]);
        clang.arg("-fno-xray-link-deps").args(place).arg(source).arg("-o").arg(&program);
        assert_eq!(Run::of(&mut clang).code(), 0);
        let recorded = Recorded::of(&program, &["--functions", "*app::*,c_*"], &[]);
        assert_eq!(recorded.output, "50 2 3.5\n50 2 3.5\n1.3392e+06\n");
        let calls = recorded.calls();
        let mut expected = vec![
            ("app::catcher(long)", 200),
            ("app::thrower(long)", 200),
            ("c_function", 100),
            ("c_with_argument", 200),
            ("app::Square::area(double) const", 2),
            ("double app::sum<double>(double, double)", 2),
        ];
        if std::is_x86_feature_detected!("avx512f") {
            expected.push(("app::wide()", 1));
        }
        assert_calls(&calls, &expected);
        let provider = recorded.archive.only();
        let mut arguments: Vec<_> =
            provider.named("c_with_argument").map(|event| event.numbers["arg0"] as i64).collect();
        arguments.sort_unstable();
        let expected: Vec<i64> = (-50..50).flat_map(|number| [number; 2]).collect();
        assert_eq!(arguments, expected);
        let added = calls.iter().filter(|(name, _)| name.starts_with("app::added("));
        let number = if std::is_x86_feature_detected!("avx512f") { 100 } else { 0 };
        assert_eq!(added.map(|(_, number)| number).sum::<usize>(), number, "{calls:?}");
    }
}
