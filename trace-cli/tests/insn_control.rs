//! `trace insn init` to `reset`: a trace that is controlled step by step.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

/// A runtime directory with controllers, which end with it.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Runs `trace insn`, and returns its output, or its messages if it fails.
    #[track_caller]
    fn insn(&self, arguments: &[&str], code: i32) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trace"));
        command.arg("insn").args(arguments).stdin(Stdio::null());
        command.env("XDG_RUNTIME_DIR", self.0.path()).env("TRACE_CONFIG", "");
        let output = command.env_remove("TRACE_SOCKET").output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{errors}");
        if code == 0 {
            String::from_utf8(output.stdout).unwrap()
        } else {
            errors
        }
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

/// Starts a program that computes for each line of its input.
fn target() -> Child {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "echo x; while read -r n; do n=$((n + 1)); done; exit 6"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0; 2]).unwrap();
    child
}

fn is_traced(child: &Child) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    !status.contains("TracerPid:\t0\n")
}

fn finish(mut child: Child) {
    assert!(!is_traced(&child));
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(6));
}

#[test]
fn a_thread_is_traced_dumped_and_printed() {
    let (place, mut child) = (Place::new(), target());
    let thread = &*child.id().to_string();
    place.insn(&["init", "--num-traces", "2"], 0);
    assert!(place.insn(&["init"], 1).contains("hint: end it with `trace insn reset`"));
    assert_eq!(place.insn(&["alloc"], 0), "0\n");
    assert!(place.insn(&["assign", "0", "4194305"], 1).contains("NOT_FOUND"));
    place.insn(&["assign", "0", thread], 0);
    let off = "mode thread, at most 2 buffers, tracing is off\n";
    assert!(place.insn(&["state"], 0).starts_with(off));
    place.insn(&["start"], 0);
    assert!(is_traced(&child));
    assert!(place.insn(&["state"], 0).starts_with(&off.replace("off", "on")));
    child.stdin.as_mut().unwrap().write_all("1\n".repeat(20).as_bytes()).unwrap();
    while place.insn(&["state"], 0).contains("capture end 0\n") {
        thread::sleep(Duration::from_millis(10));
    }
    let folder = place.0.path().join("recording");
    let folder = folder.to_str().unwrap();
    assert!(place.insn(&["dump", "-o", folder], 1).contains("trace insn stop"));
    place.insn(&["stop"], 0);
    assert!(!is_traced(&child));
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
    finish(child);
}

#[test]
fn reset_releases_threads() {
    let (place, child) = (Place::new(), target());
    place.insn(&["init"], 0);
    place.insn(&["alloc", "--circular"], 0);
    place.insn(&["assign", "0", &child.id().to_string()], 0);
    place.insn(&["start"], 0);
    place.insn(&["reset"], 0);
    finish(child);
    let missing = place.insn(&["state"], 1);
    assert!(missing.contains("hint: start it with `trace insn init`"), "{missing}");
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
