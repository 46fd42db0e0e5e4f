//! Ends of the daemon, of its clients and of programs.

use super::*;
use crate::harness::Archive;

#[test]
fn a_session_ends_with_its_client_and_has_its_records() {
    let daemon = Daemon::start();
    let _program = daemon.program("chatter");
    daemon.wait_for_programs(1);
    let mut controller = daemon.controller();
    let file = std::fs::File::create(daemon.path("a.fxt")).unwrap();
    let name = controller.initialize(&streaming("a"), &file).unwrap();
    controller.start(&name).unwrap();
    daemon.wait_for_events("a", 1);
    drop(controller);
    wait_until("the session ends", || daemon.controller().sessions().unwrap().is_empty());
    assert!(Archive::read(&daemon.path("a.fxt")).only().count("word") > 0);
}

#[test]
fn a_terminated_daemon_completes_its_archives() {
    let mut daemon = Daemon::start();
    let _program = daemon.program("chatter");
    daemon.wait_for_programs(1);
    daemon.json(&["start", "--name", "a", "-o", "a.fxt"]);
    daemon.json(&["start", "--name", "b", "-m", "circular", "-o", "b.fxt"]);
    daemon.wait_for_events("a", 1);
    daemon.signal(Signal::Term);
    assert_eq!(daemon.wait(), Some(0));
    let numbers = Archive::read(&daemon.path("a.fxt")).only().numbers("word");
    assert!(!numbers.is_empty() && are_consecutive(&numbers));
    assert!(Archive::read(&daemon.path("b.fxt")).only().count("word") > 0);
    for socket in ["manager.sock", "control.sock"] {
        assert!(!daemon.path(socket).exists(), "{socket}");
    }
}

#[test]
fn a_killed_daemon_leaves_complete_archives_and_programs_find_the_next_one() {
    let mut daemon = Daemon::start();
    let program = daemon.program("chatter");
    daemon.wait_for_programs(1);
    daemon.json(&["start", "--name", "a", "-o", "a.fxt"]);
    daemon.wait_for_events("a", 1);
    daemon.signal(Signal::Kill);
    assert_eq!(daemon.wait(), None);
    wait_until("the guard completes the archive", || daemon.path("a.fxt").exists());
    let numbers = Archive::read(&daemon.path("a.fxt")).only().numbers("word");
    assert!(!numbers.is_empty() && are_consecutive(&numbers));

    let directory = std::mem::replace(&mut daemon.directory, tempfile::tempdir().unwrap());
    let next = Daemon::start_in(directory, &[]);
    next.wait_for_programs(1);
    assert_eq!(u64::from(next.controller().providers().unwrap()[0].pid), program.pid());
}

#[test]
fn a_session_survives_the_death_of_its_programs() {
    let daemon = Daemon::start();
    let program = daemon.program("chatter");
    daemon.wait_for_programs(1);
    daemon.json(&["start", "--name", "a", "-o", "a.fxt"]);
    daemon.wait_for_events("a", 1);
    let pid = program.pid();
    drop(program);
    daemon.wait_for_programs(0);
    let _second = daemon.program("chatter");
    daemon.wait_for_events("a", 1);
    let summary = daemon.json(&["stop", "a"]);
    assert_eq!(summary["providers"][0]["end"], "ended before the session");
    assert!(Archive::read(&daemon.path("a.fxt")).of_process(pid).unwrap().count("word") > 0);
}

#[test]
fn a_second_daemon_is_refused() {
    let daemon = Daemon::start();
    let mut second = trace(&["daemon", "--socket"]);
    second.arg(daemon.path("manager.sock")).arg("--dir").arg(daemon.path(""));
    let run = Run::of(&mut second);
    assert_eq!(run.code(), 1);
    assert!(run.stderr().contains("another manager listens there"), "{run:?}");
    daemon.json(&["list", "sessions"]);
}

#[test]
fn without_a_daemon_commands_name_the_remedy() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("manager.sock");
    for command in [&["status"][..], &["stop"], &["list", "groups"], &["snapshot"]] {
        let run = Run::of(trace(command).arg("--socket").arg(&socket).current_dir(&directory));
        assert_eq!(run.code(), 1, "{run:?}");
        assert!(run.stderr().contains("hint: start one with trace daemon"), "{run:?}");
    }
    assert!(std::fs::read_dir(&directory).unwrap().next().is_none(), "no output is created");
}

/// Returns the guards of a daemon.
fn guards(daemon: &Daemon) -> Vec<Pid> {
    let threads = std::fs::read_dir(format!("/proc/{}/task", daemon.child.id())).unwrap();
    let children = threads
        .filter_map(|thread| std::fs::read_to_string(thread.unwrap().path().join("children")).ok());
    let children: Vec<_> = children.collect();
    let pids = children.iter().flat_map(|pids| pids.split_whitespace());
    let is_guard = |pid: &&str| {
        std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|it| it.starts_with(b"trace-guard"))
    };
    pids.filter(is_guard).filter_map(|pid| Pid::from_raw(pid.parse().unwrap())).collect()
}

#[test]
fn a_killed_guard_is_reported() {
    let daemon = Daemon::start();
    let _program = daemon.program("chatter");
    daemon.json(&["start", "--name", "web", "-o", "out.fxt"]);
    assert_eq!(daemon.json(&["status"])[0]["guard_error"], Value::Null);
    wait_until("the guard runs", || guards(&daemon).len() == 1);
    kill_process(guards(&daemon)[0], Signal::Kill).unwrap();
    wait_until("its end is reported", || {
        daemon.json(&["status"])[0]["guard_error"] == "it has ended"
    });
    let table = daemon.run(&["status"]);
    assert!(table.stdout().contains("out.fxt (no guard: it has ended)"), "{table:?}");
    let summary = daemon.json(&["stop"]);
    assert_eq!(
        (&summary["guard_error"], &summary["error"]),
        (&"it has ended".into(), &Value::Null)
    );
    assert!(Archive::read(&daemon.path("out.fxt")).only().count("word") > 0);
}
