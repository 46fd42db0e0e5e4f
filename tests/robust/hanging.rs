//! A provider that hangs delays a session only briefly, and does not delay other providers.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::{kill_process, waitpid, Pid, Signal, WaitOptions};
use trace_manager::{ArchiveTarget, Manager, SessionConfig, SessionState, Timeouts};

use crate::harness::{subject, wait_until, Archive, Run, Session, PATIENCE};

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Stops a process, and waits until all of its threads have stopped.
fn stop(child: &Child) {
    send(child, Signal::Stop);
    let status = waitpid(Some(Pid::from_child(child)), WaitOptions::UNTRACED).unwrap();
    assert!(status.is_some_and(|status| status.stopped()), "{status:?}");
}

/// Starts a role, and waits until it is ready.
fn start(mut command: std::process::Command) -> Child {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    child
}

fn impatient() -> SessionConfig {
    let patience = Duration::from_millis(200);
    let timeouts = Timeouts { start: patience, stop: patience, terminate: patience };
    SessionConfig { timeouts, ..SessionConfig::default() }
}

/// Sends malformed messages on many connections, some of which stay open.
fn send_garbage(socket: &std::path::Path) -> Vec<UnixStream> {
    let garbage: Vec<u8> =
        (0..4096u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let connect = |length: usize| {
        let mut stream = UnixStream::connect(socket).ok()?;
        // The manager may have hung up by then.
        stream.write_all(&garbage[..length]).ok();
        Some(stream)
    };
    (0..60)
        .filter_map(|index| connect(index * 7))
        .filter(|stream| stream.peer_addr().is_ok())
        .collect()
}

#[test]
fn a_provider_that_hangs_before_the_start_delays_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let manager = Manager::bind(&directory.path().join("manager.sock")).unwrap();
    let with_socket = |role: &[&str]| {
        let mut command = subject(role);
        command.env("TRACE_SOCKET", manager.path());
        command
    };
    let hanging = start(with_socket(&["idle"]));
    stop(&hanging);
    let output = directory.path().join("out.fxt");
    let session = manager.start(impatient(), ArchiveTarget::File(output.clone())).unwrap();
    let _garbage = send_garbage(manager.path());
    let other = with_socket(&["burst", "1000"]).spawn().unwrap();
    let pid = u64::from(other.id());
    assert_eq!(Run::end_of(other).code(), 0);
    assert!(
        session.wait_state(SessionState::Started, PATIENCE),
        "the session starts without the one that hangs"
    );
    session.stop();
    let summary = session.join().unwrap();
    let hung = summary.providers.iter().find(|provider| provider.pid == hanging.id()).unwrap();
    assert!(!hung.answered_start && !hung.answered_stop, "{hung:?}");
    let archive = Archive::read(&output);
    assert_eq!(archive.of_process(pid).unwrap().numbers("instant"), Vec::from_iter(0..1000));
    send(&hanging, Signal::Cont);
    assert_eq!(Run::end_of(hanging).code(), 0);
}

#[test]
fn events_before_a_provider_hung_are_in_the_archive() {
    for mode in crate::harness::MODES {
        let mode = crate::harness::session::mode_named(mode);
        let session = Session::with(SessionConfig { mode, ..impatient() });
        let hanging = start(session.subject(&["until-signal"]));
        stop(&hanging);
        let garbage = send_garbage(session.socket());
        let other = start(session.subject(&["idle"]));
        let other_pid = u64::from(other.id());
        assert_eq!(Run::end_of(other).code(), 0);
        drop(garbage);
        let (archive, summary) = session.end();
        let hung = summary.providers.iter().find(|provider| provider.pid == hanging.id()).unwrap();
        assert!(hung.answered_start && !hung.answered_stop, "{hung:?}");
        assert_eq!(archive.of_process(hanging.id().into()).unwrap().count("before signal"), 1);
        assert!(archive.of_process(other_pid).is_some());
        send(&hanging, Signal::Kill);
        assert!(Run::end_of(hanging).0.status.code().is_none());
    }
}

#[test]
fn a_program_waits_for_a_manager_that_hangs_for_a_second_only() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("manager.sock");
    // The connection is not accepted.
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let child = subject(&["end", "return"]).env("TRACE_SOCKET", &socket).spawn().unwrap();
    let mut child = Some(child);
    wait_until("the program ends without an answer", || {
        child.as_mut().is_some_and(|child| child.try_wait().unwrap().is_some())
    });
    assert_eq!(Run::end_of(child.take().unwrap()).code(), 0);
}

/// The service thread of the first provider waits for an observer, and outlives the guard.
#[test]
fn a_provider_is_refused_while_an_earlier_one_of_its_process_stops() {
    let session = Session::start("streaming", 1 << 20);
    let run = Run::of(&mut session.subject(&["restart"]));
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(run.stderr().contains("an earlier provider has not ended"), "{run:?}");
    let (archive, _) = session.end();
    let count = |name| archive.providers.iter().map(|it| it.count(name)).sum::<usize>();
    assert_eq!(count("while the first provider stops"), 1, "it still records");
    assert_eq!(count("of the third provider"), 1);
}
