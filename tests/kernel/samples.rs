//! Samples of call stacks against the CPU times that a program measures itself, and against `perf`.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use trace_format::layout::BlobType;
use trace_format::{Reader, Record};

use super::harness::{subject_path, trace, Archive, Run};
use super::sandbox::deny_perf_events;
use super::sources::{can_run, NOBODY};
use super::stolen::Stolen;

/// The CPU time of the program in milliseconds: 4000 samples.
pub(crate) const CPU_MILLIS: &str = "4000";

/// The CPU time for 10,000 samples.
const LONG_MILLIS: &str = "10000";

/// How far the share of a function in the samples may be from its share of the CPU time.
pub(crate) const TOLERANCE: f64 = 0.03;

/// The least share of samples with a complete stack. An interruption of the C library's code may
/// find no frame pointer.
const COMPLETE: f64 = 0.98;

/// Shares by function.
pub(crate) type Shares = BTreeMap<String, f64>;

/// The number of samples of each stack, the outermost frame first.
pub(crate) type Stacks = Vec<(Vec<String>, u64)>;

/// A program of C, with a library.
pub(crate) struct Sampled {
    directory: tempfile::TempDir,
    stolen: Stolen,
}

impl Sampled {
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Compiles it with these options, or reports that there is no compiler.
    pub(crate) fn compile(options: &[&str]) -> Option<Self> {
        let sampled = Self { directory: tempfile::tempdir().unwrap(), stolen: Stolen::begin() };
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernel/programs");
        let library = sampled.path("libsampled.so");
        let compile = |arguments: &[&str], source: &str, output: &Path| {
            let mut cc = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()));
            cc.args(["-O2", "-g", "-Wl,--build-id", "-o"]).arg(output).args(options);
            cc.arg(sources.join(source)).args(arguments).status()
        };
        let compiled = compile(&["-shared", "-fPIC"], "library.c", &library);
        if compiled.is_err() {
            super::lacks("a compiler for C");
            return None;
        }
        assert!(compiled.unwrap().success());
        let library = library.to_str().unwrap();
        let rpath = format!("-Wl,-rpath,{}", sampled.directory.path().display());
        let program = compile(&[library, &rpath], "sampled.c", &sampled.program());
        assert!(program.unwrap().success());
        Some(sampled)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn program(&self) -> PathBuf {
        self.path("sampled")
    }

    /// Records the program. Returns the shares of CPU time that it has measured, and its samples;
    /// `None` if this machine forbids perf events.
    fn record(&self, call_graph: &str) -> Option<(Shares, Stacks)> {
        let truth = self.record_with(call_graph, &[CPU_MILLIS])?;
        Some((truth, folded(&self.path("t.fxt"), &[])))
    }

    /// Records the program with these arguments, and returns the shares of CPU time.
    pub(crate) fn record_with(&self, call_graph: &str, arguments: &[&str]) -> Option<Shares> {
        let mut command = trace(&["record", "--samples=1000", "--call-graph", call_graph, "-o"]);
        command.arg(self.path("t.fxt")).arg("--").arg(self.program()).args(arguments);
        let run = Run::of(&mut command);
        if is_forbidden(&run) {
            return None;
        }
        assert_eq!(run.code(), 0, "{run:?}");
        assert!(!run.stderr().contains("dropped"), "{run:?}");
        Some(shares(&run.stdout()))
    }

    /// Asserts that each function has the share of samples that it has of the CPU time.
    pub(crate) fn assert_shares(&self, truth: &Shares, stacks: &Stacks) {
        assert!(truth.len() >= 3);
        let tolerance = self.tolerance(stacks);
        for (function, expected) in truth {
            let found = share(stacks, has(function));
            println!("{function}: {expected:.4} of the CPU time, {found:.4} of the samples");
            let is_near = (found - expected).abs() < tolerance;
            assert!(is_near, "{function}: {found} instead of {expected}, within {tolerance}");
        }
    }

    /// Returns how far the share of a function in samples, one for each millisecond, may be from
    /// its share of the CPU time. The time that a hypervisor takes has few samples.
    pub(crate) fn tolerance(&self, stacks: &Stacks) -> f64 {
        let samples: u64 = stacks.iter().map(|(_, number)| number).sum();
        let stolen = self.stolen.most_ns() as f64 / 1e6;
        TOLERANCE + stolen / (samples as f64 + stolen)
    }

    /// Returns the samples of a recording with the names of the maps in a directory.
    pub(crate) fn folded_with_jit_maps(&self, recording: &Path, directory: &Path) -> Stacks {
        let named = self.path("named.fxt");
        let mut symbolize = trace(&["symbolize", "--jit-maps"]);
        let run = Run::of(symbolize.arg(directory).arg("-o").arg(&named).arg(recording));
        assert_eq!(run.code(), 0, "{run:?}");
        folded(&named, &[])
    }
}

/// Returns whether samples could not be taken. Reports it.
fn is_forbidden(run: &Run) -> bool {
    let is_forbidden = run.stderr().contains("cannot sample");
    if is_forbidden {
        assert!(run.stderr().contains("hint: "), "{run:?}");
        super::lacks("perf events");
    }
    is_forbidden
}

/// Returns the shares of lines of a name and a number.
pub(crate) fn shares(lines: &str) -> Shares {
    let number = |line: &str| {
        let (name, number) = line.rsplit_once(' ').unwrap();
        (name.to_owned(), number.parse::<f64>().unwrap())
    };
    let numbers: Shares = lines.lines().map(number).collect();
    let sum: f64 = numbers.values().sum();
    numbers.into_iter().map(|(name, number)| (name, number / sum)).collect()
}

/// Returns the samples of an archive.
pub(crate) fn folded(archive: &Path, options: &[&str]) -> Stacks {
    let mut command = trace(&["convert", "--samples", "--to", "folded", "-o", "-"]);
    let run = Run::of(command.args(options).arg(archive));
    assert_eq!(run.code(), 0, "{run:?}");
    let stack = |line: &str| {
        let (stack, number) = line.rsplit_once(' ').unwrap();
        (stack.split(';').map(str::to_owned).collect(), number.parse().unwrap())
    };
    run.stdout().lines().map(stack).collect()
}

/// Returns the share of samples whose stack has a frame.
pub(crate) fn share(stacks: &Stacks, is_in: impl Fn(&[String]) -> bool) -> f64 {
    let all: u64 = stacks.iter().map(|(_, number)| number).sum();
    let found = stacks.iter().filter(|(frames, _)| is_in(frames)).map(|(_, number)| number);
    found.sum::<u64>() as f64 / all as f64
}

pub(crate) fn has(name: &str) -> impl Fn(&[String]) -> bool + '_ {
    move |frames| frames.iter().any(|frame| frame == name)
}

/// Asserts that stacks reach the program's start, and that inlined and recursive calls are frames.
fn assert_complete(stacks: &Stacks) {
    let complete = share(stacks, has("main"));
    assert!(complete > COMPLETE, "{complete} of the samples have complete stacks");
    let depth = |frames: &[String]| frames.iter().filter(|frame| *frame == "recursive").count();
    for (frames, _) in stacks.iter().filter(|(frames, _)| has("main")(frames)) {
        let is_inner = frames.last().is_some_and(|last| last == "spin");
        if is_inner && has("recursive")(frames) {
            assert_eq!(depth(frames), 6, "{frames:?}");
        }
        if is_inner && has("direct")(frames) {
            assert!(
                frames.ends_with(&["direct", "inlined", "spin"].map(str::to_owned)),
                "{frames:?}"
            );
        }
    }
    assert!(share(stacks, has("inlined")) > 0.3, "inlined functions are frames");
}

/// Inlined, recursive, in a library, and in memory without a file: 10 s at 1 kHz.
#[test]
fn shares_and_stacks_by_frame_pointers() {
    let Some(sampled) = Sampled::compile(&["-fno-omit-frame-pointer"]) else { return };
    let directory = sampled.directory.path();
    let arguments = [LONG_MILLIS, directory.to_str().unwrap()];
    let Some(truth) = sampled.record_with("fp", &arguments) else { return };
    assert_eq!(truth.len(), 4);
    let recording = sampled.path("t.fxt");
    let stacks = sampled.folded_with_jit_maps(&recording, directory);
    sampled.assert_shares(&truth, &stacks);
    assert_complete(&stacks);
    let samples: u64 = stacks.iter().map(|(_, number)| number).sum();
    assert!(samples >= sampled.stolen.least_samples(10_000), "{samples} samples");
    let in_jit = |frames: &[String]| frames.ends_with(&["in_jit", "jitted"].map(str::to_owned));
    assert!(share(&stacks, in_jit) > 0.9 * truth["in_jit"], "{stacks:?}");
}

#[test]
fn shares_and_stacks_by_unwind_tables() {
    let Some(sampled) = Sampled::compile(&["-fomit-frame-pointer"]) else { return };
    let Some((truth, stacks)) = sampled.record("dwarf") else { return };
    sampled.assert_shares(&truth, &stacks);
    assert_complete(&stacks);
}

/// They need no root. What is missing is reported.
#[test]
fn users_sample_their_own_processes() {
    let Some(sampled) = Sampled::compile(&["-fno-omit-frame-pointer"]) else { return };
    if !can_run(&NOBODY) {
        return;
    }
    let (directory, program) = (sampled.directory.path(), sampled.path("trace"));
    std::fs::set_permissions(directory, Permissions::from_mode(0o777)).unwrap();
    std::fs::copy(trace(&[]).get_program(), &program).unwrap();
    let mut command = Command::new(NOBODY[0]);
    command.args(&NOBODY[1..]).arg(program).args(["record", "--samples", "--strict", "-o"]);
    command.arg(sampled.path("t.fxt")).arg("--").arg(sampled.program()).arg(CPU_MILLIS);
    command.env("TRACE_CONFIG", "").env_remove("XDG_RUNTIME_DIR").current_dir(directory);
    let run = Run::of(&mut command);
    if is_forbidden(&run) {
        return;
    }
    assert_eq!(run.code(), 0, "{run:?}");
    sampled.assert_shares(&shares(&run.stdout()), &folded(&sampled.path("t.fxt"), &[]));
    let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap();
    if level.trim().parse().is_ok_and(|level: i32| level > 1) {
        assert!(run.stderr().contains("samples lack the time in the kernel"), "{run:?}");
    }
}

/// Another program under the same name has other code.
#[test]
fn changed_files_name_no_functions() {
    let Some(sampled) = Sampled::compile(&["-fno-omit-frame-pointer"]) else { return };
    if sampled.record("fp").is_none() {
        return;
    }
    let other = Sampled::compile(&["-fno-omit-frame-pointer", "-DOTHER", "-O1"]).unwrap();
    std::fs::copy(other.program(), sampled.program()).unwrap();
    let mut command = trace(&["convert", "--samples", "--to", "folded", "-o", "-"]);
    let run = Run::of(command.arg(sampled.path("t.fxt")));
    let program = sampled.program();
    let reason = format!("{} has changed since the recording", program.display());
    assert!(run.stderr().contains(&reason), "{run:?}");
    assert!(!run.stdout().contains("direct") && run.stdout().contains("sampled+0x"), "{run:?}");
}

/// Names in the archive are those of the files, with inlined functions, after the files are gone.
#[test]
fn names_in_the_archive_do_not_need_the_files() {
    let Some(sampled) = Sampled::compile(&["-fno-omit-frame-pointer"]) else { return };
    let Some((_, stacks)) = sampled.record("fp") else { return };
    let named = sampled.path("named.fxt");
    let mut command = trace(&["symbolize", "-o"]);
    let run = Run::of(command.arg(&named).arg(sampled.path("t.fxt")));
    assert_eq!(run.code(), 0, "{run:?}");
    for file in [sampled.program(), sampled.path("libsampled.so"), sampled.path("t.fxt")] {
        std::fs::remove_file(file).unwrap();
    }
    assert_eq!(folded(&named, &[]), stacks);
    let mut command = trace(&["convert", "--samples", "--to", "folded", "-o", "-"]);
    let run = Run::of(command.arg(&named));
    assert!(!run.stderr().contains("without names: /tmp"), "{run:?}");
    let dump = Run::of(trace(&["dump"]).arg(&named)).stdout();
    let spin = dump.lines().find(|line| line.contains("\"inlined\"")).unwrap();
    assert!(spin.contains(" is \"spin\" (") && spin.contains(") in \"inlined\" ("), "{spin}");
    let check = Run::of(trace(&["check"]).arg(&named));
    assert_eq!(check.code(), 0, "{check:?}");
}

#[test]
fn samples_within_scopes() {
    let (directory, stolen) = (tempfile::tempdir().unwrap(), Stolen::begin());
    let output = directory.path().join("t.fxt");
    let mut command = trace(&["record", "--samples", "--call-graph=dwarf", "-o"]);
    let run = Run::of(command.arg(&output).arg("--").arg(subject_path()).args(["sampled", "300"]));
    if is_forbidden(&run) {
        return;
    }
    assert_eq!(run.code(), 0, "{run:?}");
    for (scope, inside) in [("first", "in_first"), ("second", "in_second")] {
        let stacks = folded(&output, &["-n", scope]);
        let frame = format!("subject::sampled::{inside}");
        let inside = share(&stacks, has(&frame));
        assert!(inside > COMPLETE, "{scope}: {inside} in {stacks:?}");
        let samples: u64 = stacks.iter().map(|(_, number)| number).sum();
        assert!(samples >= stolen.least_samples(300), "{samples}");
    }
    let all = folded(&output, &[]);
    assert!(share(&all, has("subject::sampled::outside")) > 0.2, "{all:?}");
    let mut unknown = trace(&["convert", "--samples", "--to", "folded", "-n", "none", "-o", "-"]);
    let run = Run::of(unknown.arg(&output));
    assert_eq!((run.code(), run.stdout().as_str()), (1, ""), "{run:?}");
    assert!(run.stderr().contains("no event is named 'none'"), "{run:?}");
    let svg = directory.path().join("t.svg");
    let mut draw = trace(&["flamegraph", "--samples", "-n", "first", "-o"]);
    let run = Run::of(draw.arg(&svg).arg(&output));
    assert_eq!(run.code(), 0, "{run:?}");
    let svg = std::fs::read_to_string(svg).unwrap();
    assert!(svg.contains("in_first") && svg.contains(" samples, "), "{svg}");
}

/// All processes of the command are sampled, with their own modules.
#[test]
fn children_are_sampled() {
    let Some(sampled) = Sampled::compile(&["-fno-omit-frame-pointer"]) else { return };
    let output = sampled.path("t.fxt");
    let mut command = trace(&["record", "--samples", "-o"]);
    command.arg(&output).args(["--", "sh", "-c", r#""$0" 300 & "$0" 300; wait"#]);
    let run = Run::of(command.arg(sampled.program()));
    if is_forbidden(&run) {
        return;
    }
    let bytes = std::fs::read(&output).unwrap();
    let mut processes = BTreeMap::<u64, u64>::new();
    let mut reader = Reader::new(&*bytes);
    while let Some(item) = reader.next().unwrap() {
        if let Record::Backtrace(backtrace) = &item.record {
            *processes.entry(item.thread(backtrace.thread).process).or_default() += 1;
        }
    }
    let mut samples: Vec<u64> = processes.values().copied().collect();
    samples.sort_unstable_by(|a, b| b.cmp(a));
    // The shell takes a few milliseconds.
    let [_, second, others @ ..] = &samples[..] else { panic!("{processes:?}") };
    assert!(*second >= sampled.stolen.least_samples(300).max(1), "{processes:?}");
    assert!(others.iter().all(|others| 5 * others < *second), "{processes:?}");
}

#[test]
fn sandboxes_without_perf_events_get_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = trace(&["record", "--samples", "--strict", "-o"]);
    command.arg(directory.path().join("t.fxt")).arg("--").arg(subject_path());
    command.args(["work", "3"]);
    deny_perf_events(&mut command);
    let run = Run::of(&mut command);
    assert_eq!(run.code(), 3, "{run:?}");
    for text in ["cannot sample the command's threads", "allow perf_event_open(2) in the sandbox"] {
        assert!(run.stderr().contains(text), "{text}: {run:?}");
    }
}

/// Returns the samples of `perf script`: a line for each frame, and an empty one after each sample.
pub(crate) fn perf_stacks(data: &Path) -> Stacks {
    let mut script = Command::new("perf");
    let run = Run::of(script.args(["script", "--no-inline", "-F", "ip,sym", "-i"]).arg(data));
    assert_eq!(run.code(), 0, "{run:?}");
    let frame = |line: &str| line.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let stdout = run.stdout();
    let samples = stdout.split("\n\n").filter(|sample| !sample.trim().is_empty());
    samples.map(|sample| (sample.trim().lines().rev().map(frame).collect(), 1)).collect()
}

/// Returns the number of samples in an archive.
fn number(archive: &Path) -> u64 {
    let bytes = std::fs::read(archive).unwrap();
    let (mut reader, mut number) = (Reader::new(&*bytes), 0);
    while let Some(item) = reader.next().unwrap() {
        number += u64::from(matches!(item.record, Record::Backtrace(_)));
    }
    number
}

/// Each page that the program touches is a fault.
#[test]
fn samples_are_taken_at_the_events_of_a_counter() {
    const PAGES: u64 = 20_000;
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    let samples = |by: &str, pages: u64| {
        let mut command = trace(&["record", "--strict", "--samples-by", by, "-o"]);
        command.arg(&output).arg("--").arg(subject_path());
        let run = Run::of(command.args(["counted", &pages.to_string(), "0"]));
        let is_forbidden = is_forbidden(&run);
        assert!(is_forbidden || run.code() == 0, "{run:?}");
        (!is_forbidden).then(|| number(&output))
    };
    for period in [1, 100] {
        let by = format!("page-faults:{period}");
        let (Some(idle), Some(busy)) = (samples(&by, 0), samples(&by, PAGES)) else { return };
        let (found, expected) = (busy - idle, PAGES / period);
        assert!(found.abs_diff(expected) <= expected / 20 + 5, "{found} instead of {expected}");
    }
    // The kernel adapts the period.
    assert!(samples("page-faults", PAGES).is_some_and(|number| number > 0));
}

#[test]
fn a_rate_without_an_equals_sign_has_a_hint() {
    let directory = tempfile::tempdir().unwrap();
    let mut record = trace(&["record", "--samples", "4000", "-o"]);
    let run = Run::of(record.arg(directory.path().join("t.fxt")).args(["--", "true"]));
    assert_eq!(run.code(), 127, "{run:?}");
    assert!(run
        .stderr()
        .contains("hint: the value of --samples has an equals sign: --samples=4000"));
}

#[test]
fn two_rates_of_samples_are_refused() {
    let options = ["record", "--samples=99", "--samples-by=page-faults:1", "-o", "/dev/null"];
    let run = Run::of(trace(&options).args(["--", "true"]));
    assert_eq!(run.code(), 125, "{run:?}");
    assert!(run.stderr().contains("hint: leave out one of them"), "{run:?}");
}

/// The kernel's limit of samples, which is restored when this is dropped.
struct RateLimit(String);

impl RateLimit {
    const PATH: &str = "/proc/sys/kernel/perf_event_max_sample_rate";

    /// Sets the limit. Returns `None` if this process may not.
    fn set(limit: &str) -> Option<Self> {
        let before = std::fs::read_to_string(Self::PATH).ok()?;
        std::fs::write(Self::PATH, limit).ok()?;
        Some(Self(before))
    }
}

impl Drop for RateLimit {
    fn drop(&mut self) {
        std::fs::write(Self::PATH, &self.0).unwrap();
    }
}

/// 10,000 samples a second of a thread, of which the kernel permits fewer than a half. The samples
/// of other tests are below the limit.
#[test]
fn paused_sampling_is_reported() {
    let Some(_limit) = RateLimit::set("4000") else {
        return eprintln!("skipped: cannot set the limit of samples");
    };
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    let mut command = trace(&["record", "--strict", "--samples-by=task-clock:100000", "-o"]);
    command.arg(&output).arg("--").arg(subject_path());
    let run = Run::of(command.args(["sampled", "300"]));
    if is_forbidden(&run) {
        return;
    }
    assert_eq!(run.code(), 3, "{run:?}");
    assert!(run.stderr().contains("the kernel paused sampling"), "{run:?}");
    let archive = Archive::read(&output);
    let kernel = archive.providers.iter().find(|provider| provider.name == "kernel").unwrap();
    assert!(!kernel.losses.is_empty());
    for loss in &kernel.losses {
        assert_eq!(loss.texts["reason"], "sampling throttled: at least one");
        assert!(loss.numbers["from"] < loss.numbers["to"], "{loss:?}");
        assert!(kernel.thread_names[&loss.thread][0].starts_with("CPU "), "{loss:?}");
    }
    assert!(number(&output) > 0, "it continues");
}

/// Most virtual machines have none, which is reported.
#[test]
fn branches_are_recorded_or_reported_missing() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    let mut command = trace(&["record", "--strict", "--last-branches", "-o"]);
    command.arg(&output).args([
        "--",
        "sh",
        "-c",
        "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done",
    ]);
    let run = Run::of(&mut command);
    if run.stderr().contains("perf_event_open failed") {
        return super::lacks("perf events");
    }
    let missing = run.stderr().contains("the branches before samples are not recorded");
    assert_eq!(run.code(), if missing { 3 } else { 0 }, "{run:?}");
    let mut reader = Reader::new(std::fs::File::open(&output).unwrap());
    let (mut blobs, mut samples) = (0, 0);
    while let Some(item) = reader.next().unwrap() {
        match &item.record {
            Record::Blob(blob) if blob.blob_type == BlobType::LAST_BRANCH => blobs += 1,
            Record::Backtrace(_) => samples += 1,
            _ => {}
        }
    }
    assert!(samples > 0);
    assert_eq!(blobs == 0, missing, "{blobs} blobs");
}
