//! What the recording of the kernel is for: snapshots of the time before an alert, and the path of
//! a request through two processes.

use std::fs;

use super::can_trace;
use super::harness::{subject_path, trace, Archive, Run};
use super::schedule::{steps, Step};

/// Starts programs one after the other, and then one that raises the alert `slow`. Its exit status
/// is 7.
const ALERT: &str =
    r#"i=0; while [ $i -lt 30 ]; do sleep 0.02; i=$((i+1)); done; "$0" alert-slow 1 0 1"#;

/// The programs before the alert.
const PROGRAMS: usize = 30;

#[test]
fn a_snapshot_has_the_schedule_before_the_alert() {
    if !can_trace() {
        return;
    }
    for mode in ["streaming", "circular"] {
        let directory = tempfile::tempdir().unwrap();
        let options = ["record", "-m", mode, "--sched", "--trigger", "slow:snapshot", "-o"];
        let mut record = trace(&options);
        record.arg(directory.path().join("t.fxt")).args(["--", "sh", "-c", ALERT]);
        let run = Run::of(record.arg(subject_path()));
        assert_eq!(run.code(), 7, "{run:?}");
        let names = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
        let is_snapshot = |path: &std::path::PathBuf| path.to_string_lossy().contains("snapshot");
        let snapshots: Vec<_> = names.filter(is_snapshot).collect();
        let [snapshot] = &snapshots[..] else { panic!("{snapshots:?}: {run:?}") };
        let steps = steps(&fs::read(snapshot).unwrap());
        let is_run = |steps: &&Vec<(u64, Step)>| {
            steps.iter().any(|(_, step)| matches!(step, Step::In { .. }))
        };
        let threads = steps.values().filter(is_run).count();
        assert!(threads > PROGRAMS, "{mode}: {threads} threads");
    }
}

/// The flow begins in one process and ends in the other, which the first one wakes up.
#[test]
fn the_path_of_a_request_leads_through_two_processes() {
    if !can_trace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    let mut record = trace(&["record", "-c", "asking,kernel:sched", "-o"]);
    let run = Run::of(record.arg(&output).arg("--").arg(subject_path()).arg("ask"));
    assert_eq!(run.code(), 0, "{run:?}");
    let archive = Archive::read(&output);
    let process = |name: &str| {
        let subjects = archive.providers.iter().filter(|it| it.name == "subject");
        let mut found = subjects.filter(|it| it.count(name) > 0);
        found.next().unwrap_or_else(|| panic!("no {name}")).pid
    };
    let (asking, answering) = (process("ask"), process("answer"));
    assert_ne!(asking, answering);
    // The first request waits until the other process has started.
    let mut path = trace(&["critical-path", "--flow", "-n", "request", "--id", "7", "--json"]);
    let run = Run::of(path.arg(&output));
    assert_eq!(run.code(), 0, "{run:?}");
    let json: serde_json::Value = serde_json::from_str(&run.stdout()).unwrap();
    let path = json["path"].as_array().unwrap();
    let is_at = |segment: &&serde_json::Value, process: u64| segment["process"] == process;
    assert!(path.iter().any(|it| is_at(&it, asking)), "{json:#}");
    let by = |segment: &serde_json::Value| segment["wait"]["by"]["process"].as_u64();
    let leads_to_other = path.iter().any(|it| is_at(&it, answering) || by(it) == Some(answering));
    assert!(leads_to_other, "{json:#}");
}
