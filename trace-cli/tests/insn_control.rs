//! `trace insn init` to `reset`: a trace that is controlled step by step.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "../../trace-insntrace/tests/common/panicking.rs"]
mod panicking;
#[path = "../../trace-insntrace/tests/common/target.rs"]
mod target;

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};

use panicking::{Method, Panicking};
use rustix::process::{kill_process, Pid, Signal};
use target::{wait_until, Target};
use tempfile::TempDir;
use trace_insntrace::controller::{Allocation, Mode};
use trace_insntrace::service::{Client, Lifetime, Service};
use trace_insntrace::step::Engine;

/// A runtime directory with controllers, which end with it.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Runs `trace insn`, and returns its output, or its messages if it fails.
    #[track_caller]
    fn insn(&self, arguments: &[&str], code: i32) -> String {
        let (found, text) = self.run(arguments);
        assert_eq!(found, Some(code), "{text}");
        text
    }

    /// Returns the number of bytes in the only buffer.
    #[track_caller]
    fn capture_end(&self) -> u64 {
        let state = self.insn(&["state"], 0);
        let (_, end) = state.split_once("capture end ").expect(&state);
        end.split(|it: char| !it.is_ascii_digit()).next().unwrap().parse().unwrap()
    }

    /// Runs `trace insn`, and returns its exit status with its output, or its messages if it fails.
    fn run(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trace"));
        command.arg("insn").args(arguments).stdin(Stdio::null());
        command.env("XDG_RUNTIME_DIR", self.0.path()).env("TRACE_CONFIG", "");
        let output = command.env_remove("TRACE_SOCKET").output().unwrap();
        let text = if output.status.success() { output.stdout } else { output.stderr };
        (output.status.code(), String::from_utf8(text).unwrap())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if thread::panicking() {
            let mut command = Command::new(env!("CARGO_BIN_EXE_trace"));
            let _ = command.args(["insn", "reset"]).env("XDG_RUNTIME_DIR", self.0.path()).output();
        }
    }
}

#[test]
fn a_thread_is_traced_dumped_and_printed() {
    let (place, mut target) = (Place::new(), Target::start());
    let thread = &*target.thread().0.to_string();
    place.insn(&["init", "--num-traces", "2"], 0);
    assert!(place.insn(&["init"], 1).contains("hint: end it with `trace insn reset`"));
    assert_eq!(place.insn(&["alloc"], 0), "0\n");
    assert!(place.insn(&["assign", "0", "4194305"], 1).contains("NOT_FOUND"));
    place.insn(&["assign", "0", thread], 0);
    let off = "mode thread, at most 2 buffers, tracing is off\n";
    assert!(place.insn(&["state"], 0).starts_with(off));
    place.insn(&["start"], 0);
    assert!(target.is_traced());
    assert!(place.insn(&["state"], 0).starts_with(&off.replace("off", "on")));
    target.write_lines(20);
    wait_until(|| place.capture_end() > 1000);
    let folder = place.0.path().join("recording");
    let folder = folder.to_str().unwrap();
    assert!(place.insn(&["dump", "-o", folder], 1).contains("trace insn stop"));
    place.insn(&["stop"], 0);
    assert!(!target.is_traced());
    place.insn(&["dump", "-o", folder], 0);
    let printed = place.insn(&["print", folder, "--format", "insns"], 0);
    assert!(printed.lines().count() > 1000);
    assert!(place.insn(&["terminate"], 1).contains("hint: release all threads"));
    assert!(place.insn(&["free", "0"], 1).contains("`trace insn release`"));
    assert!(place.insn(&["assign", "0", thread], 1).contains("hint: the buffer has a thread"));
    place.insn(&["release", "0", thread], 0);
    place.insn(&["free", "0"], 0);
    place.insn(&["terminate"], 0);
    assert_eq!(place.insn(&["state"], 0), "no trace\n");
    for call in [&["alloc"][..], &["start"], &["free", "0"], &["dump", "-o", folder]] {
        let refused = place.insn(call, 1);
        assert!(refused.contains("`trace insn reset`, then `trace insn init`"), "{refused}");
    }
    place.insn(&["reset"], 0);
    target.finish();
}

#[test]
fn a_buffer_that_is_full_is_reported() {
    let (place, mut target) = (Place::new(), Target::start());
    place.insn(&["init"], 0);
    place.insn(&["alloc", "--num-chunks", "1", "--chunk-order", "0"], 0);
    place.insn(&["assign", "0", &target.thread().0.to_string()], 0);
    place.insn(&["start"], 0);
    assert!(!place.insn(&["state"], 0).contains("missing"));
    target.write_lines(300);
    wait_until(|| !target.is_traced());
    let state = place.insn(&["state"], 0);
    assert!(state.ends_with(", full: later packets are missing\n"), "{state}");
    place.insn(&["reset"], 0);
    target.finish();
}

#[test]
fn reset_releases_threads() {
    let (place, target) = (Place::new(), Target::start());
    place.insn(&["init"], 0);
    place.insn(&["alloc", "--circular"], 0);
    place.insn(&["assign", "0", &target.thread().0.to_string()], 0);
    place.insn(&["start"], 0);
    place.insn(&["reset"], 0);
    target.finish();
    let missing = place.insn(&["state"], 1);
    assert!(missing.contains("hint: start it with `trace insn init`"), "{missing}");
}

/// Returns a number in the status of a process.
fn status(process: u64, name: &str) -> i32 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap().trim().parse().unwrap()
}

#[test]
fn a_killed_controller_releases_threads() {
    let (place, mut target) = (Place::new(), Target::start());
    place.insn(&["init"], 0);
    place.insn(&["alloc", "--circular"], 0);
    place.insn(&["assign", "0", &target.thread().0.to_string()], 0);
    place.insn(&["start"], 0);
    target.write_lines(1000);
    // Its tracer is a thread of the process that traces.
    let tracer = status(target.thread().0, "TracerPid:");
    let held = status(tracer as u64, "PPid:");
    kill_process(Pid::from_raw(held).unwrap(), Signal::Kill).unwrap();
    wait_until(|| !target.is_traced());
    target.finish();
    wait_until(|| place.run(&["state"]).0 == Some(1));
}

#[test]
fn wrong_uses_are_errors() {
    let place = Place::new();
    assert!(place.insn(&["start"], 1).contains("does not run"));
    let cpus = place.insn(&["init", "--mode", "cpu"], 1);
    assert!(cpus.contains("NOT_SUPPORTED") && cpus.contains("\nhint: "), "{cpus}");
    assert!(place.insn(&["init", "--num-traces", "65"], 1).contains("INVALID_ARGS"));
    place.insn(&["init", "--name", "a/b"], 2);
    place.insn(&["init", "--memory", "1"], 0);
    let start = place.insn(&["start"], 1);
    assert!(start.contains("BAD_STATE") && start.contains("`trace insn alloc`"), "{start}");
    assert!(place.insn(&["alloc", "--num-chunks", "0"], 1).contains("INVALID_ARGS"));
    assert!(place.insn(&["alloc", "--num-chunks", "4096"], 1).contains("NO_MEMORY"));
    assert!(place.insn(&["alloc", "--cr3-match", "0x1000"], 1).contains("NOT_SUPPORTED"));
    place.insn(&["alloc", "--range", "2..1"], 2);
    place.insn(&["reset"], 0);
}

/// A controller whose back end panics in one method, with a thread to trace.
struct Failing {
    place: Place,
    service: JoinHandle<std::io::Result<()>>,
    target: Target,
    code: Vec<u8>,
}

impl Failing {
    fn start(engine: Engine, method: Method) -> Self {
        let place = Place::new();
        let socket = place.0.path().join("trace/insn-default.sock");
        std::fs::create_dir(socket.parent().unwrap()).unwrap();
        let backend = Panicking::new(engine, method);
        let service = Service::bind_backend(&socket, Lifetime::Service, backend).unwrap();
        let service = thread::spawn(|| service.run());
        let client = Client::connect(&socket).unwrap();
        client.initialize(Allocation { mode: Mode::Thread, num_traces: 1 }).unwrap();
        let target = Target::start();
        let code = target.code();
        Self { place, service, target, code }
    }

    /// Makes calls up to the one that panics, and returns it.
    fn call_until_panic(&mut self, calls: &[&'static str]) -> &'static str {
        let thread = self.target.thread().0.to_string();
        let folder: PathBuf = self.place.0.path().join("recording");
        let folder = folder.to_str().unwrap().to_owned();
        for call in calls {
            let arguments = match *call {
                "assign" | "release" => vec![*call, "0", &thread],
                "free" => vec![*call, "0"],
                "dump" => vec![*call, "-o", &folder],
                _ => vec![*call],
            };
            let (code, text) = self.place.run(&arguments);
            if code != Some(0) {
                assert_eq!(code, Some(1), "{text}");
                let ended =
                    "the service has ended, or has closed the connection\nhint: no thread is";
                assert!(text.starts_with("trace: cannot ") && text.contains(ended), "{text}");
                return call;
            }
            if *call == "start" {
                assert!(self.target.is_traced());
                self.target.write_lines(20);
                // In the block engine, code has breakpoints from then on.
                wait_until(|| !self.place.run(&["state"]).1.contains("capture end 0\n"));
            }
        }
        panic!("no call of {calls:?} has failed");
    }

    /// Checks that the controller has ended, and that the program continues as it was.
    fn end(self) {
        wait_until(|| self.service.is_finished());
        let error = self.service.join().expect("the error is returned").unwrap_err();
        assert_eq!(error.to_string(), "a call has panicked");
        assert!(self.place.insn(&["state"], 1).contains("does not run"));
        assert!(self.target.code() == self.code, "no breakpoint is left");
        self.target.finish();
    }
}

#[test]
fn a_panic_of_the_controller_is_reported_and_the_program_continues() {
    const CALLS: [&str; 7] = ["alloc", "assign", "start", "stop", "dump", "release", "free"];
    for engine in [Engine::Step, Engine::Block] {
        for (method, call) in [
            (Method::Allocate, "alloc"),
            (Method::Assign, "assign"),
            (Method::Start, "start"),
            (Method::Stop, "stop"),
            (Method::SideData, "dump"),
            (Method::Chunk, "dump"),
            (Method::Release, "release"),
            (Method::Free, "free"),
        ] {
            let mut failing = Failing::start(engine, method);
            assert_eq!(failing.call_until_panic(&CALLS), call, "{method:?}");
            failing.end();
        }
        let mut failing = Failing::start(engine, Method::State);
        assert_eq!(failing.call_until_panic(&["alloc", "state"]), "state");
        failing.end();
    }
}

#[test]
fn a_panic_while_the_controller_is_closed_is_reported_and_the_program_continues() {
    for engine in [Engine::Step, Engine::Block] {
        for method in [Method::Stop, Method::Release, Method::Free] {
            let mut failing = Failing::start(engine, method);
            let calls = ["alloc", "assign", "start", "reset"];
            assert_eq!(failing.call_until_panic(&calls), "reset", "{method:?}");
            failing.end();
        }
    }
}
