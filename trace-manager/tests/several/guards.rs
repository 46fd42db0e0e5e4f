//! Guards complete the archives of all sessions of a manager that is killed.

use std::io::{BufRead, BufReader};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use trace_manager::{run_guard, Guard, GuardOutcome};
use trace_protocol::socket::{Listener, Socket};

use super::*;

/// The variable with the directory of the sockets and archives.
pub(crate) const DIRECTORY: &str = "TRACE_TEST_DIRECTORY";

/// The mode of the program's second session.
const MODE: &str = "TRACE_TEST_MODE";

/// Not a test: a manager with two guarded sessions, of which the second starts on a line of
/// standard input.
#[test]
#[ignore = "the program that the tests run"]
fn program() {
    let directory = std::env::var(DIRECTORY).unwrap();
    let directory = Path::new(&directory);
    let config_of_second = match std::env::var(MODE).unwrap().as_str() {
        "circular" => config(BufferingMode::Circular, &["a", "b"]),
        "rotated" => rotation::rotated(rotation::PART, &["a", "b"]),
        _ => config(BufferingMode::Streaming, &["a", "b"]),
    };
    let manager = Manager::bind(&directory.join("manager.sock")).unwrap();
    let start = |name, config| start_guarded(&manager, directory, name, config);
    // The circular session is joined while it records.
    let mode_of_first = match std::env::var(MODE).unwrap().as_str() {
        "flight" => BufferingMode::Circular,
        _ => BufferingMode::Streaming,
    };
    let _first = start("first.fxt", config(mode_of_first, &["a"]));
    std::io::stdin().read_line(&mut String::new()).unwrap();
    let second = start("second.fxt", config_of_second);
    assert!(second.wait_state(trace_manager::SessionState::Started, LONG));
    println!("joined");
    std::thread::sleep(Duration::from_secs(60));
}

/// Starts a session whose guard the test runs.
pub(crate) fn start_guarded(
    manager: &Manager,
    directory: &Path,
    name: &str,
    config: SessionConfig,
) -> SessionHandle {
    let (guard, theirs) = Guard::pair().unwrap();
    let socket = Socket::connect(&directory.join("guards.sock")).unwrap();
    socket.send(&[0], &[theirs.as_fd()]).unwrap();
    let target = ArchiveTarget::File(directory.join(name));
    let session = manager.start_guarded(config, target, guard).unwrap();
    println!("started");
    session
}

/// Receives the guard's end of a session, and runs the guard on a thread.
pub(crate) fn guard(listener: &Listener) -> JoinHandle<GuardOutcome> {
    let mut ends: Vec<OwnedFd> = Vec::new();
    let connection = listener.accept().unwrap();
    assert_eq!(connection.recv_with_fds(&mut [0], &mut ends).unwrap(), 1);
    std::thread::spawn(move || run_guard(ends.remove(0)))
}

fn manager(directory: &Path, mode: &str) -> Child {
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["--ignored", "--exact", "guards::program", "--nocapture"]);
    program.env(DIRECTORY, directory).env(MODE, mode);
    program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

/// Kills a manager with two sessions. Returns the directory of their archives, and what the program
/// recorded.
fn killed(mode: &str) -> (TempDir, program::Recorded) {
    let directory = tempfile::tempdir().unwrap();
    let listener = Listener::bind(&directory.path().join("guards.sock")).unwrap();
    let mut child = manager(directory.path(), mode);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut wait_for = |line: &str| {
        assert!(lines.any(|found| found.unwrap().ends_with(line)), "the manager fails");
    };
    let first = guard(&listener);
    wait_for("started");
    let program = Program::start(&directory.path().join("manager.sock"), "one");
    program.run(1000);
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), b"\n").unwrap();
    let second = guard(&listener);
    wait_for("joined");
    program.run(4000);
    child.kill().unwrap();
    child.wait().unwrap();
    let outcomes = [first, second].map(|guard| guard.join().unwrap());
    for outcome in outcomes {
        assert!(matches!(outcome, GuardOutcome::Completed { missing: 0, .. }), "{outcome:?}");
    }
    (directory, program.end())
}

#[test]
fn each_guard_completes_its_own_archive() {
    for mode in ["streaming", "circular", "flight"] {
        let (directory, recorded) = killed(mode);
        let archive = |name| Archive::open(&directory.path().join(name));
        let (first, second) = (archive("first.fxt"), archive("second.fxt"));
        assert_eq!(first.categories(), ["a"]);
        assert_eq!(first.numbers("a"), recorded["a"], "{mode}");
        assert_eq!(second.categories(), ["a", "b"]);
        assert_eq!(second.numbers("b"), recorded["b"], "{mode}");
        let numbers = second.numbers("a");
        assert!(recorded["a"].ends_with(&numbers), "{mode}: the events from its start on");
        assert!(numbers.len() < recorded["a"].len() - 900, "{mode}: no events before its start");
    }
}

/// The last part is completed, and no record is in two parts or in none.
#[test]
fn a_guard_completes_the_last_part() {
    let (directory, recorded) = killed("rotated");
    let parts = rotation::parts(directory.path(), "second");
    assert!(parts.len() > 1, "{}", parts.len());
    assert_eq!(rotation::numbers(&parts, "b"), recorded["b"]);
    let names = std::fs::read_dir(directory.path()).unwrap();
    let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    let is_partial = |name: &std::ffi::OsString| name.to_str().unwrap().ends_with(".partial");
    assert!(!names.iter().any(is_partial), "{names:?}");
}
