//! Records other than plain events, through a manager: none is refused, and durable records survive
//! a circular buffer.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use trace_manager::{ArchiveTarget, Manager, SessionConfig, SessionState};

use crate::harness::{subject, Archive, Run, Session, Shape, MODES, PATIENCE};

const EVENTS: u64 = 100_000;

/// Runs the program in a session, which refuses none of its records.
fn run(mode: &str) -> Archive {
    let session = Session::start(mode, 4 << 20);
    let run = Run::of(&mut session.subject(&["instruments", &EVENTS.to_string()]));
    assert_eq!(run.code(), 0, "{}", run.stderr());
    session.end().0
}

/// Names that the application set are in the archive in every mode, even if records were
/// overwritten or dropped.
#[test]
fn application_names_survive_in_every_mode() {
    for mode in MODES {
        let archive = run(mode);
        let provider = archive.only();
        let names: Vec<&str> = provider
            .thread_names
            .values()
            .filter_map(|names| names.last())
            .map(String::as_str)
            .collect();
        for name in ["early track", "late track", "main thread with a long name"] {
            assert!(names.contains(&name), "{mode}: {name} is not among {names:?}");
        }
        assert_eq!(
            provider.process_names.last().map(String::as_str),
            Some("chosen process name"),
            "{mode}"
        );
        assert!(provider.thread_processes.iter().all(|process| *process == provider.pid));
        assert!(provider.events.iter().all(|event| event.process == provider.pid));
    }
}

#[test]
fn every_record_is_saved_while_streaming() {
    let archive = run("streaming");
    let provider = archive.only();
    assert_eq!(provider.lost(), 0);
    for name in ["at", "moment of track"] {
        assert_eq!(provider.numbers(name), [1, 2, 3], "{name}");
    }
    assert_eq!(provider.count("on track"), 6);
    assert_eq!(provider.count("flood"), EVENTS as usize);
    check_by_hand(&archive, 3);
    let other_records = BTreeMap::from([
        ("blob", 3),
        ("large blob", 3 * (4 + 2)),
        ("log", 3),
        ("userspace object", 3),
    ]);
    assert_eq!(provider.other_records, other_records);
}

/// The last records are in the archive, and their refs resolve to early registrations.
#[test]
fn the_newest_records_are_whole_in_a_circular_buffer() {
    let archive = run("circular");
    let provider = archive.only();
    for name in ["at", "moment of track"] {
        assert_eq!(provider.numbers(name), [2, 3], "{name}");
    }
    check_by_hand(&archive, 2);
    let other_records = BTreeMap::from([
        ("blob", 2),
        ("large blob", 2 * (4 + 2)),
        ("log", 2),
        ("userspace object", 2),
    ]);
    assert_eq!(provider.other_records, other_records);
}

/// Names that were set just before the process was killed are in the archive, in every mode.
#[test]
fn names_survive_a_kill() {
    for mode in MODES {
        let session = Session::start(mode, 4 << 20);
        let run = Run::of(&mut session.subject(&["name-and-be-killed"]));
        assert!(!run.0.status.success());
        let (archive, _) = session.end();
        let provider = archive.only();
        let names: Vec<&str> =
            provider.thread_names.values().flatten().map(String::as_str).collect();
        for name in ["named just before the end", "track just before the end"] {
            assert!(names.contains(&name), "{mode}: {name} is not among {names:?}");
        }
        let open: Vec<_> = provider.named("open on track").map(|event| event.shape).collect();
        assert_eq!(open, [Shape::Begin], "{mode}");
        assert_eq!(provider.other_records["large blob"], 1);
    }
}

/// Checks that handmade records have the registered thread and names.
#[track_caller]
fn check_by_hand(archive: &Archive, count: usize) {
    let events: Vec<_> = archive.only().named("by hand").collect();
    assert_eq!(events.len(), count);
    assert!(events
        .iter()
        .all(|event| (event.thread, event.category.as_str()) == (4711, "instruments")));
}

/// A session counts as started when the observers have returned.
#[test]
fn the_session_starts_when_observers_have_returned() {
    let directory = tempfile::tempdir().unwrap();
    let manager = Manager::bind(&directory.path().join("manager.sock")).unwrap();
    let (file, output) = (directory.path().join("started"), directory.path().join("out.fxt"));
    let mut program = subject(&["observe-slowly", file.to_str().unwrap()]);
    program.env("TRACE_SOCKET", manager.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = program.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert!(!file.exists());
    let session = manager.start(SessionConfig::default(), ArchiveTarget::File(output)).unwrap();
    assert!(session.wait_state(SessionState::Started, PATIENCE));
    assert!(file.exists());
    drop(child.stdin.take());
    assert_eq!(Run::end_of(child).code(), 0);
    session.stop();
    session.join().unwrap();
}
