//! `trace insn`: outputs that fail.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::fs;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

fn trace(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trace"));
    command.arg("insn").args(arguments).env("TRACE_CONFIG", "").stdin(Stdio::null());
    command
}

/// Runs a command, and returns its output and its messages.
#[track_caller]
fn run(command: &mut Command, code: i32) -> (String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let (output, errors) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
    assert_eq!(status.code(), Some(code), "{errors}");
    (output, errors)
}

/// Records a short program.
fn record(directory: &str) {
    let program = ["--engine", "block", "--budget", "3000", "--", "/bin/echo"];
    run(trace(&["record", "-o", directory]).args(program), 0);
}

#[test]
fn an_error_of_an_output_has_its_reason_once() {
    let folder = TempDir::new().unwrap();
    let directory = folder.path().join("recording");
    let name = directory.to_str().unwrap();
    record(name);
    for format in ["calls", "insns", "folded"] {
        let (_, errors) =
            run(&mut trace(&["print", name, "--format", format, "-o", "/dev/full"]), 1);
        let expected =
            format!("trace: cannot print the recording {name}: no space left on device\n");
        assert_eq!(errors, expected, "{format}");
    }
    let (_, errors) = run(&mut trace(&["print", name, "--format", "fxt", "-o", "/dev/full"]), 1);
    let expected = format!("{name}: cannot write the trace: no space left on device\n");
    assert!(errors.ends_with(&expected), "{errors}");

    fs::remove_file(directory.join("insn.thr0.pt")).unwrap();
    let (_, errors) = run(&mut trace(&["print", name]), 1);
    let expected = format!(
        "trace: cannot print the recording {name}: {name}/insn.thr0.pt: no such file or directory\n"
    );
    assert_eq!(errors, expected);
}

#[test]
fn a_recording_that_fails_has_its_reason() {
    let folder = TempDir::new().unwrap();
    let directory = folder.path().join("recording");
    let limited = "ulimit -f 1; exec \"$@\"";
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", limited, "sh", env!("CARGO_BIN_EXE_trace"), "insn", "record", "-o"]);
    let (_, errors) = run(shell.arg(&directory).args(["--", "/bin/true"]), 125);
    let expected = format!(
        "trace: cannot record in {}: insn.side.fxt: cannot write the trace: file too large\n",
        directory.display()
    );
    assert_eq!(errors, expected);
}
