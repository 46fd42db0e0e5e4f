//! `trace insn`: outputs that fail, and what programs inherit.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
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

/// Returns the files of a directory, with their content.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
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
            format!("trace: cannot print the recording {name}: cannot write the output: no space left on device\n");
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

/// As `head` closes it.
#[test]
fn an_output_that_nobody_reads_is_no_error() {
    let folder = TempDir::new().unwrap();
    let directory = folder.path().join("recording");
    let name = directory.to_str().unwrap();
    record(name);
    for format in ["raw", "packets", "insns", "calls", "folded", "fxt", "chrome"] {
        let (closed, _) = UnixStream::pair().unwrap();
        let mut command = trace(&["print", name, "--format", format, "-o", "-"]);
        let (_, errors) = run(command.stdout(OwnedFd::from(closed)), 0);
        assert_eq!(errors, "", "{format}");
    }
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

/// Code that no file has, such as that of the vDSO, is in files of its own.
#[test]
fn a_failed_export_does_not_change_an_earlier_one() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (first, second, export) = (path("first"), path("second"), path("perf.data"));
    record(&first);
    record(&second);
    let print = |from: &str, code| {
        let arguments = ["print", from, "--format", "perf", "-o", &export];
        run(&mut trace(&arguments), code);
        (fs::read(&export).ok(), files(&folder.path().join("perf.data.code")))
    };
    let earlier = print(&first, 0);
    assert!(!earlier.1.is_empty());

    let packets = folder.path().join("second/insn.thr0.pt");
    let removed = folder.path().join("removed");
    fs::rename(&packets, &removed).unwrap();
    assert!(print(&second, 1) == earlier, "files are different");
    fs::rename(&removed, &packets).unwrap();
    let limited = "ulimit -f 1; exec \"$@\"";
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", limited, "sh", env!("CARGO_BIN_EXE_trace"), "insn", "print", &second]);
    run(shell.args(["--format", "perf", "-o", &export]), 1);
    let found = (fs::read(&export).ok(), files(&folder.path().join("perf.data.code")));
    assert!(found == earlier, "files are different");
    symlink("/dev/full", folder.path().join("full")).unwrap();
    run(&mut trace(&["print", &second, "--format", "perf", "-o", &path("full")]), 1);
    assert!(!folder.path().join("full.code").exists());

    let (replaced, code) = print(&second, 0);
    assert!(replaced != earlier.0);
    fs::remove_dir_all(folder.path().join("perf.data.code")).unwrap();
    assert!(print(&second, 0).1 == code, "there are files of the earlier export");
    let (_, printed) = run(&mut trace(&["print", &export]), 0);
    assert!(!printed.contains("no code of"), "{printed}");
}

/// The signals 32 and 33 are the C library's own, the others those that the tracer handles. All but
/// 1 to 3 depend on how the test is started.
#[test]
fn a_program_ignores_the_ignored_signals_that_the_caller_ignores() {
    let folder = TempDir::new().unwrap();
    let show = "grep SigIgn: /proc/self/status";
    let script = format!("trap '' HUP INT QUIT; {show}; exec \"$@\" {show}");
    for engine in ["step", "block"] {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_trace"), "insn", "record"]);
        shell.args(["--engine", engine, "--budget", "1000", "-o"]).arg(folder.path().join(engine));
        let (output, _) = run(shell.arg("--"), 0);
        let sets = output.lines().map(|line| line.trim_start_matches("SigIgn:").trim());
        let sets = sets.map(|set| u64::from_str_radix(set, 16).unwrap() & (3 << 31 | 0b111));
        let sets: Vec<_> = sets.collect();
        assert!(
            sets.len() == 2 && sets[0] == sets[1] && sets[0] & 0b111 == 0b111,
            "{engine}: {output}"
        );
    }
}
