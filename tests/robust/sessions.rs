//! Many sessions, two sessions, and managers that start and end.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use trace_manager::{ArchiveTarget, Manager, SessionConfig, SessionHandle};
use trace_protocol::buffer::header::BufferingMode;
use trace_runtime::{trace_enabled, trace_instant};

use crate::harness::{record, subject, wait_until, Archive, Provider, Run, Session, PATIENCE};

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Waits until the session has collected events.
fn wait_for_events(session: &SessionHandle) {
    wait_until("events are recorded", || {
        session.flush();
        session.progress().events > 0
    });
}

/// A session whose events are visible while it runs.
fn streaming() -> SessionConfig {
    SessionConfig { mode: BufferingMode::Streaming, ..SessionConfig::default() }
}

/// The only test whose own process is a provider.
#[test]
fn a_thousand_sessions_in_one_process_record_each_its_own_events() {
    let directory = tempfile::tempdir().unwrap();
    let manager = Manager::bind(&directory.path().join("manager.sock")).unwrap();
    let _trace = trace_runtime::builder().socket(manager.path()).init();
    let output = directory.path().join("out.fxt");
    let mut files = 0;
    for number in 0..1000u64 {
        let mode = [BufferingMode::Oneshot, BufferingMode::Circular, BufferingMode::Streaming]
            [number as usize % 3];
        let config = SessionConfig { mode, buffer_size: 4096, ..SessionConfig::default() };
        let session = manager.start(config, ArchiveTarget::File(output.clone())).unwrap();
        wait_until("the provider records", || trace_enabled!());
        trace_instant!("session", "event", "number" => number);
        session.stop();
        let summary = session.join().unwrap();
        assert!(summary.providers.iter().all(|provider| provider.answered_stop), "{summary:?}");
        assert_eq!(Archive::read(&output).only().numbers("event"), [number]);
        trace_instant!("session", "event", "number" => u64::MAX);
        if number == 100 {
            files = open_files();
        }
    }
    // Other tests that run concurrently have files open too, but not hundreds of them.
    assert!(open_files() < files + 300, "{} files are open, were {files}", open_files());
}

#[test]
fn two_managers_record_each_its_own_providers() {
    let sessions = [Session::start("streaming", 1 << 20), Session::start("circular", 1 << 20)];
    let children =
        sessions.each_ref().map(|session| session.subject(&["end", "return"]).spawn().unwrap());
    let pids = children.each_ref().map(|child| u64::from(child.id()));
    children.into_iter().for_each(|child| assert_eq!(Run::end_of(child).code(), 0));
    for (session, pid) in sessions.into_iter().zip(pids) {
        let (archive, _) = session.end();
        assert_eq!((archive.only().pid, archive.only().events.len()), (pid, 2));
    }
}

/// A flight recorder is on while another session records the same program.
#[test]
fn a_recorder_does_not_prevent_another_session() {
    let recorder = Session::start("circular", 1 << 20);
    let mut child = recorder.subject(&["chatter"]).stdin(Stdio::piped()).spawn().unwrap();
    assert!(recorder.handle.wait_provider(PATIENCE));
    let path = recorder.path("second.fxt");
    let target = ArchiveTarget::File(path.clone());
    let second = recorder.manager.start(streaming(), target).unwrap();
    wait_for_events(&second);
    second.stop();
    let summary = second.join().unwrap();
    let archive = Archive::read(&path);
    let numbers = archive.only().numbers("word");
    assert_eq!(summary.lost(), 0);
    assert_eq!(summary.events(), archive.only().events.len() as u64);
    assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "without a gap");
    drop(child.stdin.take());
    assert_eq!(Run::end_of(child).code(), 0);
    let (archive, _) = recorder.end();
    // The program goes on in the buffer that it has.
    let own = archive.only();
    assert_eq!(own.count("last word"), 1, "the recorder is on until the end");
    let words = own.numbers("word");
    assert!(words.windows(2).all(|pair| pair[0] + 1 == pair[1]), "without a gap");
    assert!(words.first() <= numbers.first() && own.interruptions.is_empty());
}

#[test]
fn two_sessions_of_a_manager_record_the_same_program() {
    let session = Session::start("streaming", 1 << 20);
    let target = ArchiveTarget::File(session.path("second.fxt"));
    let second = session.manager.start(SessionConfig::default(), target).unwrap();
    assert_eq!(Run::of(&mut session.subject(&["end", "return"])).code(), 0);
    second.stop();
    second.join().unwrap();
    assert_eq!(Archive::read(&session.path("second.fxt")).only().events.len(), 2);
    assert_eq!(session.end().0.only().events.len(), 2);
}

#[test]
fn two_commands_are_recorded_at_the_same_time() {
    let directory = tempfile::tempdir().unwrap();
    let outputs = ["a.fxt", "b.fxt"].map(|name| directory.path().join(name));
    let children =
        outputs.each_ref().map(|output| record(&[], output, &["burst", "2000"]).spawn().unwrap());
    children.into_iter().for_each(|child| assert_eq!(Run::end_of(child).code(), 0));
    for output in outputs {
        assert_eq!(Archive::read(&output).only().numbers("instant"), Vec::from_iter(0..2000));
    }
}

#[test]
fn a_running_program_joins_a_new_manager_and_the_next_one() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("new/manager.sock");
    let mut child =
        subject(&["chatter"]).env("TRACE_SOCKET", &socket).stdin(Stdio::piped()).spawn().unwrap();
    for _ in 0..3 {
        // Each manager ends with its session, and the program continues.
        let manager = Manager::bind(&socket).unwrap();
        let output = directory.path().join("out.fxt");
        let session = manager.start(streaming(), ArchiveTarget::File(output.clone())).unwrap();
        assert!(session.wait_provider(PATIENCE), "the program finds the manager");
        wait_for_events(&session);
        session.stop();
        let summary = session.join().unwrap();
        let archive = Archive::read(&output);
        let numbers = archive.only().numbers("word");
        assert_eq!(summary.lost(), 0);
        assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "without a gap");
    }
    drop(child.stdin.take());
    assert_eq!(Run::end_of(child).code(), 0);
}

#[test]
fn a_program_continues_when_its_manager_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("manager.sock");
    let output = directory.path().join("out.fxt");
    let mut first = crate::harness::trace(&["record", "-o", "/dev/null", "--socket"]);
    let mut first = first.arg(&socket).stderr(Stdio::null()).spawn().unwrap();
    wait_until("it listens", || socket.exists());
    let mut child =
        subject(&["chatter"]).env("TRACE_SOCKET", &socket).stdin(Stdio::piped()).spawn().unwrap();
    first.kill().unwrap();
    first.wait().unwrap();
    // Another manager replaces the dead one's socket.
    let manager = Manager::bind(&socket).unwrap();
    let session = manager.start(streaming(), ArchiveTarget::File(output.clone())).unwrap();
    assert!(session.wait_provider(PATIENCE), "the program finds the second manager");
    wait_for_events(&session);
    drop(child.stdin.take());
    assert_eq!(Run::end_of(child).code(), 0);
    session.stop();
    assert!(session.join().unwrap().archive.is_ok());
    assert_eq!(Archive::read(&output).only().count("last word"), 1);
}

/// Checks that each thread's numbers, from the first to the last recorded one, are in the archive
/// or reported as lost.
fn check_storm(provider: &Provider) {
    for name in ["instant", "outer"] {
        let mut numbers: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for event in provider.named(name).filter(|event| event.numbers.contains_key("thread")) {
            numbers.entry(event.numbers["thread"]).or_default().push(event.number());
        }
        let mut missing = 0;
        for numbers in numbers.values_mut() {
            numbers.sort_unstable();
            assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{name}: none is repeated");
            missing += numbers[numbers.len() - 1] - numbers[0] + 1 - numbers.len() as u64;
        }
        assert!(
            missing <= provider.lost(),
            "{name}: {missing} are missing, lost are {:?}",
            provider.lost
        );
    }
    for event in provider.named("instant").filter(|event| event.numbers["thread"] == 3) {
        assert_ne!(event.thread, provider.pid, "it belongs to a short thread");
    }
}

#[test]
fn short_sessions_have_all_records_of_many_threads() {
    let directory = tempfile::tempdir().unwrap();
    let manager = Manager::bind(&directory.path().join("manager.sock")).unwrap();
    let mut storm = subject(&["storm"]);
    let mut storm = storm
        .env("TRACE_SOCKET", manager.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = directory.path().join("out.fxt");
    for number in 0..100 {
        let mode =
            [BufferingMode::Oneshot, BufferingMode::Circular, BufferingMode::Streaming][number % 3];
        let buffer_size = [4096, 64 << 10, 1 << 20][number / 3 % 3];
        let config = SessionConfig { mode, buffer_size, ..SessionConfig::default() };
        let session = manager.start(config, ArchiveTarget::File(output.clone())).unwrap();
        assert!(session.wait_provider(PATIENCE), "the program is in the session");
        session.stop();
        let summary = session.join().unwrap();
        assert!(
            summary.providers.iter().all(|provider| provider.rejected.is_empty()),
            "{summary:?}"
        );
        check_storm(Archive::read(&output).only());
    }
    drop(storm.stdin.take());
    assert_eq!(Run::end_of(storm).code(), 0);
}

#[test]
fn two_recorders_with_the_same_output_leave_a_whole_archive() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out.fxt");
    let mut first = record(&[], &output, &["alert-chatter"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(first.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(Run::of(&mut record(&[], &output, &["burst", "1000"])).code(), 0);
    assert_eq!(Archive::read(&output).only().numbers("instant"), Vec::from_iter(0..1000));
    drop(first.stdin.take());
    assert_eq!(Run::end_of(first).code(), 0);
    let (last, earlier) = (Archive::read(&output), directory.path().join("out.fxt.old"));
    assert_eq!(last.only().count("instant"), 0, "the last one to end has the name");
    assert_eq!(Archive::read(&earlier).only().count("instant"), 1000);
}
