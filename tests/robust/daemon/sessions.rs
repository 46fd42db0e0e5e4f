//! Sessions of a daemon, with its commands.

use std::path::Path;

use trace_manager::controller::SessionState;
use trace_protocol::socket::Socket;

use super::*;
use crate::harness::Archive;

/// Returns the number of events with this name.
fn events(archive: &Path, name: &str) -> usize {
    Archive::read(archive).providers.iter().map(|provider| provider.count(name)).sum()
}

#[test]
fn programs_from_before_and_after_the_daemon_are_recorded() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("manager.sock");
    let before = Program::start(subject(&["chatter"]).env("TRACE_SOCKET", &socket));
    let daemon = Daemon::start_in(directory, &[]);
    let after = daemon.program("chatter");
    daemon.wait_for_programs(2);

    let providers = daemon.json(&["list", "providers"]);
    let pids = providers.as_array().unwrap().iter().map(|it| it["pid"].as_u64().unwrap());
    let mut pids: Vec<u64> = pids.collect();
    pids.sort_unstable();
    let mut expected = [before.pid(), after.pid()];
    expected.sort_unstable();
    assert_eq!(pids, expected);
    let categories = daemon.json(&["list", "categories"]);
    let chatter = categories.as_array().unwrap().iter().find(|it| it["name"] == "chatter");
    assert_eq!(chatter.unwrap()["providers"], 2);

    let started = daemon.json(&["start", "--name", "both", "-o", "both.fxt", "-c", "chatter"]);
    assert_eq!(started["session"], "both");
    let late = daemon.program("chatter");
    daemon.wait_for_events("both", 3);
    let status = daemon.json(&["status"]);
    assert_eq!((&status[0]["name"], &status[0]["state"]), (&"both".into(), &"started".into()));
    assert_eq!(status[0]["providers"], 3);
    let of_programs = daemon.json(&["status", "both"]);
    assert_eq!(of_programs.as_array().unwrap().len(), 3);
    assert!(of_programs[0]["durable_used"].as_f64().unwrap() > 0.0);

    let summary = daemon.json(&["stop", "both"]);
    assert_eq!((&summary["lost"], &summary["written"]), (&0.into(), &true.into()));
    let archive = Archive::read(&daemon.path("both.fxt"));
    for pid in [before.pid(), after.pid(), late.pid()] {
        let numbers = archive.of_process(pid).unwrap().numbers("word");
        assert!(!numbers.is_empty() && are_consecutive(&numbers));
    }
    assert_eq!(daemon.json(&["list", "sessions"]), serde_json::json!([]));
}

/// The results of a session that records for weeks come late.
#[test]
fn the_status_counts_refused_programs_and_has_the_last_reason() {
    let daemon = Daemon::start();
    daemon.json(&["start", "--name", "a", "-o", "a.fxt"]);
    assert_eq!(daemon.json(&["status"])[0]["refusals"], 0);
    for _ in 0..2 {
        let socket = Socket::connect(&daemon.path("manager.sock")).unwrap();
        socket.send(&[0xff; 64], &[]).unwrap();
        assert_eq!(socket.recv(&mut [0; 64]).unwrap_or(0), 0, "it is closed");
    }
    wait_until("the refusals are counted", || daemon.json(&["status"])[0]["refusals"] == 2);
    let last = &daemon.json(&["status"])[0]["last_refusal"];
    assert_eq!(last["pid"], std::process::id());
    let text = daemon.run(&["status"]).stdout();
    let line = format!("a: 2 programs refused, at last {} (", last["name"].as_str().unwrap());
    assert!(text.contains(&line) && text.contains(last["reason"].as_str().unwrap()), "{text}");
    assert_eq!(daemon.json(&["stop", "a"])["refusals"], 2);
}

/// The buffers are large, so nothing is collected before the end.
#[test]
fn the_status_counts_events_in_buffers() {
    let daemon = Daemon::start();
    let _program = daemon.program("chatter");
    daemon.wait_for_programs(1);
    for mode in crate::harness::MODES {
        daemon.json(&["start", "--name", mode, "-m", mode, "-o", &format!("{mode}.fxt")]);
        wait_until("events are counted", || {
            std::thread::sleep(BETWEEN_REQUESTS);
            let status = daemon.json(&["status"]);
            assert_eq!(status[0]["name"], mode);
            status[0]["events"].as_u64().unwrap() > 100
        });
        daemon.json(&["stop", mode]);
    }
}

/// The archive of one would become `NAME.old`, and that of a third session would replace it.
#[test]
fn two_sessions_do_not_write_one_file() {
    let daemon = Daemon::start();
    daemon.json(&["start", "--name", "first", "-o", "out.fxt"]);
    let refused = daemon.run(&["start", "--name", "second", "-o", "out.fxt"]);
    assert_ne!(refused.code(), 0, "{refused:?}");
    assert!(refused.stderr().contains("another session writes "), "{refused:?}");
    assert_eq!(daemon.json(&["status"]).as_array().unwrap().len(), 1);
    daemon.json(&["stop", "first"]);
    daemon.json(&["start", "--name", "second", "-o", "out.fxt"]);
    // Parts have names of their own.
    for name in ["third", "fourth"] {
        daemon.json(&["start", "--name", name, "-o", "out.fxt", "--rotate", "1m"]);
    }
    for name in ["second", "third", "fourth"] {
        daemon.json(&["stop", name]);
    }
}

/// The programs have the same name, as their executable has.
#[test]
fn categories_and_buffers_are_selected_for_one_program() {
    let daemon = Daemon::start();
    let _program = daemon.program("chatter");
    daemon.wait_for_programs(1);
    let name = daemon.json(&["list", "providers"])[0]["name"].as_str().unwrap().to_owned();
    let (own, size) = (format!("{name}/chatter"), format!("{name}:1M"));
    let start = ["start", "-b", "64K", "--provider-buffer-size", &size];
    daemon.json(&[&start[..], &["--name", "own", "-o", "own.fxt", "-c", &own]].concat());
    daemon.json(&[&start[..], &["--name", "other", "-o", "other.fxt", "-c", "x/chatter"]].concat());
    daemon.wait_for_events("own", 1);
    let programs = daemon.json(&["status", "own"]);
    assert!(programs[0]["buffer_size"].as_u64().unwrap() > 512 << 10, "{programs}");
    daemon.json(&["stop", "own"]);
    daemon.json(&["stop", "other"]);
    assert!(events(&daemon.path("own.fxt"), "word") > 0);
    assert_eq!(events(&daemon.path("other.fxt"), "word"), 0);
}

#[test]
fn the_summary_of_a_stop_is_that_of_record() {
    let daemon = Daemon::start();
    let _program = daemon.program("chatter");
    daemon.wait_for_programs(1);
    let run = daemon.run(&["start", "-o", "a.fxt"]);
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(run.stderr().contains("session session-1 records; stop it with"), "{run:?}");
    daemon.wait_for_events("session-1", 1);
    let run = daemon.run(&["stop"]);
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(run.stderr().contains(" events in ") && run.stderr().contains("0 lost"), "{run:?}");
    let run = daemon.run(&["stop"]);
    assert_eq!((run.code(), run.stderr().as_str()), (1, "trace: there is no session\n"));
}

#[test]
fn two_sessions_record_their_own_categories() {
    let daemon = Daemon::start();
    let _programs = [daemon.program("chatter"), daemon.program("alert-chatter")];
    daemon.wait_for_programs(2);
    daemon.json(&["start", "--name", "all", "-o", "all.fxt", "-c", "chatter"]);
    let options = ["-m", "circular", "-b", "256K", "-c", "alert"];
    daemon.json(&[&["start", "--name", "alerts", "-o", "alerts.fxt"], &options[..]].concat());
    let run = daemon.run(&["start", "--name", "all", "-o", "other.fxt"]);
    assert!(run.stderr().contains("a session has the name 'all' already"), "{run:?}");
    daemon.wait_for_events("all", 1);
    wait_until("a snapshot has events", || {
        daemon.json(&["snapshot", "alerts", "-o", "snapshot.fxt"]);
        events(&daemon.path("snapshot.fxt"), "number") > 0
    });
    daemon.json(&["stop", "alerts"]);
    daemon.wait_for_events("all", 1);
    daemon.json(&["stop", "all"]);
    let archive = Archive::read(&daemon.path("all.fxt"));
    let chatter = archive.providers.iter().find(|provider| provider.count("word") > 0).unwrap();
    assert!(are_consecutive(&chatter.numbers("word")));
    for (name, own, other) in [("all.fxt", "word", "number"), ("alerts.fxt", "number", "word")] {
        assert!(events(&daemon.path(name), own) > 0, "{name}");
        assert_eq!(events(&daemon.path(name), other), 0, "{name}");
    }
    assert!(!daemon.path("other.fxt").exists());
}

#[test]
fn snapshots_are_taken_while_the_session_continues() {
    let daemon = Daemon::start();
    let _program = daemon.program("chatter");
    daemon.wait_for_programs(1);
    daemon.json(&["start", "--name", "flight", "-m", "circular", "-b", "1M", "-o", "end.fxt"]);
    let mut last = 0;
    for name in ["first.fxt", "second.fxt"] {
        let reached = |words: &[u64]| words.last().is_some_and(|number| *number > last);
        let mut numbers = Vec::new();
        wait_until("the snapshot has later events", || {
            let snapshot = daemon.json(&["snapshot", "flight", "-o", name]);
            assert!(snapshot["bytes"].as_u64().unwrap() > 0);
            numbers = Archive::read(&daemon.path(name)).only().numbers("word");
            reached(&numbers)
        });
        assert!(are_consecutive(&numbers));
        last = *numbers.last().unwrap();
    }
    // Standard output of the client is a descriptor of the daemon.
    let run = daemon.run(&["snapshot", "-o", "-"]);
    assert!(Archive::parse(&run.0.stdout).only().count("word") > 0);
    daemon.json(&["stop"]);
    assert!(*Archive::read(&daemon.path("end.fxt")).only().numbers("word").last().unwrap() > last);
}

#[test]
fn an_aborted_session_leaves_no_archive() {
    let daemon = Daemon::start();
    let _program = daemon.program("chatter");
    daemon.wait_for_programs(1);
    daemon.json(&["start", "--name", "a", "-o", "a.fxt"]);
    daemon.wait_for_events("a", 1);
    assert_eq!(daemon.json(&["abort", "a"])["session"], "a");
    assert!(!daemon.path("a.fxt").exists() && !daemon.path(".a.fxt.partial").exists());
}

#[test]
fn the_archive_of_a_session_that_has_ended_is_not_aborted() {
    let daemon = Daemon::start();
    let _program = daemon.program("chatter");
    daemon.wait_for_programs(1);
    daemon.json(&["start", "--name", "a", "-o", "a.fxt", "--duration", "100ms"]);
    wait_until("the session has ended", || daemon.json(&["status"])[0]["state"] == "stopped");
    let run = daemon.run(&["abort", "a"]);
    assert!(run.code() == 1 && run.stderr().contains("session a: it has ended"), "{run:?}");
    assert!(daemon.path("a.fxt").exists());
    let summary = daemon.json(&["stop", "a"]);
    assert!(summary["events"].as_u64().unwrap() > 0, "the results stay: {summary}");
}

/// The unread output is a socket in blocking mode.
#[test]
fn an_output_that_nobody_reads_affects_no_other_session() {
    let daemon = Daemon::start();
    let _program = daemon.program("chatter");
    daemon.wait_for_programs(1);
    let (reader, socket) = std::os::unix::net::UnixStream::pair().unwrap();
    rustix::net::sockopt::set_socket_send_buffer_size(&socket, 4096).unwrap();
    let mut controller = daemon.controller();
    let unread = controller.initialize(&streaming("unread"), &socket).unwrap();
    controller.start(&unread).unwrap();
    drop(socket);
    daemon.json(&["start", "--name", "read", "-o", "read.fxt"]);
    let sessions = |name: &str| {
        let sessions = daemon.controller().sessions().unwrap();
        sessions.into_iter().find(|session| session.name == name).unwrap()
    };
    wait_until("the socket is full", || {
        daemon.wait_for_events("unread", 1);
        sessions("unread").events > 5000
    });
    let summary = daemon.json(&["stop", "read"]);
    assert_eq!((&summary["lost"], &summary["written"]), (&0.into(), &true.into()));
    let numbers = Archive::read(&daemon.path("read.fxt")).only().numbers("word");
    assert!(numbers.len() > 100 && are_consecutive(&numbers));
    assert_eq!(sessions("unread").state, SessionState::Started);
    drop(reader);
    assert!(controller.stop(&unread).unwrap().failure.is_some());
}

#[test]
fn an_aborted_session_does_not_copy_its_records() {
    use std::io::Read;
    let daemon = Daemon::start();
    let _program = daemon.program("chatter");
    daemon.wait_for_programs(1);
    let (mut ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut controller = daemon.controller();
    let config = TraceConfig { defer_transfer: true, ..streaming("deferred") };
    let name = controller.initialize(&config, &theirs).unwrap();
    drop(theirs);
    controller.start(&name).unwrap();
    daemon.wait_for_events(&name, 1);
    // The copy would wait for this end, which reads after the reply.
    let summary = controller.abort(&name).unwrap().unwrap();
    assert_eq!((summary.bytes, summary.failure), (0, None));
    let mut bytes = Vec::new();
    ours.read_to_end(&mut bytes).unwrap();
    assert!(bytes.is_empty());
}

/// A pipe of the client gets the archive, at the end if the transfer is deferred.
#[test]
fn a_client_gets_the_archive_through_its_descriptor() {
    use std::io::Read;
    let daemon = Daemon::start();
    let _program = daemon.program("chatter");
    daemon.wait_for_programs(1);
    for defer_transfer in [false, true] {
        let (mut ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        let reader = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            ours.read_to_end(&mut bytes).map(|_| bytes)
        });
        let mut controller = daemon.controller();
        let config = TraceConfig { defer_transfer, ..streaming("pipe") };
        let name = controller.initialize(&config, &theirs).unwrap();
        drop(theirs);
        controller.start(&name).unwrap();
        daemon.wait_for_events("pipe", 1);
        let summary = controller.stop(&name).unwrap();
        let bytes = reader.join().unwrap().unwrap();
        assert_eq!(bytes.len() as u64, summary.bytes, "deferred: {defer_transfer}");
        assert!(Archive::parse(&bytes).only().count("word") > 0);
    }
}

#[test]
fn a_controller_stops_a_session_and_starts_it_again() {
    use trace_manager::controller::{BufferDisposition, StartRequest};
    let daemon = Daemon::start();
    let _program = daemon.program("chatter");
    daemon.wait_for_programs(1);
    let mut controller = daemon.controller();
    let path = daemon.path("a.fxt");
    let file = std::fs::File::create(&path).unwrap();
    let session = controller.initialize(&streaming("a"), &file).unwrap();
    controller.start(&session).unwrap();
    daemon.wait_for_events("a", 1);
    let first = controller.statistics("a").unwrap()[0].id;
    controller.pause(&session).unwrap();
    assert_eq!(controller.sessions().unwrap()[0].state, SessionState::Paused);
    let disposition = BufferDisposition::Retain;
    controller.start_with(StartRequest { session, disposition, ..Default::default() }).unwrap();
    assert_eq!(controller.sessions().unwrap()[0].state, SessionState::Started);
    wait_until("the program has recorded into its second buffer", || {
        std::thread::sleep(BETWEEN_REQUESTS);
        controller.flush("a").unwrap();
        let statistics = controller.statistics("a").unwrap();
        statistics.iter().any(|provider| provider.id != first && provider.events > 0)
    });
    assert_eq!(controller.stop("a").unwrap().failure, None);
    let archive = Archive::read(&path);
    let [first, second] = &archive.providers[..] else { panic!("{:?}", archive.providers) };
    let (before, after) = (first.numbers("word"), second.numbers("word"));
    assert!(are_consecutive(&before) && are_consecutive(&after));
    assert!(before.last() < after.first(), "nothing is recorded twice");
    assert_eq!((first.interruptions.len(), second.interruptions.len()), (0, 1));
}

/// The events are in the buffer of the program.
#[test]
fn the_events_of_programs_add_up_to_those_of_their_session() {
    let daemon = Daemon::start();
    let _program = daemon.program("chatter");
    daemon.wait_for_programs(1);
    let mut controller = daemon.controller();
    let mode = trace_protocol::mode::BufferingMode::Circular;
    let config = TraceConfig { mode, ..streaming("a") };
    let file = std::fs::File::create(daemon.path("a.fxt")).unwrap();
    let session = controller.initialize(&config, &file).unwrap();
    controller.start(&session).unwrap();
    wait_until("both have the events", || {
        let programs: u64 = controller.statistics("a").unwrap().iter().map(|it| it.events).sum();
        programs > 0 && controller.sessions().unwrap()[0].events == programs
    });
    assert_eq!(controller.stop("a").unwrap().failure, None);
}

#[test]
fn a_client_waits_for_alerts_and_states() {
    use trace_manager::controller::{SessionEvent, SessionState};
    let daemon = Daemon::start();
    let mut controller = daemon.controller();
    let file = std::fs::File::create(daemon.path("a.fxt")).unwrap();
    let name = controller.initialize(&streaming("a"), &file).unwrap();
    controller.watch(&name).unwrap();
    controller.start(&name).unwrap();
    let _program = daemon.program("alert-chatter");
    let mut states = Vec::new();
    loop {
        match controller.next_event(crate::harness::PATIENCE).unwrap().expect("an event") {
            SessionEvent::State { state, .. } => states.push(state),
            SessionEvent::Alert { session, alert } => {
                assert_eq!((session.as_str(), alert.as_str()), ("a", "flood"));
                break;
            }
            event => panic!("{event:?}"),
        }
    }
    let expected = [SessionState::Initialized, SessionState::Starting, SessionState::Started];
    assert_eq!(states, expected);
    controller.stop(&name).unwrap();
}

/// The states of a session, of which a client is notified until it is removed.
pub(super) fn states_of(watcher: &mut Controller) -> Vec<SessionState> {
    use trace_manager::controller::SessionEvent;
    let mut states = Vec::new();
    while states.last() != Some(&SessionState::Terminated) {
        let event = watcher.next_event(crate::harness::PATIENCE).unwrap().expect("an event");
        if let SessionEvent::State { state, .. } = event {
            states.push(state);
        }
    }
    states
}

#[test]
fn another_client_is_notified_of_each_state_of_a_session() {
    use SessionState as S;
    let daemon = Daemon::start();
    let (mut controller, mut watcher) = (daemon.controller(), daemon.controller());
    let file = std::fs::File::create(daemon.path("a.fxt")).unwrap();
    let name = controller.initialize(&streaming("a"), &file).unwrap();
    watcher.watch(&name).unwrap();
    controller.start(&name).unwrap();
    daemon.json(&["pause", "a"]);
    daemon.json(&["resume", "a"]);
    controller.stop(&name).unwrap();
    let expected = [
        S::Initialized,
        S::Starting,
        S::Started,
        S::Pausing,
        S::Paused,
        S::Starting,
        S::Started,
        S::Stopping,
        S::Stopped,
        S::Terminated,
    ];
    assert_eq!(states_of(&mut watcher), expected);
    daemon.json(&["start", "--name", "a", "--trigger", "alert:flood:stop", "-o", "b.fxt"]);
    watcher.watch(&name).unwrap();
    let _program = daemon.program("alert-chatter");
    wait_until("a trigger stops it", || daemon.json(&["status"])[0]["state"] == "stopped");
    daemon.json(&["stop", "a"]);
    let states = states_of(&mut watcher);
    assert_eq!(states, [S::Started, S::Stopping, S::Stopped, S::Terminated]);
}

/// There are no such files without a trigger or a rotation.
#[test]
fn limits_of_files_that_are_not_written_are_refused() {
    let daemon = Daemon::start();
    for (options, reason) in [
        (&["--keep", "2"][..], "--keep requires --trigger or --rotate"),
        (&["--max-size", "1M"], "--max-size requires --trigger"),
        (&["--max-size", "1M", "--rotate", "1M"], "--max-size requires --trigger"),
    ] {
        let run = daemon.run(&[&["start", "-o", "a.fxt"], options].concat());
        assert!(run.code() == 1 && run.stderr().contains(reason), "{run:?}");
    }
    daemon.json(&["start", "-o", "a.fxt", "--rotate", "1M", "--keep", "2"]);
}

#[test]
fn the_categories_of_a_running_session_are_shown_and_changed() {
    let daemon = Daemon::start();
    let _program = daemon.program("chatter");
    daemon.json(&["start", "--name", "web", "-c", "other", "-o", "out.fxt"]);
    assert_eq!(daemon.json(&["categories"])["categories"], serde_json::json!(["other"]));
    let changed = daemon.json(&["categories", "web", "--add", "chat*", "--remove", "other"]);
    assert_eq!(changed["categories"], serde_json::json!(["chat*"]));
    assert_eq!(daemon.json(&["status"])[0]["categories"], serde_json::json!(["chat*"]));
    daemon.wait_for_events("web", 1);
    let table = daemon.run(&["categories", "web"]);
    assert_eq!(table.stdout(), "chat*\n", "{table:?}");
    for (wrong, reason) in [
        (&["categories", "none", "--add", "x"][..], "there is no session 'none'"),
        (&["categories", "none"], "there is no session 'none'"),
        (&["categories", "web", "--add", "#none"], "there is no category group '#none'"),
        (&["categories", "web", "--add=-x"], "exclude a category by removing it"),
    ] {
        let run = daemon.run(wrong);
        assert!(run.code() == 1 && run.stderr().contains(reason), "{run:?}");
    }
    let summary = daemon.json(&["stop"]);
    assert!(summary["events"].as_u64().unwrap() > 0, "{summary}");
    let provider = &summary["providers"][0];
    assert_eq!(provider["lost_by_reason"], serde_json::json!({}), "{provider}");
    assert!(provider["durable_used"].as_f64().unwrap() > 0.0, "{provider}");
    assert!(provider["wrapped_count"].is_u64() && provider["buffer_size"].is_u64(), "{provider}");
}
