//! Inputs that can be read once only.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Stdio};

use rustix::fs::{FileType, Mode, OFlags};

use super::{assert_failed, place, Command, COMMANDS};
use crate::harness::{everything, Place, Run};

/// Runs a command on standard input, `content` from a pipe.
fn run_piped(place: &Place, command: &Command, content: &[u8]) -> Run {
    let mut process = place.command(&command.with("-", command.output));
    process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = process.spawn().unwrap();
    // The command may refuse a pipe at once.
    let _ = child.stdin.take().unwrap().write_all(content);
    Run::of(child.wait_with_output().unwrap())
}

#[test]
fn archives_from_a_pipe() {
    let place = place();
    for command in &COMMANDS {
        let run = run_piped(&place, command, &everything());
        assert_eq!(run.code, 0, "{}: {run:?}", command.line);
        let name = command.output;
        if !name.is_empty() && !name.ends_with("svg") && !name.ends_with("html") {
            let piped = std::fs::read(place.path(name)).unwrap();
            assert_eq!(command.run(&place, super::GOOD).code, 0);
            // Speedscope's file contains the name of the input.
            let is_same = piped == std::fs::read(place.path(name)).unwrap();
            assert!(is_same || name.ends_with("speedscope.json"), "{}", command.line);
        }
        let _ = std::fs::remove_file(place.path(name));
    }
}

#[test]
fn other_data_from_a_pipe_is_refused() {
    let place = place();
    let files = place.names();
    for command in &COMMANDS {
        for content in [&b""[..], b"abc", &[0; 64], b"[{]"] {
            let run = run_piped(&place, command, content);
            assert_failed(&place, &files, &run, "", command.line);
        }
    }
}

/// Writes into a named pipe when it has a reader. Returns whether that was before `child` ended.
fn feed(pipe: &Path, child: &mut Child) -> bool {
    loop {
        let flags = OFlags::WRONLY | OFlags::NONBLOCK;
        if let Ok(writer) = rustix::fs::open(pipe, flags, Mode::empty()) {
            File::from(writer).write_all(&everything()).unwrap();
            return true;
        }
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_named_pipe() {
    let place = place();
    let pipe = place.path("pipe");
    let mode = Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, mode, 0).unwrap();
    for command in &COMMANDS {
        let mut process = place.command(&command.with("pipe", command.output));
        process.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = process.spawn().unwrap();
        let is_fed = feed(&pipe, &mut child);
        let run = Run::of(child.wait_with_output().unwrap());
        assert!(is_fed && run.code == 0, "{}: {run:?}", command.line);
        let _ = std::fs::remove_file(place.path(command.output));
    }
}

#[test]
fn a_named_pipe_as_output() {
    let place = place();
    let pipe = place.path("pipe.csv");
    let mode = Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, mode, 0).unwrap();
    let mut reader = File::options().read(true).write(true).open(&pipe).unwrap();
    assert_eq!(place.run(&["convert", super::GOOD, "-o", "pipe.csv"]).code, 0);
    let mut start = [0; 8];
    reader.read_exact(&mut start).unwrap();
    assert_eq!(&start, b"process,");
    assert_eq!(place.names(), [super::GOOD, "pipe.csv"]);
}
