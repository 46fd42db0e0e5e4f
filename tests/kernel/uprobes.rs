//! Calls of functions: as many as the program makes and as the kernel counts, at their times.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::harness::{subject_path, trace, Archive, Event, Run, Shape};
use super::helper::{has_ended, kill, start};
use super::{can_trace, record, TRACEFS};

/// The number of calls.
const CALLS: usize = 217;

/// The depth of recursion.
const DEPTH: usize = 5;

const LEAF: &str = "subject::called::leaf";
const RECURSIVE: &str = "subject::called::recursive";
const UNWOUND: &str = "subject::called::unwound";

/// A copy of the test program, whose calls no other test makes. Its path has a space and a colon.
struct Program {
    directory: tempfile::TempDir,
    path: PathBuf,
}

impl Program {
    fn new() -> Self {
        let directory = tempfile::Builder::new().prefix("probed: ").tempdir().unwrap();
        let path = directory.path().join("subject:1");
        fs::copy(subject_path(), &path).unwrap();
        Self { directory, path }
    }

    fn output(&self) -> PathBuf {
        self.directory.path().join("t.fxt")
    }

    fn category(&self, kind: &str, symbol: &str) -> String {
        format!("kernel:{kind}:{}:{symbol}", self.path.display())
    }

    /// Records the calls of its role, and then the kernel's counts of probes.
    fn record(&self, categories: &[String]) -> Run {
        let mut command =
            trace(&["record", "--strict", "-c", &format!("*,{}", categories.join(","))]);
        let script = format!(r#""$0" called {CALLS} {DEPTH} && cat {TRACEFS}/uprobe_profile"#);
        command.arg("-o").arg(self.output()).args(["--", "sh", "-c", &script]).arg(&self.path);
        Run::of(&mut command)
    }
}

/// Reports if the kernel has no uprobes.
fn can_probe() -> bool {
    let can = can_trace() && Path::new(TRACEFS).join("uprobe_events").exists();
    if !can {
        super::lacks("uprobes");
    }
    can
}

/// Returns the probes of the kernel's list that are of a process.
fn probes(pid: u64) -> Vec<String> {
    let list = fs::read_to_string(Path::new(TRACEFS).join("uprobe_events")).unwrap();
    let group = format!(":trace_{pid}_");
    list.lines().filter(|line| line.contains(&group)).map(str::to_owned).collect()
}

/// Also those that unwind: a probe of the entry only does not change the program.
#[test]
fn calls_are_those_of_the_program_and_of_the_kernels_count() {
    if !can_probe() {
        return;
    }
    let program = Program::new();
    let symbols = [LEAF, RECURSIVE, UNWOUND];
    let categories = symbols.map(|symbol| program.category("uprobe", symbol));
    let run = program.record(&categories);
    assert_eq!(run.code(), 0, "{run:?}");
    let archive = Archive::read(&program.output());
    let kernel = archive.providers.iter().find(|it| it.name == "kernel").unwrap();
    assert_eq!(kernel.lost(), 0);
    let expected = [CALLS, CALLS * (DEPTH + 1), CALLS];
    let profile = run.stdout();
    for ((symbol, category), expected) in symbols.into_iter().zip(&categories).zip(expected) {
        let calls: Vec<&Event> = kernel.named(symbol).collect();
        assert!(calls.iter().all(|it| it.category == *category && it.shape == Shape::Instant));
        assert_eq!(calls.len(), expected, "{symbol}");
        let counted = profile.lines().filter_map(|line| line.split_whitespace().last());
        let mut counted = counted.filter_map(|number| number.parse().ok());
        assert!(counted.any(|number: usize| number == expected), "{expected} in {profile}");
    }
    assert!(probes(kernel.pid).is_empty());
}

/// Each call is within the scope of the program that makes it, and inner calls are within outer
/// ones.
#[test]
fn calls_with_returns_are_durations() {
    if !can_probe() {
        return;
    }
    let program = Program::new();
    let categories = [LEAF, RECURSIVE].map(|symbol| program.category("uretprobe", symbol));
    let run = program.record(&categories);
    assert_eq!(run.code(), 0, "{run:?}");
    let archive = Archive::read(&program.output());
    let provider = |name: &str| archive.providers.iter().find(|it| it.name == name).unwrap();
    let (kernel, subject) = (provider("kernel"), provider("subject:1"));
    let times = |event: &Event| match event.shape {
        Shape::Complete(end) => (event.ticks, end),
        _ => panic!("{event:?}"),
    };
    let sorted = |mut calls: Vec<(u64, u64)>| {
        calls.sort_unstable();
        calls
    };
    let scopes = sorted(subject.named("call").map(times).collect());
    assert_eq!(scopes.len(), CALLS);
    let leaves = sorted(kernel.named(LEAF).map(times).collect());
    assert_eq!(leaves.len(), CALLS);
    let recursive = sorted(kernel.named(RECURSIVE).map(times).collect());
    assert_eq!(recursive.len(), CALLS * (DEPTH + 1));
    for (scope, (leaf, nested)) in scopes.iter().zip(leaves.iter().zip(recursive.chunks(DEPTH + 1)))
    {
        // The innermost recursive call is the caller of the leaf.
        let chain: Vec<(u64, u64)> = [&[*scope], nested, &[*leaf]].concat();
        let is_within = |pair: &[(u64, u64)]| pair[0].0 <= pair[1].0 && pair[1].1 <= pair[0].1;
        assert!(chain.windows(2).all(is_within), "{chain:?}");
    }
}

#[test]
fn functions_of_libraries_are_recorded() {
    if !can_probe() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (source, library) = (directory.path().join("l.c"), directory.path().join("l.so"));
    fs::write(&source, "int answer(void) { return 42; }\n").unwrap();
    let main = directory.path().join("m.c");
    let text = "int answer(void);\nint main(void) { int sum = 0;\n\
        for (int i = 0; i < 33; i++) sum += answer(); return sum == 33 * 42 ? 0 : 1; }\n";
    fs::write(&main, text).unwrap();
    let compile = |arguments: &[&Path], options: &[&str]| {
        let mut cc = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()));
        cc.args(options).args(arguments).status().is_ok_and(|status| status.success())
    };
    let program = directory.path().join("main");
    let (out, rpath) = (Path::new("-o"), format!("-Wl,-rpath,{}", directory.path().display()));
    if !compile(&[&source, out, &library], &["-shared", "-fPIC", "-s"])
        || !compile(&[&main, &library, out, &program], &[&rpath])
    {
        return super::lacks("a compiler for C");
    }
    let output = directory.path().join("t.fxt");
    let category = format!("kernel:uprobe:{}:answer", library.display());
    let mut command = trace(&["record", "--strict", "-c", &category, "-o"]);
    let run = Run::of(command.arg(&output).arg("--").arg(&program));
    assert_eq!(run.code(), 0, "{run:?}");
    assert_eq!(Archive::read(&output).only().count("answer"), 33);
}

#[test]
fn functions_that_do_not_exist_are_refused_before_the_command_runs() {
    let directory = tempfile::tempdir().unwrap();
    let ran = directory.path().join("ran");
    let subject = subject_path();
    let stripped = directory.path().join("stripped");
    let mut strip = Command::new("strip");
    let has_stripped =
        strip.arg("-o").arg(&stripped).arg(&subject).status().is_ok_and(|it| it.success());
    let text = directory.path().join("text");
    fs::write(&text, "#!/bin/sh\n").unwrap();
    let within = format!("{LEAF}+1");
    for (kind, path, symbol, expected) in [
        ("uprobe", &subject, "no_such_function", "the file has no such function"),
        ("uprobe", &stripped, LEAF, "the file has no s"),
        ("uprobe", &text, "main", "the file is not an ELF file"),
        ("uprobe", &directory.path().join("none"), "main", "is not a file that can be read"),
        ("uretprobe", &subject, &*within, "only the start of a function has a return"),
        ("uprobe", &subject, "", "PATH:SYMBOL is missing"),
    ] {
        if path == &stripped && !has_stripped {
            continue;
        }
        let category = format!("kernel:{kind}:{}:{symbol}", path.display());
        let mut command = trace(&["record", "-c", &category, "-o"]);
        let run =
            Run::of(command.arg(directory.path().join("t.fxt")).args(["--", "touch"]).arg(&ran));
        assert!(run.code() != 0 && !ran.exists(), "{run:?}");
        let message = format!("cannot trace {category}: ");
        assert!(run.stderr().contains(&message) && run.stderr().contains(expected), "{run:?}");
    }
}

#[test]
fn the_next_start_removes_the_probes_of_a_killed_helper() {
    if !can_probe() {
        return;
    }
    let program = Program::new();
    let category = program.category("uprobe", LEAF);
    let options = ["--sched", "-c", &format!("*,{category}")];
    let (mut recorder, helper) = start(&program.directory.path().join("killed.fxt"), &options);
    assert_eq!(probes(helper).len(), 1);
    kill(helper);
    kill(u64::from(recorder.id()));
    recorder.wait().unwrap();
    super::harness::wait_until("the helper has ended", || has_ended(helper));
    record(&program.output(), &["--sched"], &["burst", "1"]);
    assert!(probes(helper).is_empty());
}
