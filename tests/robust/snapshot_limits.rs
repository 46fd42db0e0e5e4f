//! Names and limits of snapshots, snapshots on demand, and triggers that have no effect.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::Stdio;

use rustix::process::{kill_process, Pid, Signal};
use tempfile::TempDir;

use crate::harness::{record, trace, wait_until, Archive, Run};

/// Returns the paths of the snapshots of `out.fxt`, the oldest first.
fn snapshots(directory: &TempDir) -> Vec<PathBuf> {
    let paths = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
    let is_snapshot =
        |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("out-snapshot-");
    let mut snapshots: Vec<_> = paths.filter(is_snapshot).collect();
    snapshots.sort();
    snapshots
}

/// Records an alert `times` times with a trigger for a snapshot.
fn flapping(options: &[&str], times: &str) -> (TempDir, Run) {
    let directory = tempfile::tempdir().unwrap();
    let options = [&["--json", "--trigger", "slow:snapshot"], options].concat();
    let role = ["alert-repeatedly", times, "5"];
    let run = Run::of(&mut record(&options, &directory.path().join("out.fxt"), &role));
    assert_eq!(run.code(), 0, "{run:?}");
    (directory, run)
}

#[test]
fn a_snapshot_has_its_time_in_its_name() {
    let (directory, _) = flapping(&[], "1");
    let snapshots = snapshots(&directory);
    let name = snapshots[0].file_name().unwrap().to_str().unwrap();
    let shape = name.replace(|letter: char| letter.is_ascii_digit(), "0");
    assert_eq!(shape, "out-snapshot-00000000T000000.000Z.fxt");
    assert_eq!(snapshots.len(), 1);
}

#[test]
fn a_flapping_alert_has_one_snapshot_in_an_interval() {
    let (directory, run) = flapping(&["--min-interval", "1h"], "60");
    assert_eq!(snapshots(&directory).len(), 1, "{run:?}");
    assert!(run.stdout().contains("\"slow\": 60"), "{run:?}");
}

/// Records five alerts. Each one follows when the snapshot of the one before is there.
fn alerts_with_a_snapshot_each(options: &[&str]) -> (TempDir, Run, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let options = [&["--json", "--trigger", "slow:snapshot"], options].concat();
    let mut command = record(&options, &directory.path().join("out.fxt"), &["alert-on-input"]);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut seen = Vec::new();
    for number in 1..=5 {
        child.stdin.as_mut().unwrap().write_all(b".").unwrap();
        wait_until("there is a new snapshot", || {
            seen.extend(snapshots(&directory).into_iter().find(|path| !seen.contains(path)));
            seen.len() == number
        });
    }
    (directory, Run::end_of(child), seen.pop().unwrap())
}

#[test]
fn the_newest_snapshots_are_kept() {
    for (options, most) in [(["--keep", "2"], 2), (["--max-size", "1"], 1)] {
        let options = [&options[..], &["--min-interval", "1ns"]].concat();
        let (directory, run, newest) = alerts_with_a_snapshot_each(&options);
        assert_eq!(snapshots(&directory).len(), most, "{run:?}");
        assert_eq!(Archive::read(&newest).only().count("before"), 5, "{run:?}");
        let json: serde_json::Value = serde_json::from_str(&run.stdout()).unwrap();
        assert_eq!(json["snapshots_removed"], 5 - most, "{run:?}");
        assert_eq!(json["snapshots"].as_array().unwrap().len(), most, "{run:?}");
    }
}

#[test]
fn sigusr1_takes_a_snapshot_and_does_not_reach_the_command() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = record(&[], &directory.path().join("out.fxt"), &["until-signal"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    for number in 1..=2 {
        kill_process(Pid::from_child(&child), Signal::Usr1).unwrap();
        let is_complete = |path: &PathBuf| path.extension().is_some_and(|it| it == "fxt");
        wait_until("there is a snapshot", || {
            snapshots(&directory).iter().filter(|path| is_complete(path)).count() == number
        });
    }
    for snapshot in snapshots(&directory) {
        assert_eq!(Archive::read(&snapshot).only().count("before signal"), 1);
    }
    kill_process(Pid::from_child(&child), Signal::Term).unwrap();
    let run = Run::end_of(child);
    assert_eq!(run.code(), 128 + 15, "{run:?}");
    assert_eq!(run.stderr().matches("trace: snapshot ").count(), 2, "{run:?}");
}

#[test]
fn a_pipe_has_no_snapshot_on_demand_and_recording_continues() {
    let mut command = trace(&["record", "-o", "-", "--", "sh", "-c"]);
    command.arg("kill -USR1 $PPID; sleep 2; exit 3");
    let run = Run::of(&mut command);
    assert_eq!(run.code(), 3, "{run:?}");
    assert!(run.stderr().contains("no snapshot: "), "{run:?}");
}

#[test]
fn triggers_that_no_program_raised_are_reported() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out.fxt");
    let options = ["--json", "--trigger", "slwo:snapshot", "--trigger", "slow:stop"];
    let run = Run::of(&mut record(&options, &output, &["alert-slow", "1", "0", "0"]));
    assert_eq!(run.code(), 7, "{run:?}");
    let text = "no program raised the alert \"slwo\" of --trigger";
    assert!(run.stderr().contains(text) && run.stderr().contains("\"slow\""), "{run:?}");
    assert!(!run.stderr().contains("raised the alert \"slow\""), "{run:?}");
    let json: serde_json::Value = serde_json::from_str(&run.stdout()).unwrap();
    assert_eq!(json["triggers_not_raised"], serde_json::json!(["slwo"]));
}
