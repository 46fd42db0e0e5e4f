//! The progress bar of long reading: on terminals, not on pipes.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{grantpt, openpt, ptsname, unlockpt, OpenptFlags};
use trace_format::{LargeBlob, Writer};

use crate::harness::{good, Place};

/// Returns a terminal, seen from both ends.
fn terminal() -> (File, OwnedFd) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let theirs = rustix::fs::open(&*name, flags, Mode::empty()).unwrap();
    (ours.into(), theirs)
}

/// Runs a command with a terminal as standard error; returns what it shows.
fn shown(mut command: Command) -> String {
    let (mut ours, theirs) = terminal();
    let mut child = command.env("TERM", "xterm").stderr(theirs).spawn().unwrap();
    drop(command);
    // Reading fails when the other end of the terminal is closed.
    let (mut text, mut part) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = ours.read(&mut part) {
        text.extend_from_slice(&part[..count]);
    }
    assert!(child.wait().unwrap().success(), "{}", String::from_utf8_lossy(&text));
    String::from_utf8(text).unwrap()
}

/// Returns an archive that is long enough for a progress bar.
fn long() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let payload = &[7; 1 << 20];
    for _ in 0..17 {
        let blob = LargeBlob { category: "c".into(), name: "n".into(), event: None, payload };
        writer.record(&blob.into()).unwrap();
    }
    writer.into_inner()
}

#[test]
fn long_reading_is_shown_on_a_terminal_only() {
    let place = Place::new();
    place.put("long.fxt", &long());
    place.put("short.fxt", &good());
    for line in [&["check"][..], &["stats"], &["dump"], &["convert", "-o", "/dev/null"]] {
        let with = |file: &str| {
            let mut command = place.command(line);
            command.arg(file).stdout(Stdio::null()).stdin(Stdio::null());
            command
        };
        let text = shown(with("long.fxt"));
        assert!(text.contains("░░") && text.contains(" % "), "{line:?}: {text:?}");
        // The bar is removed at the end.
        let (_, rest) = text.rsplit_once(" % ").unwrap();
        assert!(rest.contains("\r\u{1b}[2K"), "{line:?}: {text:?}");
        assert!(!shown(with("short.fxt")).contains('%'), "{line:?}");
        let piped = with("long.fxt").stderr(Stdio::piped()).output().unwrap();
        let stderr = String::from_utf8(piped.stderr).unwrap();
        assert!(!stderr.contains(['%', '\r', '\u{1b}']), "{line:?}: {stderr:?}");
    }
}

#[test]
fn a_pipe_without_a_length_is_shown_too() {
    let place = Place::new();
    let mut command = place.command(&["check", "-"]);
    let (reader, writer) = std::os::unix::net::UnixStream::pair().unwrap();
    command.stdin(OwnedFd::from(reader)).stdout(Stdio::null());
    let feeder = std::thread::spawn(move || (&writer).write_all(&long()).unwrap());
    let text = shown(command);
    feeder.join().unwrap();
    assert!(text.contains("MiB"), "{text:?}");
}

/// The recorded command writes to the same terminal.
#[test]
fn recording_a_command_shows_progress_if_it_is_requested() {
    let place = Place::new();
    let with = |options: &[&str]| {
        let mut command = place.command(&["record"]);
        command.args(options).args(["--", "sleep", "0.4"]);
        command.stdout(Stdio::null()).stdin(Stdio::null());
        shown(command)
    };
    let text = with(&[]);
    assert!(!text.contains('\u{1b}') && text.contains("0 events in"), "{text:?}");
    let text = with(&["--progress"]);
    assert!(text.contains("0 programs, 0 events"), "{text:?}");
    let text = with(&["--quiet"]);
    assert!(!text.contains("0 events in") && text.contains("nothing was recorded"), "{text:?}");
}

#[test]
fn quiet_wins_over_progress_of_the_configuration() {
    let place = Place::new();
    place.put("record.toml", b"[record]\nprogress = true\n");
    let with = |options: &[&str]| {
        let mut command = place.command(&["record"]);
        command.args(options).args(["--", "sleep", "0.4"]).env("TRACE_CONFIG", "record.toml");
        command.stdout(Stdio::null()).stdin(Stdio::null());
        shown(command)
    };
    assert!(with(&[]).contains("0 programs, 0 events"));
    assert!(!with(&["--quiet"]).contains("0 programs"));
}

/// Without a command, no program writes to the terminal.
#[test]
fn recording_without_a_command_shows_progress() {
    let place = Place::new();
    let with = |options: &[&str]| {
        let mut command = place.command(&["record", "-d", "0.4s", "--socket", "manager.sock"]);
        command.args(options).stdout(Stdio::null()).stdin(Stdio::null());
        shown(command)
    };
    let text = with(&[]);
    assert!(text.contains("0 programs, 0 events") && text.contains("Ctrl-C stops"), "{text:?}");
    let text = with(&["-q"]);
    assert!(!text.contains("0 programs") && !text.contains("Ctrl-C stops"), "{text:?}");
}

/// A command that prints while it reads shows no bar.
#[test]
fn no_bar_is_between_lines_on_a_terminal() {
    let place = Place::new();
    place.put("long.fxt", &long());
    let (mut ours, theirs) = terminal();
    let mut command = place.command(&["dump", "long.fxt"]);
    let theirs_too = theirs.as_fd().try_clone_to_owned().unwrap();
    let mut child = command.env("TERM", "xterm").stdout(theirs).stderr(theirs_too).spawn().unwrap();
    drop(command);
    let reader = std::thread::spawn(move || {
        let (mut text, mut part) = (Vec::new(), [0; 1 << 16]);
        while let Ok(count @ 1..) = ours.read(&mut part) {
            text.extend_from_slice(&part[..count]);
        }
        text
    });
    assert!(child.wait().unwrap().success());
    let text = reader.join().unwrap();
    assert!(text.windows(10).any(|part| part == b"large-blob"), "nothing was printed");
    assert!(!text.contains(&b'\x1b'), "a bar is between the lines");
}
