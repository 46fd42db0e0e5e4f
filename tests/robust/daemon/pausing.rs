//! `trace pause` and `trace resume`.

use std::path::Path;

use trace_manager::controller::SessionState;

use super::recorders::Place;
use super::sessions::states_of;
use super::*;
use crate::harness::Archive;

/// Returns the numbers of the words before and after the pause, which is reported once.
#[track_caller]
fn around_pause(archive: &Path) -> [Vec<u64>; 2] {
    let archive = Archive::read(archive);
    let [first, second] = &archive.providers[..] else { panic!("{:?}", archive.providers) };
    assert_eq!((first.interruptions.len(), second.interruptions.len()), (0, 1));
    let numbers = [first, second].map(|provider| provider.numbers("word"));
    assert!(numbers.iter().all(|numbers| are_consecutive(numbers) && !numbers.is_empty()));
    numbers
}

/// Waits until the only program has recorded an event in a snapshot.
fn wait_for_word(snapshot: impl Fn(&str), path: &Path, providers: usize) {
    wait_until("the program records", || {
        snapshot("now.fxt");
        let archive = Archive::read(path);
        archive.providers.len() == providers && archive.providers.last().unwrap().count("word") > 0
    });
}

#[test]
fn a_session_of_the_daemon_is_paused_and_resumed() {
    let daemon = Daemon::start();
    let _program = daemon.program("chatter");
    daemon.wait_for_programs(1);
    daemon.json(&["start", "--name", "web", "-c", "chatter", "-o", "web.fxt"]);
    daemon.wait_for_events("web", 1);
    assert_eq!(daemon.json(&["pause"]), serde_json::json!({ "session": "web" }));
    assert_eq!(daemon.json(&["status"])[0]["state"], "paused");
    let again = daemon.run(&["pause", "web"]);
    let message = "trace: session web is paused; continue it with trace resume web\n";
    assert_eq!((again.code(), again.stderr().as_str()), (0, message), "{again:?}");
    let refused = daemon.run(&["snapshot", "web", "-o", "now.fxt"]);
    assert!(refused.stderr().contains("the session does not record"), "{refused:?}");
    let resumed = daemon.run(&["resume", "web", "--add", "oth*"]);
    assert_eq!((resumed.code(), resumed.stderr().as_str()), (0, "trace: session web records\n"));
    let session = &daemon.json(&["status"])[0];
    assert_eq!(session["state"], "started");
    assert_eq!(session["categories"], serde_json::json!(["chatter", "oth*"]));
    let refused = daemon.run(&["resume"]);
    assert!(refused.stderr().contains("the session has started already"), "{refused:?}");
    let snapshot = |file: &str| drop(daemon.json(&["snapshot", "web", "-o", file]));
    wait_for_word(snapshot, &daemon.path("now.fxt"), 2);
    daemon.json(&["stop", "web"]);
    let [before, after] = around_pause(&daemon.path("web.fxt"));
    assert!(before.last() < after.first(), "nothing is recorded twice");
}

#[test]
fn records_of_before_the_pause_are_cleared_on_request() {
    let daemon = Daemon::start();
    let _program = daemon.program("chatter");
    daemon.wait_for_programs(1);
    daemon.json(&["start", "--name", "web", "-m", "circular", "-o", "web.fxt"]);
    let snapshot = |file: &str| drop(daemon.json(&["snapshot", "web", "-o", file]));
    wait_for_word(snapshot, &daemon.path("now.fxt"), 1);
    daemon.json(&["pause", "web"]);
    daemon.json(&["resume", "web", "--disposition", "clear-entire"]);
    wait_for_word(snapshot, &daemon.path("now.fxt"), 2);
    daemon.json(&["stop", "web"]);
    let archive = Archive::read(&daemon.path("web.fxt"));
    let counts: Vec<usize> = archive.providers.iter().map(|it| it.count("word")).collect();
    assert!(counts.len() == 2 && counts[0] == 0 && counts[1] > 0, "{counts:?}");
}

#[test]
fn sessions_that_cannot_be_paused_or_resumed_have_the_reason() {
    let daemon = Daemon::start();
    let run = daemon.run(&["pause"]);
    assert!(run.code() == 1 && run.stderr().contains("there is no session"), "{run:?}");
    for name in ["one", "two"] {
        daemon.json(&["start", "--name", name, "-o", &format!("{name}.fxt")]);
    }
    for command in ["pause", "resume"] {
        let run = daemon.run(&[command]);
        assert!(run.code() == 1 && run.stderr().contains("several sessions match"), "{run:?}");
    }
    daemon.json(&["stop", "one"]);
    assert_eq!(daemon.json(&["pause"]), serde_json::json!({ "session": "two" }));
    daemon.json(&["stop"]);
}

#[test]
fn a_running_recorder_is_paused_and_resumed() {
    let place = Place::new();
    let recorder = place.record(&["-o", "web.fxt"]);
    let snapshot = |file: &str| drop(place.json(&["snapshot", "web", "-o", file]));
    wait_for_word(snapshot, &place.path("now.fxt"), 1);
    let pid = recorder.pid().to_string();
    assert_eq!(place.json(&["pause", &pid]), serde_json::json!({ "session": "web" }));
    assert_eq!(place.json(&["status"])[0]["state"], "paused");
    place.json(&["resume"]);
    assert_eq!(place.json(&["status"])[0]["state"], "started");
    wait_for_word(snapshot, &place.path("now.fxt"), 2);
    let run = recorder.end();
    assert_eq!(run.code(), 0, "{run:?}");
    let paused = "another command pauses the recording; trace resume continues it\n";
    assert!(run.stderr().contains(paused), "{run:?}");
    assert!(run.stderr().contains("another command resumes the recording\n"), "{run:?}");
    assert!(!run.stderr().contains("did not answer"), "{run:?}");
    let [before, after] = around_pause(&place.path("web.fxt"));
    assert!(before.last() < after.first());
}

#[test]
fn a_client_is_notified_of_each_state_of_a_recorder() {
    use SessionState as S;
    let place = Place::new();
    let recorder = place.record(&["-o", "web.fxt"]);
    let mut watcher = place.controller();
    watcher.watch("web").unwrap();
    place.json(&["pause"]);
    place.json(&["resume"]);
    assert_eq!(recorder.end().code(), 0);
    let expected = [
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
}

/// The program ends while it is not recorded.
#[test]
fn a_paused_recorder_ends_with_its_command() {
    let place = Place::new();
    let recorder = place.record(&["-o", "web.fxt"]);
    let snapshot = |file: &str| drop(place.json(&["snapshot", "web", "-o", file]));
    wait_for_word(snapshot, &place.path("now.fxt"), 1);
    place.json(&["pause", "web"]);
    let run = recorder.end();
    assert_eq!(run.code(), 0, "{run:?}");
    let archive = Archive::read(&place.path("web.fxt"));
    assert!(are_consecutive(&archive.only().numbers("word")));
    assert_eq!(archive.only().interruptions.len(), 0);
}

#[test]
fn a_recorder_of_logs_is_not_paused() {
    let place = Place::new();
    let recorder = place.record(&["--format", "xray", "-o", "logs"]);
    let run = place.run(&["pause"]);
    let reason = "a recording in the format xray cannot be paused";
    assert!(run.code() == 1 && run.stderr().contains(reason), "{run:?}");
    assert_eq!(recorder.end().code(), 0);
}

/// A session of the daemon for one command.
#[test]
fn a_paused_session_of_attached_programs_continues() {
    let daemon = Daemon::start();
    let _program = daemon.program("chatter");
    daemon.wait_for_programs(1);
    let mut record = trace(&["record", "--attach", "all", "-o", "a.fxt", "--socket"]);
    record.arg(daemon.path("manager.sock")).current_dir(daemon.path(""));
    let child = record.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let name = format!("record-{}", child.id());
    let state = || {
        let sessions = daemon.json(&["status"]);
        sessions[0]["state"].as_str().unwrap_or_default().to_owned()
    };
    wait_until("the session records", || state() == "started");
    daemon.wait_for_events(&name, 1);
    daemon.json(&["pause", &name]);
    assert_eq!(state(), "paused");
    daemon.json(&["resume", &name]);
    let snapshot = |file: &str| drop(daemon.json(&["snapshot", &name, "-o", file]));
    wait_for_word(snapshot, &daemon.path("now.fxt"), 2);
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), Signal::Int).unwrap();
    let run = Run::end_of(child);
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(run.stderr().contains("another command resumes the recording\n"), "{run:?}");
    around_pause(&daemon.path("a.fxt"));
}
