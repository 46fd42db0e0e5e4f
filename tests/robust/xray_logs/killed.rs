//! SIGKILL in the middle of calls: every entry and exit that was committed is in the log.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::path::{Path, PathBuf};
use std::process::Child;

use rustix::process::{kill_process, Pid, Signal};
use tempfile::TempDir;

use super::{logs, numbers_of, Log};
use crate::harness::{subject, subject_path, trace, wait_until, Run, MODES};
use crate::{llvm_tools, sleds};

/// The functions of a program that counts its calls, the outer one first.
type Functions = [&'static str; 2];

/// The functions with trace points.
const WITH_POINTS: Functions = ["called", "inside"];

/// The functions with sleds.
const WITH_SLEDS: Functions = ["main::counting::called", "main::counting::inside"];

/// The sums over two threads: begun calls, inner calls that have ended, and ended calls.
type Numbers = [u64; 3];

/// Returns the numbers that a program has published.
fn published(file: &Path) -> Numbers {
    let bytes = fs::read(file).unwrap_or_default();
    let numbers = bytes.chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap()));
    let numbers: Vec<u64> = numbers.collect();
    [0, 1, 2].map(|index| numbers.iter().skip(index).step_by(3).sum())
}

/// What is killed, in this order.
#[derive(Clone, Copy, Debug)]
enum Victims {
    Program,
    Manager,
    ProgramAndManager,
    ManagerAndProgram,
}

const VICTIMS: [Victims; 4] =
    [Victims::Program, Victims::Manager, Victims::ProgramAndManager, Victims::ManagerAndProgram];

/// A recording of a program that counts its calls in two threads.
struct Recording {
    directory: TempDir,
    recorder: Child,
}

impl Recording {
    /// Starts it. Returns after this many calls.
    fn start(program: &Path, mode: &str, options: &[&str], calls: u64) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let place = |name: &str| directory.path().join(name);
        // Others must hold all calls.
        let size = if mode == "streaming" { "1M" } else { "64M" };
        let mut record = trace(&["record", "--format", "xray", "-m", mode, "-b", size]);
        let script = "echo $$ >\"$1\"; exec \"$0\" count-calls \"$2\" 2";
        record.args(options).arg("-o").arg(place("logs")).args(["--", "sh", "-c", script]);
        record.arg(program).arg(place("pid")).arg(place("numbers"));
        let recording = Self { recorder: record.spawn().unwrap(), directory };
        wait_until("calls", || recording.published()[2] > calls);
        recording
    }

    fn published(&self) -> Numbers {
        published(&self.directory.path().join("numbers"))
    }

    fn kill_program(&self) {
        let pid = fs::read_to_string(self.directory.path().join("pid")).unwrap_or_default();
        let pid = pid.trim().parse().ok().and_then(Pid::from_raw);
        // It may be dead.
        let _ended = pid.map(|pid| kill_process(pid, Signal::Kill));
    }

    fn kill_manager(&mut self) {
        self.recorder.kill().unwrap();
        self.recorder.wait().unwrap();
    }

    /// Kills the victims. Returns the numbers of what was recorded for certain.
    fn kill(&mut self, victims: Victims) -> Numbers {
        let before = self.published();
        match victims {
            Victims::Program => {
                self.kill_program();
                self.published()
            }
            Victims::Manager => {
                self.kill_manager();
                before
            }
            Victims::ProgramAndManager => {
                self.kill_program();
                let dead = self.published();
                self.kill_manager();
                dead
            }
            Victims::ManagerAndProgram => {
                self.kill_manager();
                self.kill_program();
                before
            }
        }
    }

    /// Returns the log, when it is complete.
    fn log(&self) -> PathBuf {
        let directory = self.directory.path().join("logs");
        let names = || fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name());
        let is_hidden = |name: std::ffi::OsString| name.as_encoded_bytes().starts_with(b".");
        wait_until("a log", || names().count() > 1 && !names().any(is_hidden));
        let [log] = &logs(&directory)[..] else { panic!("{:?}", names().collect::<Vec<_>>()) };
        log.clone()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.kill_program();
        let _ended = (self.recorder.kill(), self.recorder.wait());
    }
}

/// Checks a number of records of a program whose two threads were killed in a call, or between two.
/// `known` is what was published when they were alive, and `last` in the end.
#[track_caller]
fn check(what: &str, recorded: u64, [known, last]: [u64; 2], dropped: u64) {
    let expected = known.saturating_sub(dropped)..=last + 2;
    assert!(expected.contains(&recorded), "{recorded} {what}, expected {expected:?}");
}

/// Checks the calls that this crate reads.
#[track_caller]
fn check_log(log: &Log, functions: Functions, known: Numbers, last: Numbers, context: &str) {
    let [[outer, entries], [inside, _]] = functions.map(|function| numbers_of(log, function));
    let recorded = [("entries", entries), ("inner calls", inside), ("calls", outer)];
    for ((what, recorded), (known, last)) in recorded.into_iter().zip(known.into_iter().zip(last)) {
        check(&format!("{context}: {what}"), recorded, [known, last], log.dropped);
    }
}

#[test]
fn logs_of_killed_programs_have_each_call() {
    for (mode, round) in (0..6).flat_map(|round| [("streaming", round), ("oneshot", round)]) {
        let mut recording = Recording::start(&subject_path(), mode, &[], 500 + 137 * round);
        let known = recording.kill(Victims::Program);
        let log = Log::read(&recording.log());
        check_log(&log, WITH_POINTS, known, recording.published(), mode);
    }
}

/// How often each case of [`check_with_llvm`] is killed: a number, from the environment.
const ROUNDS: &str = "KILL_ROUNDS";

/// Returns a number of calls after which a recording is killed. Another one each time.
fn moment() -> u64 {
    1000 + RandomState::new().build_hasher().finish() % 50_000
}

/// LLVM's tools have the entries and exits that this reader has, and that were committed.
fn check_with_llvm(program: &Path, options: &[&str], functions: Functions) {
    let mut exact = 0;
    let rounds = std::env::var(ROUNDS).map_or(1, |rounds| rounds.parse().unwrap());
    let cases = MODES.into_iter().flat_map(|mode| VICTIMS.map(|it| (mode, it)));
    for (mode, victims) in (0..rounds).flat_map(|_| cases.clone()) {
        let calls = moment();
        let context = format!("{functions:?}, {mode}, {victims:?}, after {calls} calls");
        let mut recording = Recording::start(program, mode, options, calls);
        let known = recording.kill(victims);
        let path = recording.log();
        let (log, last) = (Log::read(&path), recording.published());
        check_log(&log, functions, known, last, &context);
        let ours = functions.map(|function| numbers_of(&log, function));
        let theirs = llvm_tools::exits_and_entries(&path, functions);
        // A call whose exit was dropped ends with its caller.
        if log.dropped == 0 {
            assert_eq!(theirs, ours, "{context}");
            exact += 1;
        }
    }
    assert!(exact > 0, "records were dropped in each recording");
}

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn llvm_has_each_call_of_killed_recordings() {
    check_with_llvm(&subject_path(), &[], WITH_POINTS);
}

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn llvm_has_each_call_of_killed_recordings_with_sleds() {
    let list = WITH_SLEDS.join(",");
    check_with_llvm(sleds::program(), &["--xray", "--functions", &list], WITH_SLEDS);
}

/// The guard has the option of the killed recording: only calls without an end are in the log.
#[test]
fn logs_of_a_killed_manager_lack_shorter_calls() {
    let options = ["--min-duration", "1h"];
    let mut recording = Recording::start(&subject_path(), "streaming", &options, 1000);
    recording.kill(Victims::Manager);
    let log = Log::read(&recording.log());
    assert!(log.calls.is_empty(), "{:?}", log.calls);
    let [[_, outer], [_, inner]] = WITH_POINTS.map(|function| numbers_of(&log, function));
    assert!(outer <= 2 && inner <= outer, "{outer} {inner}");
}

/// The buffer of a killed one is a file.
#[test]
fn logs_of_killed_processes_that_trace_themselves_are_recovered() {
    for mode in ["streaming", "oneshot"] {
        let directory = tempfile::tempdir().unwrap();
        let output = directory.path().join("logs");
        let numbers = directory.path().join("numbers");
        let mut program = subject(&["count-calls", numbers.to_str().unwrap(), "2"])
            .env("TRACE_OUTPUT", &output)
            .env("TRACE_FORMAT", "xray")
            .env("TRACE_BUFFERING_MODE", mode)
            .spawn()
            .unwrap();
        wait_until("calls", || published(&numbers)[2] > 1000);
        program.kill().unwrap();
        program.wait().unwrap();
        let recover = Run::of(trace(&["recover"]).arg(&output));
        assert!(recover.stderr().contains(".xray is recovered"), "{recover:?}");
        let [path] = &logs(&output)[..] else { panic!("{recover:?}") };
        let last = published(&numbers);
        check_log(&Log::read(path), WITH_POINTS, last, last, mode);
    }
}
