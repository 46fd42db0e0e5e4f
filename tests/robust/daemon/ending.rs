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

/// The archive has the events from before the stop.
#[test]
fn a_strict_stop_reports_a_program_that_does_not_reply() {
    let daemon = Daemon::start();
    let program = daemon.program("chatter");
    daemon.wait_for_programs(1);
    let start =
        |name| daemon.json(&["start", "--name", name, "--stop-timeout", "100ms", "-o", name]);
    start("a");
    daemon.wait_for_events("a", 1);
    let signal = |signal| kill_process(Pid::from_raw(program.pid() as i32).unwrap(), signal);
    signal(Signal::Stop).unwrap();
    let strict = daemon.run(&["stop", "a", "--strict"]);
    assert_eq!(strict.code(), 3, "{strict:?}");
    assert!(strict.stderr().contains("did not answer the stop"), "{strict:?}");
    let numbers = Archive::read(&daemon.path("a")).only().numbers("word");
    assert!(!numbers.is_empty() && are_consecutive(&numbers));
    signal(Signal::Cont).unwrap();
    start("b");
    daemon.wait_for_events("b", 1);
    let complete = daemon.run(&["stop", "b", "--quiet"]);
    assert_eq!(complete.code(), 0, "{complete:?}");
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

/// The daemon is killed twice. Each time, the next one continues the session in a further part, of
/// which the first event is the time between.
#[test]
fn a_session_that_is_kept_alive_goes_on_after_kills_of_the_daemon() {
    for mode in ["streaming", "circular", "oneshot"] {
        let mut daemon = Daemon::start();
        let program = daemon.program("chatter");
        daemon.wait_for_programs(1);
        let size = if mode == "oneshot" { "64M" } else { "1M" };
        let options = ["start", "--name", "a", "-o", "a.fxt", "--keep-alive", "-m", mode, "-b"];
        daemon.json(&[&options[..], &[size]].concat());
        let mut last = 0;
        for part in ["a.fxt", "a.2.fxt", "a.3.fxt"] {
            wait_until("the program is recorded", || {
                std::thread::sleep(BETWEEN_REQUESTS);
                let sessions = daemon.controller().sessions().unwrap();
                assert_eq!((sessions.len(), &sessions[0].name), (1, &"a".to_owned()));
                sessions[0].events > 0
            });
            if part == "a.3.fxt" {
                daemon.json(&["stop", "a"]);
            } else {
                daemon.signal(Signal::Kill);
                assert_eq!(daemon.wait(), None);
                let empty = tempfile::tempdir().unwrap();
                let directory = std::mem::replace(&mut daemon.directory, empty);
                daemon = Daemon::start_in(directory, &[]);
            }
            let path = daemon.path(part);
            wait_until("the part is complete", || path.exists());
            let archive = Archive::read(&path);
            let own = archive.of_process(program.pid()).unwrap();
            let words = own.numbers("word");
            assert!(are_consecutive(&words) && words[0] > last, "{mode} {part}");
            last = *words.last().unwrap();
            let gaps = archive.providers.iter().flat_map(|it| &it.interruptions);
            let gaps: Vec<_> = gaps.collect();
            assert_eq!(gaps.len(), usize::from(part != "a.fxt"), "{mode} {part}");
            assert!(gaps.iter().all(|(from, to)| from < to), "{gaps:?}");
        }
        let kept = std::fs::read_dir(daemon.path(".trace-sessions")).unwrap();
        assert_eq!(kept.count(), 0, "the session has ended");
    }
}

#[test]
fn a_session_of_a_pipe_is_not_kept_alive() {
    let daemon = Daemon::start();
    let run = daemon.run(&["start", "--keep-alive", "-o", "-"]);
    assert_eq!(run.code(), 1, "{run:?}");
    assert!(run.stderr().contains("requires a directory as the output"), "{run:?}");
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
    let status = daemon.json(&["status", "a"]);
    let ends: Vec<_> = status.as_array().unwrap().iter().map(|it| it["end"].clone()).collect();
    assert_eq!(ends, [Value::from("ended before the session"), Value::Null]);
    assert!(status[0]["events"].as_u64() > Some(0));
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

/// The program stops for the last one before it has saved its buffer for the first one.
#[test]
fn sessions_that_stop_one_right_after_the_other_have_their_last_records() {
    let daemon = Daemon::start();
    let _program = daemon.program("chatter");
    daemon.wait_for_programs(1);
    let names = ["a", "b"].map(str::to_owned);
    for (round, mode) in ["circular", "streaming"].repeat(6).into_iter().enumerate() {
        let output = |name: &str| format!("{name}.{round}.fxt");
        for name in &names {
            let options = ["-m", mode, "-c", "chatter", "-o", &output(name)];
            daemon.json(&[&["start", "--name", name], &options[..]].concat());
        }
        daemon.wait_for_events("b", 1);
        let mut controller = daemon.controller();
        let before: Vec<u64> = controller.sessions().unwrap().iter().map(|it| it.events).collect();
        let results = controller.stop_all(&names, || {});
        assert!(results.iter().all(Result::is_ok), "{results:?}");
        for (name, before) in names.iter().zip(before) {
            let archive = Archive::read(&daemon.path(&output(name)));
            let numbers = archive.only().numbers("word");
            assert!(are_consecutive(&numbers), "{mode}");
            assert!(numbers.len() as u64 >= before, "{mode} {name}: {} of {before}", numbers.len());
        }
    }
}
