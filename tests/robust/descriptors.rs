//! The tracer touches no descriptor of the program, even if the program closes or reuses all of its
//! descriptors.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::harness::{record, subject, wait_until, Archive, Provider, Run, Session};

/// Where the program closes its descriptors: itself, in a forked child, or in a forked child that
/// is a provider too.
const WAYS: [&str; 3] = ["self", "child", "child init"];

/// Checks that the files of the program have only its own bytes.
#[track_caller]
fn check_files(directory: &Path, when: &str) {
    for index in 0..64 {
        let bytes = std::fs::read(directory.join(format!("own-{index}"))).unwrap();
        let own = format!("own {index}\n");
        assert_eq!(bytes.len(), own.len(), "{when}: own-{index}");
        assert_eq!(bytes, own.as_bytes(), "{when}: own-{index}");
    }
}

/// Checks that each event is in the archive or counted as lost.
#[track_caller]
fn check_load(provider: &Provider, when: &str) {
    let found = provider.count("load") as u64;
    assert_eq!(found + provider.lost(), 100_000, "{when}");
    assert!(found > 1000, "{when}: the program is traced all the time: {found} events");
}

fn role<'a>(how: &'a str, files: &'a TempDir) -> [&'a str; 3] {
    ["close-all", how, files.path().to_str().unwrap()]
}

fn run(command: &mut Command, files: &TempDir, when: &str) {
    let run = Run::of(command);
    assert_eq!(run.0.status.code(), Some(0), "{when}: {run:?}");
    check_files(files.path(), when);
}

#[test]
fn a_program_without_a_manager_closes_and_reuses_all_descriptors() {
    for how in WAYS {
        let files = tempfile::tempdir().unwrap();
        run(&mut subject(&role(how, &files)), &files, how);
    }
}

#[test]
fn a_program_that_traces_itself_closes_and_reuses_all_descriptors() {
    for how in WAYS {
        let (files, output) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = output.path().join("out.fxt");
        let mut program = subject(&role(how, &files));
        program.env("TRACE_OUTPUT", &path).env("TRACE_BUFFER_SIZE", "256K");
        run(&mut program, &files, how);
        let archive = Archive::read(&path);
        assert_eq!(archive.only().count("before"), 1, "{how}");
        match how {
            "self" => check_load(archive.only(), how),
            _ => assert_eq!(archive.only().count("after"), 1, "{how}"),
        }
    }
}

#[test]
fn a_program_with_a_manager_closes_and_reuses_all_descriptors() {
    for how in WAYS {
        let files = tempfile::tempdir().unwrap();
        let session = Session::start("streaming", 1 << 20);
        run(&mut session.subject(&role(how, &files)), &files, how);
        let (archive, _) = session.end();
        assert_eq!(archive.providers[0].count("before"), 1, "{how}");
        match how {
            "self" => check_load(archive.only(), how),
            "child" => assert_eq!(archive.only().count("after"), 1),
            _ => {
                assert_eq!(archive.providers[0].count("after"), 1);
                check_load(&archive.providers[1], how);
            }
        }
    }
}

#[test]
fn a_recorded_command_closes_and_reuses_all_descriptors() {
    for how in WAYS {
        let (files, output) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = output.path().join("out.fxt");
        run(&mut record(&["-b", "1M"], &path, &role(how, &files)), &files, how);
        assert_eq!(Archive::read(&path).providers[0].count("before"), 1, "{how}");
    }
}

/// The tracer adds no descriptor to the program's table, and children inherit none.
#[test]
fn the_tracer_uses_no_descriptor_of_the_program() {
    let session = Session::start("streaming", 1 << 20);
    let output = session.path("own.fxt");
    let commands = [subject(&["list-descriptors"]), session.subject(&["list-descriptors"]), {
        let mut own = subject(&["list-descriptors"]);
        own.env("TRACE_OUTPUT", &output);
        own
    }];
    for mut command in commands {
        let run = Run::of(&mut command);
        assert_eq!(run.code(), 0, "{run:?}");
        let said = run.stdout();
        let lists: Vec<&str> =
            said.lines().filter_map(|line| line.split_once(' ')).map(|(_, list)| list).collect();
        assert_eq!(lists.len(), 3, "{said}");
        assert!(lists.iter().all(|list| *list == lists[0]), "{said}");
    }
}

/// The tracer keeps no copy of the program's standard output, so its reader sees end of file when
/// the program closes it.
#[test]
fn the_reader_of_a_closed_output_sees_its_end() {
    let session = Session::start("streaming", 1 << 20);
    let output = session.path("own.fxt");
    let mut own = subject(&["close-output"]);
    own.env("TRACE_OUTPUT", &output);
    for mut command in [subject(&["close-output"]), session.subject(&["close-output"]), own] {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (mut stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let mut said = Vec::new();
        stdout.read_to_end(&mut said).unwrap();
        stderr.read_to_end(&mut said).unwrap();
        assert_eq!(said, b"");
        assert!(child.try_wait().unwrap().is_none(), "the program continues");
        drop(child.stdin.take());
        wait_until("the program ends", || child.try_wait().unwrap().is_some());
        assert!(child.wait().unwrap().success());
    }
}

/// Without the newer system call, the older one and `/proc` are used. Without both, the process is
/// not traced, and the reason is reported.
#[test]
fn a_tracer_without_descriptors_of_its_own_does_not_start() {
    for how in ["old", "none"] {
        let (files, output) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = output.path().join("out.fxt");
        let role = ["without-own-descriptors", how, files.path().to_str().unwrap()];
        let run = Run::of(subject(&role).env("TRACE_OUTPUT", &path));
        assert_eq!(run.code(), 0, "{how}: {run:?}");
        check_files(files.path(), how);
        if how == "old" {
            check_load(Archive::read(&path).only(), how);
        } else {
            let reason = "not traced: cannot create the tracer's file descriptor table";
            assert!(run.stderr().contains(reason), "{run:?}");
            assert_eq!(std::fs::read_dir(output.path()).unwrap().count(), 0);
        }
    }
}
