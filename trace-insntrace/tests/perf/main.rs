//! perf finds the executed instructions in exported recordings.
//!
//! Tests that require `perf` with its decoder of Intel PT (Debian: `linux-perf`) are ignored by
//! default. `.ci/insntrace` runs them.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod cpus;
mod exported;
#[path = "../common/programs.rs"]
mod programs;
mod snapshots;
#[path = "../common/stepped.rs"]
mod stepped;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use exported::Exported;
use stepped::Stepped;
use tempfile::TempDir;
use trace_insntrace::flow::Item;
use trace_insntrace::perf_data;
use trace_insntrace::pt::Writer;
use trace_insntrace::recording::{self, Clock, Recording, TraceDecoder, TraceId};
use trace_insntrace::step::{Engine, Options, Traced, TracedCalls, Tracer};
use trace_protocol::clock;

/// A recording in files.
struct Recorded {
    folder: TempDir,
    run: Stepped,
}

impl Recorded {
    fn new(command: &mut Command) -> Self {
        Self::of(stepped::trace(command.stdout(Stdio::null()), options()).0)
    }

    fn of(run: Stepped) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock { now: clock::ticks, ticks_per_second: 2_000_000_000 };
        let directory = folder.path().join("recording");
        let mut files = recording::Writer::create(&directory, clock, "").unwrap();
        run.notes.iter().for_each(|note| files.note(note).unwrap());
        for (trace, packets) in &run.packets {
            files.packets(*trace, packets).unwrap();
        }
        files.flush().unwrap();
        Self { folder, run }
    }

    fn recording(&self) -> Recording {
        Recording::open(&self.folder.path().join("recording")).unwrap()
    }

    fn export(&self) -> PathBuf {
        let path = self.folder.path().join("perf.data");
        let (recording, file) = (self.recording(), File::create(&path).unwrap());
        let code = self.folder.path().join("code");
        let (_, code) = perf_data::write(&recording, &recording.traces(), file, &code).unwrap();
        code.complete().unwrap();
        path
    }
}

fn options() -> Options {
    Options { clock: clock::ticks, ..stepped::options(Writer::new()) }
}

/// Returns the instructions that perf decodes, by thread.
fn theirs(file: &Path) -> BTreeMap<u32, Vec<u64>> {
    instructions_of_perf(file.as_os_str(), Stdio::null())
}

fn instructions_of_perf(file: &OsStr, input: Stdio) -> BTreeMap<u32, Vec<u64>> {
    let mut command = Command::new("perf");
    command.args(["script", "--itrace=i1i", "-F", "tid,ip", "-i"]).arg(file);
    let output = command.stdin(input).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !errors.contains("error"), "{errors}");
    let mut found = BTreeMap::<_, Vec<_>>::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let mut fields = line.split_whitespace();
        let tid = fields.next().unwrap().parse().unwrap();
        let ip = u64::from_str_radix(fields.next().unwrap(), 16).unwrap();
        found.entry(tid).or_default().push(ip);
    }
    found
}

#[track_caller]
fn assert_perf_agrees(recorded: &Recorded) {
    recorded.run.check();
    let mut theirs = theirs(&recorded.export());
    for trace in recorded.recording().traces() {
        let ours = recorded.run.executed_by(trace.id);
        let found = theirs.remove(&trace.tid).unwrap_or_default();
        let first = found.iter().zip(&ours).position(|(found, ours)| found != ours);
        let around = first.map(|at| (at, found[at], ours[at]));
        assert_eq!((around, found.len()), (None, ours.len()), "{trace:?}");
    }
    assert!(theirs.is_empty());
}

#[test]
#[ignore = "needs perf"]
fn perf_finds_the_instructions_of_a_program_with_signals_and_code_that_changes() {
    assert_perf_agrees(&Recorded::new(&mut Command::new(stepped::program("program.c"))));
}

#[test]
#[ignore = "needs perf"]
fn perf_finds_the_rounds_of_direct_jumps() {
    for circle in ["two", "four", "several", "inside", "call"] {
        let mut command = Command::new(stepped::program("circles.c"));
        assert_perf_agrees(&Recorded::new(command.args([circle, "alarms"])));
    }
}

#[test]
#[ignore = "needs perf"]
fn perf_finds_the_instructions_of_calls() {
    let mut command = Command::new(stepped::program("parts.c"));
    let mut tracer = Tracer::start(&mut command, options()).unwrap();
    let of = Traced::Function("left".into());
    tracer.trace_calls(TracedCalls { of, nth: None, has_breakpoints: true });
    assert_perf_agrees(&Recorded::of(stepped::finish(&mut tracer)));
}

#[test]
#[ignore = "needs perf"]
fn perf_finds_the_instructions_of_threads() {
    assert_perf_agrees(&Recorded::new(&mut Command::new(stepped::program("threads.c"))));
}

#[test]
#[ignore = "needs perf"]
fn perf_finds_the_instructions_of_children_and_other_programs() {
    assert_perf_agrees(&Recorded::new(&mut pipe()));
}

#[test]
#[ignore = "needs perf"]
fn perf_finds_the_instructions_of_published_programs_whole_and_in_rings() {
    for (name, both) in programs::stepped(clock::ticks) {
        println!("{name}");
        assert_perf_agrees(&Recorded::of(both.whole));
        assert_perf_agrees(&Recorded::of(both.ring));
    }
}

#[test]
#[ignore = "needs perf"]
fn perf_finds_the_instructions_of_a_script() {
    assert_perf_agrees(&Recorded::of(programs::script(clock::ticks)));
}

#[test]
#[ignore = "needs perf"]
fn perf_finds_the_instructions_of_threads_signals_and_children_in_rings() {
    for engine in [Engine::Step, Engine::Block] {
        let both = programs::attached(clock::ticks, engine);
        assert_perf_agrees(&Recorded::of(both.whole));
        assert_perf_agrees(&Recorded::of(both.ring));
    }
}

#[test]
#[ignore = "needs perf, and a server"]
fn perf_finds_the_instructions_of_an_async_server_whole_and_in_rings() {
    let both = programs::async_server(clock::ticks);
    for recorded in [Recorded::of(both.whole), Recorded::of(both.ring)] {
        assert_perf_agrees(&recorded);
        assert_same_after_import(&recorded);
    }
}

/// A program that makes many system calls, with its exported file.
fn listed() -> (Recorded, Exported) {
    let mut list = Command::new("/bin/ls");
    list.args(["-l", "/"]).env_clear().stdout(Stdio::null());
    let settings = Options { engine: Engine::Block, psb_bytes: 512, ..options() };
    let recorded = Recorded::of(stepped::trace(&mut list, settings).0);
    let exported = Exported::parse(&std::fs::read(recorded.export()).unwrap());
    (recorded, exported)
}

/// Returns the instructions of each thread of a file of perf.
fn ours(file: &Path) -> BTreeMap<u32, Vec<u64>> {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("imported");
    let (recording, rest) = perf_data::read(File::open(file).unwrap(), &directory).unwrap();
    assert_eq!(rest, perf_data::Imported::default());
    recording.traces().into_iter().map(|trace| (trace.tid, decode(&recording, trace.id))).collect()
}

#[test]
#[ignore = "needs perf"]
fn perf_finds_the_same_instructions_in_snapshots() {
    let (recorded, exported) = listed();
    let file = recorded.folder.path().join("snapshots");
    let executed = recorded.run.executed_by(stepped::FIRST);
    // With overlaps, and with packets that are missing.
    for (size, distance, is_whole) in [(1 << 17, 1024, true), (2048, 8192, false)] {
        std::fs::write(&file, exported.clone().snapshots(size, distance).file()).unwrap();
        let (ours, theirs) = (ours(&file), theirs(&file));
        let [ours_of, theirs_of] =
            [&ours, &theirs].map(|it| it.values().cloned().collect::<Vec<_>>());
        let ([ours_of], [theirs_of]) = (&ours_of[..], &theirs_of[..]) else { panic!() };
        assert_eq!(ours.keys().next(), theirs.keys().next());
        let first = ours_of.iter().zip(theirs_of).position(|(one, other)| one != other);
        assert_eq!((first, ours_of.len()), (None, theirs_of.len()));
        assert_eq!(*ours_of == executed, is_whole, "{} of {}", ours_of.len(), executed.len());
        assert!(ours_of.len() > 1000);
    }
}

#[test]
#[ignore = "needs perf"]
fn perf_finds_the_same_instructions_in_the_output_of_a_pipe() {
    let (recorded, exported) = listed();
    let file = recorded.folder.path().join("pipe");
    std::fs::write(&file, exported.pipe()).unwrap();
    // Of a file as standard input, perf does not read records behind AUX data.
    let mut cat = Command::new("cat").arg(&file).stdout(Stdio::piped()).spawn().unwrap();
    let theirs = instructions_of_perf("-".as_ref(), cat.stdout.take().unwrap().into());
    assert!(cat.wait().unwrap().success());
    let executed = recorded.run.executed_by(stepped::FIRST);
    for found in [ours(&file), theirs] {
        let [found] = &found.into_values().collect::<Vec<_>>()[..] else { panic!() };
        let first = found.iter().zip(&executed).position(|(found, it)| found != it);
        assert_eq!((first, found.len()), (None, executed.len()));
    }
}

fn pipe() -> Command {
    let mut pipe = Command::new("/bin/sh");
    pipe.args(["-c", "printf 'b\\na\\n' | cat"]);
    pipe
}

fn decode(recording: &Recording, trace: TraceId) -> Vec<u64> {
    let packets = recording.packets(trace).unwrap();
    let mut decoder = TraceDecoder::new(recording.notes(), trace, packets);
    let mut found = Vec::new();
    while let Some(item) = decoder.next_item().unwrap() {
        if let Item::Instruction(instruction) = item.unwrap() {
            found.push(instruction.ip);
        }
    }
    found
}

/// A file of perf has the instructions of the recording that it was exported from.
#[track_caller]
fn assert_same_after_import(recorded: &Recorded) {
    let file = File::open(recorded.export()).unwrap();
    let directory = recorded.folder.path().join("imported");
    let (imported, rest) = perf_data::read(file, &directory).unwrap();
    assert_eq!(rest, perf_data::Imported::default());
    let traces = imported.traces();
    let mut executing = recorded.recording().traces();
    // A thread that only waits has no instructions, and is not in the file.
    executing.retain(|trace| !recorded.run.executed_by(trace.id).is_empty());
    assert_eq!(traces.len(), executing.len());
    for trace in executing {
        let same = traces.iter().find(|found| found.tid == trace.tid).unwrap();
        assert_eq!((same.pid, &same.name), (trace.pid, &trace.name));
        let found = decode(&imported, same.id);
        let executed = recorded.run.executed_by(trace.id);
        let first = found.iter().zip(&executed).position(|(found, it)| found != it);
        assert_eq!((first, found.len()), (None, executed.len()), "{trace:?}");
    }
}

#[test]
fn files_of_perf_have_the_instructions_of_threads_and_changing_code() {
    for source in ["threads.c", "program.c"] {
        assert_same_after_import(&Recorded::new(&mut Command::new(stepped::program(source))));
    }
}

#[test]
fn files_of_perf_have_the_instructions_of_children_and_other_programs() {
    assert_same_after_import(&Recorded::new(&mut pipe()));
}

#[test]
fn a_trace_without_time_stamps_is_not_exported() {
    let mut recorded = Recorded::new(&mut Command::new("/bin/true"));
    let options = Options { has_time: false, ..stepped::options(Writer::new()) };
    let (run, _) = stepped::trace(&mut Command::new("/bin/true"), options);
    let packets = &run.packets[&TraceId(0)];
    let path = recorded.folder.path().join("recording/insn.thr0.pt");
    std::fs::write(path, packets).unwrap();
    recorded.run = run;
    let recording = recorded.recording();
    let code = recorded.folder.path().join("code");
    let error = perf_data::write(&recording, &recording.traces(), Vec::new(), &code).unwrap_err();
    assert!(error.to_string().ends_with("has no time stamps"), "{error}");
    assert!(!code.exists());
}
