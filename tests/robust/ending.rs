//! The first and last events of a process are recorded, for each way of ending.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::harness::{record, recover, subject, subject_path, trace, Archive, Run, MODES};

#[test]
fn the_first_and_last_events_are_recorded_for_each_way_of_ending() {
    let ways = [
        ("return", 0),
        ("exit", 7),
        ("exit-now", 8),
        ("abort", 134),
        ("panic", 101),
        ("terminate", 143),
        ("forgotten", 0),
    ];
    for (mode, (way, code)) in
        MODES.into_iter().cycle().zip(ways.into_iter().cycle().take(MODES.len() * ways.len()))
    {
        let directory = tempfile::tempdir().unwrap();
        let output = directory.path().join("out.fxt");
        let run = Run::of(&mut record(&["-m", mode], &output, &["end", way]));
        assert_eq!(run.code(), code, "{mode} {way}: {run:?}");
        let archive = Archive::read(&output);
        let names: Vec<&str> =
            archive.only().events.iter().map(|event| event.name.as_str()).collect();
        assert_eq!(names, ["first", "last"], "{mode} {way}");
    }
}

#[test]
fn a_program_that_traces_itself_ends_while_an_observer_does_not_return() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out.fxt");
    let run = Run::of(subject(&["end-in-observer"]).env("TRACE_OUTPUT", &output));
    assert_eq!(run.code(), 0, "{run:?}");
    assert_eq!(Archive::read(&output).only().count("last"), 1);
}

#[test]
fn a_program_that_traces_itself_writes_its_archive_when_it_ends_in_an_orderly_way() {
    let directory = tempfile::tempdir().unwrap();
    for way in ["return", "exit", "panic", "forgotten"] {
        let output = directory.path().join(way);
        Run::of(subject(&["end", way]).env("TRACE_OUTPUT", &output));
        assert_eq!(Archive::read(&output).only().events.len(), 2, "{way}");
        let left: Vec<_> = std::fs::read_dir(directory.path()).unwrap().collect();
        assert_eq!(left.len(), 1, "no other file is left: {left:?}");
        std::fs::remove_file(&output).unwrap();
    }
}

#[test]
fn a_program_that_traces_itself_and_crashes_is_recovered() {
    let directory = tempfile::tempdir().unwrap();
    for way in ["abort", "exit-now", "terminate"] {
        let output = directory.path().join(way);
        Run::of(subject(&["end", way]).env("TRACE_OUTPUT", &output));
        assert!(!output.exists());
        recover(&output);
        assert_eq!(Archive::read(&output).only().events.len(), 2, "{way}");
    }
}

/// A second run keeps the unrecovered buffer of a killed run.
#[test]
fn the_buffer_of_a_killed_run_survives_the_next_run() {
    let directory = tempfile::tempdir().unwrap();
    let (output, aside) =
        (directory.path().join("out.fxt"), directory.path().join("out-killed-1.fxt"));
    Run::of(subject(&["end", "abort"]).env("TRACE_OUTPUT", &output));
    let second = Run::of(subject(&["end", "return"]).env("TRACE_OUTPUT", &output));
    assert!(second.stderr().contains("out-killed-1.fxt"), "it reports the file: {second:?}");
    recover(&aside);
    assert_eq!(Archive::read(&aside).only().events.len(), 2);
    assert_eq!(Archive::read(&output).only().events.len(), 2);
    let left = std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(left, 2, "the two archives");
}

/// A running program writes its archive itself.
#[test]
fn the_buffer_of_a_running_program_is_not_recovered() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out.fxt");
    let buffer = directory.path().join("out.fxt.buffer");
    let mut program = subject(&["idle"]);
    program.env("TRACE_OUTPUT", &output).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = program.spawn().unwrap();
    let mut ready = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    assert_eq!(ready.trim(), "ready");
    let run = Run::of(trace(&["recover"]).arg(&output));
    assert_eq!(run.code(), 1);
    assert!(run.stderr().contains("is alive"), "{run:?}");
    assert!(buffer.exists());
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Invalid values in environment variables are reported, and the program continues.
#[test]
fn invalid_values_are_reported() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out.fxt");
    let mut program = subject(&["end", "return"]);
    program
        .env("TRACE_OUTPUT", &output)
        .env("TRACE_BUFFER_SIZE", "lots")
        .env("TRACE_BUFFERING_MODE", "ring");
    let run = Run::of(&mut program);
    assert_eq!(run.code(), 0);
    for (variable, value) in [("TRACE_BUFFER_SIZE", "lots"), ("TRACE_BUFFERING_MODE", "ring")] {
        assert!(run.stderr().contains(variable) && run.stderr().contains(value), "{run:?}");
    }
    assert_eq!(Archive::read(&output).only().events.len(), 2);
}

/// A file in place of a directory of logs would be of no use.
#[test]
fn a_program_with_an_unknown_format_is_not_traced() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out");
    let mut program = subject(&["end", "return"]);
    program.env("TRACE_OUTPUT", &output).env("TRACE_FORMAT", "json");
    let run = Run::of(&mut program);
    assert_eq!(run.code(), 0);
    let reason = "TRACE_FORMAT: expected fxt or xray, found 'json'";
    assert!(run.stderr().contains("this process is not traced: cannot write"), "{run:?}");
    assert!(run.stderr().contains(reason) && !output.exists(), "{run:?}");
    program.env("TRACE_FORMAT", "XRAY");
    assert_eq!(Run::of(&mut program).code(), 0);
    assert!(output.is_dir());
}

#[test]
fn a_program_that_executes_another_one_is_two_providers() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out.fxt");
    assert_eq!(Run::of(&mut record(&[], &output, &["exec"])).code(), 0);
    let archive = Archive::read(&output);
    let [before, after] = archive.providers.as_slice() else { panic!("{:?}", archive.names()) };
    assert_eq!(before.pid, after.pid);
    assert_eq!((before.count("before exec"), before.events.len()), (1, 1));
    assert_eq!(after.events.len(), 2);
}

#[test]
fn a_grandchild_that_outlives_the_command_is_recorded_with_wait() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out.fxt");
    assert_eq!(Run::of(&mut record(&["--wait"], &output, &["daemon"])).code(), 0);
    assert_eq!(Archive::read(&output).only().count("after the command"), 1);
}

/// A command that ends before its background program joins.
#[test]
fn background_programs_of_a_command_are_recorded_with_wait() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out.fxt");
    let script = format!("'{}' end return &", subject_path().display());
    let options = ["record", "--wait", "-o", output.to_str().unwrap(), "--", "sh", "-c", &script];
    assert_eq!(Run::of(&mut trace(&options)).code(), 0);
    assert!(!Archive::read(&output).only().events.is_empty());
}

#[test]
fn children_are_recorded_beside_their_parent() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out.fxt");
    assert_eq!(Run::of(&mut record(&[], &output, &["parent"])).code(), 0);
    let archive = Archive::read(&output);
    assert_eq!(archive.providers.len(), 2);
    assert_eq!(archive.providers[0].numbers("parent after"), Vec::from_iter(0..1000));
}

#[test]
fn a_child_with_its_parents_environment_does_not_spoil_what_the_parent_traces_itself() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out.fxt");
    let run = Run::of(subject(&["parent"]).env("TRACE_OUTPUT", &output));
    assert_eq!(run.code(), 0, "{run:?}");
    let archive = Archive::read(&output);
    assert_eq!(
        archive.only().count("parent before"),
        1,
        "{:?} {:?}",
        archive.only().lost,
        archive.only().events.first()
    );
    let mut names = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
    let child = names.find(|path| *path != output).expect("the child has a file of its own");
    assert_eq!(Archive::read(&child).only().events.len(), 2);
    assert_eq!(archive.only().numbers("parent after"), Vec::from_iter(0..1000));
}
