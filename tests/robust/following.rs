//! `trace follow`, of a session of the daemon and of a growing archive.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use rustix::process::{kill_process, Pid, Signal};
use serde_json::Value;

use crate::daemon::Daemon;
use crate::harness::{record, trace, wait_until, Archive, Run};

/// Starts `trace follow`, which writes to `output`.
fn follow(daemon: &Daemon, options: &[&str], output: &str) -> Child {
    let mut command = trace(&["follow", "--socket"]);
    command.arg(daemon.path("manager.sock")).args(options);
    command.stdout(File::create(daemon.path(output)).unwrap()).spawn().unwrap()
}

fn wait_for_bytes(path: &Path) {
    wait_until("events are streamed", || std::fs::metadata(path).unwrap().len() > 20_000);
}

fn words(path: &Path) -> BTreeSet<u64> {
    let archive = Archive::read(path);
    let events = archive.only().events.iter().filter(|event| event.name == "word");
    events.map(|event| event.number()).collect()
}

#[test]
fn a_session_is_followed_as_an_archive_and_as_lines() {
    let daemon = Daemon::start();
    let _program = daemon.program("chatter");
    daemon.json(&["start", "--name", "web", "-o", "out.fxt"]);
    let mut all = follow(&daemon, &["web", "--format", "fxt"], "live.fxt");
    let mut lines = follow(&daemon, &["-n", "word", "--format", "json"], "lines");
    let mut none = follow(&daemon, &["-t", "no such thread"], "none");
    wait_for_bytes(&daemon.path("live.fxt"));
    wait_for_bytes(&daemon.path("lines"));
    daemon.json(&["stop"]);
    for child in [&mut all, &mut lines, &mut none] {
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
    let (recorded, live) = (words(&daemon.path("out.fxt")), words(&daemon.path("live.fxt")));
    let first = *live.first().unwrap();
    assert!(recorded.range(first..).eq(&live), "from its start on");
    let text = std::fs::read_to_string(daemon.path("lines")).unwrap();
    for line in text.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        assert_eq!((&event["name"], &event["type"]), (&"word".into(), &"instant".into()));
        assert!(event["arguments"]["number"].is_number() && event["time_ns"].is_number(), "{line}");
        assert_eq!(event["provider"], "subject");
    }
    assert_eq!(std::fs::read_to_string(daemon.path("none")).unwrap(), "");
}

/// The guard completes the archive, but nothing the stream.
#[test]
fn a_stream_that_ends_with_the_daemon_is_incomplete() {
    let daemon = Daemon::start();
    let _program = daemon.program("chatter");
    daemon.json(&["start", "--name", "web", "-o", "out.fxt"]);
    let mut command = trace(&["follow", "--format", "json", "--socket"]);
    command.arg(daemon.path("manager.sock")).stdout(File::create(daemon.path("lines")).unwrap());
    let follow = command.stderr(Stdio::piped()).spawn().unwrap();
    wait_for_bytes(&daemon.path("lines"));
    daemon.signal(Signal::Kill);
    let output = follow.wait_with_output().unwrap();
    let messages = String::from_utf8(output.stderr).unwrap();
    wait_until("the guard completes the archive", || daemon.path("out.fxt").exists());
    assert_eq!(output.status.code(), Some(3), "{messages}");
    let lost = ", and the last records of 1 program are missing here";
    assert_eq!(messages, end_with_the_daemon(&daemon, lost));
}

/// Returns the message about a stream that has ended with the daemon: its archive is not damaged.
fn end_with_the_daemon(daemon: &Daemon, lost: &str) -> String {
    let archive = daemon.path("out.fxt").canonicalize().unwrap();
    format!(
        "trace: the daemon has closed the connection{lost}\nhint: what was recorded until then is \
         in {}, if the session had a guard\n",
        archive.display()
    )
}

#[test]
fn only_streaming_sessions_are_followed() {
    let daemon = Daemon::with_config("[session.flight]\nmode = 'circular'\n");
    wait_until("the session records", || daemon.json(&["status"])[0]["state"] == "started");
    let run = daemon.run(&["follow", "flight"]);
    assert_eq!(run.code(), 1, "{run:?}");
    assert!(
        run.stderr()
            .contains("only a session in streaming mode, or with --shared, can be followed"),
        "{run:?}"
    );
    let run = daemon.run(&["follow", "other"]);
    assert!(run.code() == 1 && run.stderr().contains("there is no session 'other'"), "{run:?}");
}

/// The buffer is so large that a busy machine loses no records.
#[test]
fn an_archive_is_followed_until_it_is_complete() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.fxt");
    let mut recorder = record(&["-b", "16M"], &path, &["chatter"]);
    let mut recorder = recorder.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    wait_until("the archive is written", || directory.path().join(".out.fxt.partial").exists());
    let live = File::create(directory.path().join("live.fxt")).unwrap();
    let mut follow = trace(&["follow", "--format", "fxt"]).arg(&path).stdout(live).spawn().unwrap();
    wait_for_bytes(&directory.path().join("live.fxt"));
    drop(recorder.stdin.take());
    assert!(recorder.wait().unwrap().success());
    assert_eq!(follow.wait().unwrap().code(), Some(0));
    assert_eq!(words(&path), words(&directory.path().join("live.fxt")));
}

/// Returns whether a process has a socket.
fn has_socket(process: u32) -> bool {
    let files = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    let mut targets = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
    targets.any(|target| target.to_string_lossy().starts_with("socket:"))
}

/// The buffers are never full, so that records are saved only at a flush.
#[test]
fn a_file_is_flushed_again_after_its_recorder_was_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let mut recorder = record(&["-b", "256M"], &path("out.fxt"), &["chatter"]);
    recorder.env("XDG_RUNTIME_DIR", directory.path());
    let mut recorder = recorder.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    wait_until("the archive is written", || path(".out.fxt.partial").exists());
    let mut follow = trace(&["follow", "--format", "fxt"]);
    follow.arg(path("out.fxt")).env("XDG_RUNTIME_DIR", directory.path());
    let mut follow = follow.stdout(File::create(path("live.fxt")).unwrap()).spawn().unwrap();
    let received = || std::fs::metadata(path("live.fxt")).unwrap().len();
    wait_for_bytes(&path("live.fxt"));
    let pid = Pid::from_child(&recorder);
    kill_process(pid, Signal::Stop).unwrap();
    wait_until("it gives up the connection", || !has_socket(follow.id()));
    let before = received();
    kill_process(pid, Signal::Cont).unwrap();
    wait_until("it connects again", || has_socket(follow.id()));
    wait_until("events are streamed again", || received() > before + 20_000);
    drop(recorder.stdin.take());
    assert!(recorder.wait().unwrap().success());
    assert_eq!(follow.wait().unwrap().code(), Some(0));
}

/// The file has its name, so that only its records show that it is complete.
#[test]
fn a_complete_archive_is_followed_to_its_end() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.fxt");
    let run = Run::of(&mut record(&[], &path, &["work", "5"]));
    assert_eq!(run.code(), 0, "{run:?}");
    let run = Run::of(trace(&["follow"]).arg(&path));
    assert!(run.code() == 0 && !run.stdout().is_empty(), "{run:?}");
}

#[test]
fn a_file_does_not_hide_a_session_of_its_name() {
    let daemon = Daemon::start();
    let _program = daemon.program("chatter");
    std::fs::write(daemon.path("web"), [0; 64]).unwrap();
    let run = daemon.run(&["follow", "web"]);
    assert!(run.code() == 3 && run.stderr().contains("not a trace"), "the file: {run:?}");
    daemon.json(&["start", "--name", "web", "-o", "out.fxt"]);
    let run = daemon.run(&["top", "--live", "web", "--count", "1", "--json"]);
    assert_eq!(run.code(), 0, "the session: {run:?}");
}

#[test]
fn a_file_that_is_no_archive_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.fxt");
    let run = Run::of(trace(&["follow"]).arg(&path));
    assert!(run.code() == 1 && run.stderr().contains("cannot open"), "{run:?}");
    std::fs::write(&path, [0; 64]).unwrap();
    let run = Run::of(trace(&["follow"]).arg(&path));
    assert!(run.code() == 3 && run.stderr().contains("not a trace"), "{run:?}");
}

#[test]
fn the_last_seconds_of_a_session_are_shown() {
    let daemon = Daemon::start();
    let _program = daemon.program("chatter");
    daemon.json(&["start", "--name", "web", "-o", "out.fxt"]);
    let run = daemon.run(&["top", "--live", "web", "--count", "2", "--json"]);
    assert_eq!(run.code(), 0, "{run:?}");
    let last: Value = serde_json::from_str(run.stdout().lines().last().unwrap()).unwrap();
    assert_eq!(last["programs"], serde_json::json!(["subject"]), "{last}");
    assert!(last["events_per_second"].as_f64().unwrap() > 0.0, "{last}");
    let run = daemon.run(&["top", "--live", "--count", "1"]);
    assert!(run.stdout().contains("events/s, 0 lost, 1 program\n"), "{run:?}");
}

/// The last records of its program may be missing.
#[test]
fn a_session_that_ends_with_the_daemon_ends_early() {
    let mut daemon = Daemon::start();
    let _program = daemon.program("chatter");
    daemon.json(&["start", "--name", "web", "-o", "out.fxt"]);
    daemon.wait_for_events("web", 1);
    let mut top = trace(&["top", "--live", "web", "--json", "--socket"]);
    top.arg(daemon.path("manager.sock")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut top = top.spawn().unwrap();
    BufReader::new(top.stdout.as_mut().unwrap()).read_line(&mut String::new()).unwrap();
    daemon.signal(Signal::Kill);
    daemon.wait();
    let run = Run::end_of(top);
    assert_eq!(run.code(), 3, "{run:?}");
    wait_until("the guard completes the archive", || daemon.path("out.fxt").exists());
    let lost = ", and the last records of 1 program are missing here";
    assert_eq!(run.stderr(), end_with_the_daemon(&daemon, lost));
}
