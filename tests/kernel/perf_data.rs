//! Recordings of `perf` as inputs: the functions that `perf` finds in the same file.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::harness::{trace, Run};
use super::samples::{folded, has, perf_stacks, share, Sampled, Stacks};

/// The functions of the program.
const FUNCTIONS: [&str; 3] = ["direct", "recursive", "in_library"];

/// The most samples that one of both may name otherwise: those in the first and the last
/// instructions of a function, and in the C library's start.
const TOLERANCE: f64 = 0.01;

/// Records the program with these options to a file or a pipe. Returns `None` if `perf` cannot.
fn record(sampled: &Sampled, options: &[&str], is_pipe: bool) -> Option<PathBuf> {
    let data = sampled.path("perf.data");
    let mut perf = Command::new("perf");
    perf.args(["record", "-q", "-e", "cpu-clock", "-F", "500"]).args(options).arg("-o");
    if is_pipe {
        perf.arg("-").stdout(std::fs::File::create(&data).unwrap());
    } else {
        perf.arg(&data).stdout(Stdio::null());
    }
    // The program's own output would be in the pipe.
    perf.args(["--", "sh", "-c", r#""$0" 1000 >/dev/null"#]).arg(sampled.program());
    let status = perf.stderr(Stdio::null()).status();
    let is_recorded = status.is_ok_and(|status| status.success());
    if !is_recorded {
        super::lacks("perf");
    }
    is_recorded.then_some(data)
}

/// Asserts that both have the same number of samples, and the same share of each function.
fn assert_same(ours: &Stacks, theirs: &Stacks) {
    let number = |stacks: &Stacks| stacks.iter().map(|(_, number)| number).sum::<u64>();
    assert_eq!(number(ours), number(theirs));
    assert!(number(ours) > 100, "{}", number(ours));
    // On a busy machine, perf itself does not unwind some of the stacks.
    let lost = 1.0 - share(theirs, has("main"));
    assert!(share(ours, has("main")) > 1.0 - lost - TOLERANCE);
    for function in FUNCTIONS.into_iter().chain(["main"]) {
        let (our, their) = (share(ours, has(function)), share(theirs, has(function)));
        println!("{function}: {our:.4}, of perf {their:.4}");
        assert!((our - their).abs() < lost + TOLERANCE, "{function}: {our}, of perf {their}");
        assert!(our > 0.05, "{function}: {our}");
    }
}

/// Returns the share of each function in the samples that are in itself, by `perf report`.
fn report(data: &Path) -> Vec<(String, f64)> {
    let mut report = Command::new("perf");
    report.args(["report", "--stdio", "--no-children", "--no-inline", "-g", "none", "-i"]);
    let run = Run::of(report.arg(data).args(["-F", "overhead,sym"]));
    assert_eq!(run.code(), 0, "{run:?}");
    let line = |line: &str| {
        let (share, name) = line.trim().split_once('%')?;
        let name = name.trim().strip_prefix("[.] ")?;
        Some((name.to_owned(), share.parse::<f64>().ok()? / 100.0))
    };
    run.stdout().lines().filter_map(line).collect()
}

#[test]
fn stacks_by_frame_pointers_and_their_names() {
    let Some(sampled) = Sampled::compile(&["-fno-omit-frame-pointer"]) else { return };
    let Some(data) = record(&sampled, &["-g"], false) else { return };
    let ours = folded(&data, &[]);
    assert_same(&ours, &perf_stacks(&data));
    // Inlined functions belong to the function that has them.
    for (function, their) in report(&data) {
        if !FUNCTIONS.contains(&&*function) {
            continue;
        }
        let is_in_it = |frames: &[String]| {
            let mut outer = frames.iter().rev();
            outer.find(|name| !["spin", "inlined"].contains(&&***name)) == Some(&function)
        };
        let our = share(&ours, is_in_it);
        println!("in {function} itself: {our:.4}, of perf report {their:.4}");
        assert!((our - their).abs() < 2.0 * TOLERANCE, "{function}: {our}, of perf {their}");
    }
    let named = sampled.path("named.fxt");
    let run = Run::of(trace(&["symbolize", "-o"]).arg(&named).arg(&data));
    assert_eq!(run.code(), 0, "{run:?}");
    std::fs::remove_file(sampled.program()).unwrap();
    assert_eq!(folded(&named, &[]), ours, "names in the archive do not need the files");
}

#[test]
fn stacks_by_unwind_tables() {
    let Some(sampled) = Sampled::compile(&["-fomit-frame-pointer"]) else { return };
    let Some(data) = record(&sampled, &["--call-graph=dwarf,8192"], false) else { return };
    assert_same(&folded(&data, &[]), &perf_stacks(&data));
}

#[test]
fn compressed_recordings_from_a_pipe() {
    let Some(sampled) = Sampled::compile(&["-fno-omit-frame-pointer"]) else { return };
    for options in [&["-g"][..], &["-g", "-z"]] {
        let Some(data) = record(&sampled, options, true) else { return };
        assert_same(&folded(&data, &[]), &perf_stacks(&data));
    }
}
