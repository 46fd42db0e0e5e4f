//! Outputs that cannot be written.

use std::fs::{self, File};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::process::{Command as Process, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use trace_format::layout::ThreadState;
use trace_format::{Arguments, ContextSwitch, EventKind, Writer};

use super::{assert_failed, place, Command, COMMANDS, FROM_JSON, GOOD};
use crate::harness::{cut, events, everything, Place, Run};

const JSON: &str = "good.json";

/// Returns a place with an archive and JSON that are too large for one read or write.
fn large_place() -> Place {
    let place = place();
    let event = "{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"name\":\"x\",\"args\":{\"a\":\"b\"}},\n";
    place.put(JSON, format!("[{}", event.repeat(20_000)).as_bytes());
    place
}

/// All commands with valid inputs.
fn with_inputs() -> impl Iterator<Item = (&'static Command, &'static str)> {
    let archives = COMMANDS.iter().map(|command| (command, GOOD));
    archives.chain(FROM_JSON.iter().map(|command| (command, JSON)))
}

fn with_outputs() -> impl Iterator<Item = (&'static Command, &'static str)> {
    with_inputs().filter(|(command, _)| !command.output.is_empty())
}

#[test]
fn all_commands_succeed() {
    let place = large_place();
    for (command, input) in with_inputs() {
        let run = command.run(&place, input);
        assert_eq!(run.code, 0, "{}: {run:?}", command.line);
        let has_output = !command.output.is_empty() && place.path(command.output).exists();
        assert_eq!(run.stdout.is_empty(), has_output, "{}: {run:?}", command.line);
    }
}

#[test]
fn invalid_file_names() {
    let place = large_place();
    for (command, input) in with_outputs() {
        let name = command.output;
        fs::create_dir(place.path(name)).unwrap();
        let files = place.names();
        let long = format!("{}.{name}", "long".repeat(70));
        let (missing, below, proc) =
            (format!("missing/{name}"), format!("{input}/{name}"), format!("/proc/{name}"));
        for output in [name, &missing, &below, &proc, &long] {
            let run = place.run(&command.with(input, output));
            let what = format!("{} with {output}", command.line);
            assert_failed(&place, &files, &run, output, &what);
        }
        fs::remove_dir(place.path(name)).unwrap();
    }
}

#[test]
fn the_input_as_output() {
    let place = large_place();
    for (command, input) in with_outputs() {
        // Its own name, and a link to it.
        symlink(input, place.path(command.output)).unwrap();
        let content = fs::read(place.path(input)).unwrap();
        let files = place.names();
        let run = command.run(&place, input);
        assert_failed(&place, &files, &run, input, command.line);
        assert!(run.stderr.contains("both input and output"), "{}: {run:?}", command.line);
        assert!(fs::read(place.path(input)).unwrap() == content, "{}", command.line);
        fs::remove_file(place.path(command.output)).unwrap();
    }
}

#[test]
fn a_full_device() {
    let place = large_place();
    for (command, input) in with_outputs() {
        symlink("/dev/full", place.path(command.output)).unwrap();
        let files = place.names();
        let run = command.run(&place, input);
        assert_failed(&place, &files, &run, command.output, command.line);
        assert!(run.stderr.contains("no space left on device"), "{}: {run:?}", command.line);
        fs::remove_file(place.path(command.output)).unwrap();
    }
}

/// A limit on file sizes simulates a disk that becomes full within a file.
#[test]
fn a_disk_without_room() {
    let place = large_place();
    // Those that select events write to a temporary file first.
    let with_outputs = || with_outputs().filter(|(command, _)| !command.line.contains('*'));
    for (command, input) in with_outputs() {
        place.put(command.output, b"of before");
        let files = place.names();
        let line = command.with(input, command.output).join(" ");
        for signal in ["", "trap '' XFSZ; "] {
            let script = format!("set -f; {signal}ulimit -f 0; exec \"$0\" {line}");
            let mut shell = Process::new("sh");
            shell.args(["-c", &script, env!("CARGO_BIN_EXE_trace")]);
            let run = Run::of(shell.current_dir(place.path(".")).output().unwrap());
            assert_failed(&place, &files, &run, command.output, &line);
            assert!(run.stderr.contains("file too large"), "{line}: {run:?}");
            assert_eq!(place.text(command.output), "of before", "{line}");
        }
        fs::remove_file(place.path(command.output)).unwrap();
    }
}

#[test]
fn standard_output_that_is_full() {
    let place = large_place();
    let files = place.names();
    for (command, input) in with_inputs() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut process = place.command(&command.with(input, "-"));
        let run = Run::of(process.stdout(full).stderr(Stdio::piped()).output().unwrap());
        assert_failed(&place, &files, &run, "no space left on device", command.line);
        let name = if command.output.is_empty() { "standard output" } else { "cannot write -" };
        assert!(run.stderr.contains(name), "{}: {run:?}", command.line);
    }
}

/// A reader that closes the pipe early is no failure.
#[test]
fn standard_output_that_is_closed() {
    let place = large_place();
    let files = place.names();
    for (command, input) in with_inputs() {
        let (reader, writer) = UnixStream::pair().unwrap();
        drop(reader);
        let mut process = place.command(&command.with(input, "-"));
        let run =
            Run::of(process.stdout(OwnedFd::from(writer)).stderr(Stdio::piped()).output().unwrap());
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{}", command.line);
        assert_eq!(place.names(), files);
    }
}

/// The exit code reports the result all the same.
#[test]
fn a_closed_pipe_does_not_change_the_exit_code() {
    let place = place();
    place.put("cut.fxt", &cut());
    for (line, code) in [("check cut.fxt", 1), ("check --json cut.fxt", 1), ("stats cut.fxt", 3)] {
        let (reader, writer) = UnixStream::pair().unwrap();
        drop(reader);
        let mut process = place.command(&line.split(' ').collect::<Vec<_>>());
        let run = Run::of(process.stdout(OwnedFd::from(writer)).output().unwrap());
        assert_eq!(run.code, code, "{line}: {run:?}");
    }
}

/// Many durations wait in a temporary file.
#[test]
fn no_place_for_temporary_files() {
    let place = place();
    let scope = |ticks| EventKind::DurationComplete { end: ticks + 1 };
    place.put("many.fxt", &events(150_000, scope));
    let files = place.names();
    let is_stacked = |command: &&Command| match command.output.rsplit_once('.') {
        Some((_, "folded" | "csv")) => true,
        _ => command.output.ends_with("speedscope.json") || command.line.starts_with("flamegraph"),
    };
    for command in COMMANDS.iter().filter(is_stacked) {
        let mut process = place.command(&command.with("many.fxt", command.output));
        let run = Run::of(process.env("TMPDIR", "/missing").output().unwrap());
        assert_failed(&place, &files, &run, "many.fxt", command.line);
        assert!(run.stderr.contains("a temporary file in /missing"), "{run:?}");
    }
}

/// More than a megabyte of data that follows the events in JSON waits in a temporary file.
#[test]
fn no_place_for_scheduling_records() {
    let place = place();
    let mut writer = Writer::new(Vec::new()).unwrap();
    for ticks in 0..20_000 {
        let switch = ContextSwitch {
            ticks,
            cpu: 0,
            outgoing_state: ThreadState::BLOCKED,
            outgoing_thread: 1,
            incoming_thread: 2,
            arguments: Arguments::NONE,
        };
        writer.record(&switch.into()).unwrap();
    }
    place.put("switches.fxt", &writer.into_inner());
    let files = place.names();
    let mut process = place.command(&["convert", "switches.fxt", "-o", "out.json"]);
    let run = Run::of(process.env("TMPDIR", "/missing").output().unwrap());
    assert_failed(&place, &files, &run, "out.json", "convert");
    assert!(run.stderr.contains("a temporary file in /missing"), "{run:?}");
}

/// A killed command leaves no file, and keeps the old output, if the file system has files without
/// names.
#[test]
fn a_command_that_is_killed() {
    let place = large_place();
    let flags = OFlags::TMPFILE | OFlags::WRONLY;
    if matches!(rustix::fs::open(place.path("."), flags, Mode::RUSR), Err(Errno::OPNOTSUPP)) {
        return;
    }
    place.put("out.json", b"of before");
    let files = place.names();
    let mut process = place.command(&["convert", "-", "-o", "out.json"]);
    let mut child = process.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // More than a pipe's capacity: a part was read.
    child.stdin.as_mut().unwrap().write_all(&crate::dump::large()).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(place.names(), files);
    assert_eq!(place.text("out.json"), "of before");
}

#[test]
fn an_old_output_is_replaced_atomically() {
    let place = large_place();
    for (command, input) in with_outputs() {
        place.put(command.output, &everything().repeat(1000));
        let files = place.names();
        assert_eq!(command.run(&place, input).code, 0, "{}", command.line);
        let first = fs::read(place.path(command.output)).unwrap();
        fs::remove_file(place.path(command.output)).unwrap();
        assert_eq!(command.run(&place, input).code, 0, "{}", command.line);
        assert!(fs::read(place.path(command.output)).unwrap() == first, "{}", command.line);
        assert_eq!(place.names(), files);
        fs::remove_file(place.path(command.output)).unwrap();
    }
}
