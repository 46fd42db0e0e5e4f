//! Conditions of `trace record --trigger`, and its actions.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Stdio;

use tempfile::TempDir;

use crate::harness::{record, wait_until, Archive, Run};

/// The result of `trace record`, and its directory.
struct Recorded {
    directory: TempDir,
    run: Run,
}

impl Recorded {
    /// Records a program that meets the condition `kind`, with these triggers.
    fn of(triggers: &[&str], kind: &str) -> Self {
        Self::with(&[], triggers, kind)
    }

    fn with(options: &[&str], triggers: &[&str], kind: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut all = options.to_vec();
        all.extend(triggers.iter().flat_map(|trigger| ["--trigger", trigger]));
        let role = ["meet-condition", kind, "0"];
        let run = Run::of(&mut record(&all, &directory.path().join("out.fxt"), &role));
        Self { directory, run }
    }

    fn snapshots(&self) -> Vec<PathBuf> {
        snapshots(&self.directory)
    }

    /// Checks that there is one snapshot, which has the events before the condition.
    #[track_caller]
    fn assert_one_snapshot(&self) {
        let snapshots = self.snapshots();
        assert_eq!(snapshots.len(), 1, "{:?}", self.run);
        let archive = Archive::read(&snapshots[0]);
        assert_eq!(archive.only().numbers("before"), Vec::from_iter(0..50));
    }
}

fn snapshots(directory: &TempDir) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory.path()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let is_snapshot = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with("out-snapshot-")
    };
    let mut snapshots: Vec<_> = paths.filter(is_snapshot).collect();
    snapshots.sort();
    snapshots
}

/// Each condition takes one snapshot, and the one of another program's event takes none.
#[test]
fn a_condition_takes_one_snapshot_with_the_events_before() {
    for (trigger, kind) in [
        ("duration:web/request>50ms", "scope"),
        ("duration:web/request>50ms:snapshot", "operation"),
        ("counter:app/queue.depth>100", "counter"),
        ("counter:app/queue>100:snapshot", "counter"),
        ("log:error", "log"),
        ("log:info", "log"),
    ] {
        let recorded = Recorded::of(&[trigger], kind);
        assert_eq!(recorded.run.code(), 0, "{trigger}: {:?}", recorded.run);
        recorded.assert_one_snapshot();
        let condition = trigger.strip_suffix(":snapshot").unwrap_or(trigger);
        let line = format!("conditions: {condition}\n");
        assert!(recorded.run.stderr().contains(&line), "{trigger}: {:?}", recorded.run);
    }
}

/// Programs stream, and the manager keeps the newest or the first records.
#[test]
fn a_condition_over_records_takes_one_snapshot_in_each_mode() {
    for mode in ["circular", "oneshot"] {
        for (trigger, kind) in [("counter:app/queue.depth>100", "counter"), ("log:error", "log")] {
            let recorded = Recorded::with(&["-m", mode], &[trigger], kind);
            assert_eq!(recorded.run.code(), 0, "{mode} {trigger}: {:?}", recorded.run);
            recorded.assert_one_snapshot();
            let line = format!("conditions: {trigger}\n");
            assert!(recorded.run.stderr().contains(&line), "{mode}: {:?}", recorded.run);
        }
    }
}

/// The first operations make way for the last one, which is reported.
#[test]
fn operations_without_an_end_do_not_end_the_evaluation() {
    let trigger = "duration:web/separate>50ms:status=4";
    let recorded = Recorded::of(&[trigger], "operations without an end");
    assert_eq!(recorded.run.code(), 4, "{:?}", recorded.run);
    let line = "the trigger 'duration:web/separate>50ms' was not observed completely";
    assert!(recorded.run.stderr().contains(line), "{:?}", recorded.run);
}

#[test]
fn a_condition_that_does_not_hold_takes_no_snapshot() {
    let triggers = [
        "duration:web/request>1h",
        "duration:web/other>1h",
        "counter:app/queue.depth>200",
        "counter:app/queue.depth<3",
        "counter:app/queue.depth>1 for 1h",
        "drop",
        "death",
        "every:1h",
    ];
    let recorded = Recorded::of(&triggers, "counter");
    assert_eq!(recorded.run.code(), 0, "{:?}", recorded.run);
    assert!(recorded.snapshots().is_empty(), "{:?}", recorded.run);
    assert!(!recorded.run.stderr().contains("conditions:"), "{:?}", recorded.run);
}

/// The counter keeps its value after its last record.
#[test]
fn a_counter_stays_over_its_limit_for_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let options = ["--trigger", "counter:app/queue.depth>100 for 100ms:stop"];
    let role = ["meet-condition", "counter", "600000"];
    let mut record = record(&options, &directory.path().join("out.fxt"), &role);
    let mut running = record.stderr(Stdio::piped()).spawn().unwrap();
    // The summary is complete while the program sleeps.
    let mut lines = BufReader::new(running.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("open it with trace view")));
    // Signals are still forwarded to the command.
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&running),
        rustix::process::Signal::Term,
    )
    .unwrap();
    running.wait().unwrap();
}

#[test]
fn the_death_of_the_command_takes_a_snapshot_in_each_mode() {
    for (mode, kind) in [("circular", "abort"), ("streaming", "panic"), ("oneshot", "abort")] {
        let recorded = Recorded::with(&["-m", mode], &["death"], kind);
        assert_eq!(recorded.run.code(), if kind == "abort" { 134 } else { 101 });
        recorded.assert_one_snapshot();
    }
}

#[test]
fn triggers_set_the_exit_status_of_a_command_that_succeeds() {
    for (triggers, kind, status) in [
        (["log:error:status=9", "drop"], "log", 9),
        (["log:error:exit=8", "drop"], "log", 8),
        (["log:error:status=9", "drop"], "nothing", 0),
        (["death:status=9", "drop"], "panic", 9),
    ] {
        let recorded = Recorded::of(&triggers, kind);
        assert_eq!(recorded.run.code(), status, "{triggers:?} {kind}: {:?}", recorded.run);
        assert!(recorded.snapshots().is_empty(), "{:?}", recorded.run);
    }
}

/// The command gets the path of a complete archive, also if the archive is compressed at the end.
#[test]
fn commands_get_the_path_of_a_snapshot() {
    for name in ["out.fxt", "out.fxt.gz"] {
        let directory = tempfile::tempdir().unwrap();
        let list = directory.path().join("list");
        let command = format!("log:error:run:cp -t '{}' \"$1\"", list.display());
        fs::create_dir(&list).unwrap();
        let options = ["--trigger", command.as_str()];
        let role = ["meet-condition", "log", "0"];
        let run = Run::of(&mut record(&options, &directory.path().join(name), &role));
        assert_eq!(run.code(), 0, "{run:?}");
        let copies: Vec<_> = fs::read_dir(&list).unwrap().map(|it| it.unwrap().path()).collect();
        let [snapshot] = &snapshots(&directory)[..] else { panic!("{run:?}") };
        let [copy] = &copies[..] else { panic!("{run:?}") };
        assert_eq!(copy.file_name(), snapshot.file_name());
        assert_eq!(fs::read(copy).unwrap(), fs::read(snapshot).unwrap());
    }
}

#[test]
fn a_command_that_fails_is_reported() {
    let recorded = Recorded::of(&["log:error:run:exit 3 #"], "log");
    assert_eq!(recorded.run.code(), 0, "{:?}", recorded.run);
    assert!(recorded.run.stderr().contains("the command of log:error failed: exit status: 3"));
}

#[test]
fn a_signal_takes_the_snapshots_of_its_trigger() {
    let directory = tempfile::tempdir().unwrap();
    let options = ["--trigger", "signal:USR2:keep=1:min-interval=1ns"];
    let role = ["meet-condition", "nothing", "600000"];
    let mut running = record(&options, &directory.path().join("out.fxt"), &role).spawn().unwrap();
    let pid = rustix::process::Pid::from_child(&running);
    let signal = |signal| rustix::process::kill_process(pid, signal).unwrap();
    // The partial archive exists once signals are handled.
    wait_until("it records", || fs::read_dir(directory.path()).unwrap().count() > 0);
    for _ in 0..2 {
        let before = snapshots(&directory);
        signal(rustix::process::Signal::Usr2);
        wait_until("a new snapshot, which replaces the one before", || {
            let now = snapshots(&directory);
            now.len() == 1 && now != before
        });
    }
    signal(rustix::process::Signal::Term);
    running.wait().unwrap();
}

#[test]
fn a_schedule_repeats() {
    let directory = tempfile::tempdir().unwrap();
    let options = ["--trigger", "every:10ms:min-interval=1ns"];
    let role = ["meet-condition", "nothing", "600000"];
    let mut running = record(&options, &directory.path().join("out.fxt"), &role).spawn().unwrap();
    wait_until("three snapshots", || snapshots(&directory).len() >= 3);
    let pid = rustix::process::Pid::from_child(&running);
    rustix::process::kill_process(pid, rustix::process::Signal::Term).unwrap();
    running.wait().unwrap();
}

#[test]
fn names_that_no_program_has_are_reported() {
    let triggers = ["duration:web/requst>1ms", "counter:app/queue.dept>1", "duration:web/other>1h"];
    let recorded = Recorded::of(&triggers, "nothing");
    let stderr = recorded.run.stderr();
    for unknown in &triggers[..2] {
        let line = format!("no program has the category and name of the trigger '{unknown}'");
        assert!(stderr.contains(&line), "{stderr}");
    }
    assert!(!stderr.contains(triggers[2]), "{stderr}");
}

#[test]
fn triggers_that_cannot_be_evaluated_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out.fxt");
    for (options, why) in [
        (&["--trigger", "log:loud"][..], "'loud' is not a log level"),
        (&["--trigger", "drop:restart"], "'restart' is not an action"),
    ] {
        let run = Run::of(&mut record(options, &output, &["meet-condition", "nothing", "0"]));
        assert!(run.code() != 0 && run.stderr().contains(why), "{options:?}: {run:?}");
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "no archive is left");
}
