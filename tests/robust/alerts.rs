//! Alerts, and the actions of `trace record --trigger`.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::harness::{record, trace, Archive, Provider, Run, Shape, MODES};

/// Snapshots as fast as they can be written.
const AT_ONCE: [&str; 2] = ["--min-interval", "1ns"];

/// The result of `trace record`, and its directory.
struct Recorded {
    directory: TempDir,
    run: Run,
}

impl Recorded {
    fn of(options: &[&str], role: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let run = Run::of(&mut record(options, &directory.path().join("out.fxt"), role));
        Self { directory, run }
    }

    fn archive(&self) -> Archive {
        Archive::read(&self.path("out.fxt"))
    }

    /// Returns the snapshots, the oldest first.
    fn snapshots(&self) -> Vec<Archive> {
        let names = snapshots(self.directory.path());
        names.iter().map(|name| self.read_snapshot(name)).collect()
    }

    /// Returns the only snapshot.
    fn snapshot(&self) -> Archive {
        let mut snapshots = self.snapshots();
        assert_eq!(snapshots.len(), 1, "{:?}", self.run);
        snapshots.remove(0)
    }

    fn read_snapshot(&self, name: &str) -> Archive {
        let path = self.path(name);
        let check = Run::of(trace(&["check"]).arg(&path));
        assert!([0, 3].contains(&check.code()), "well-formed: {check:?}");
        assert!(!check.stdout().contains("ends early"), "{check:?}");
        Archive::read(&path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Returns the names of all files, in order.
    fn files(&self) -> Vec<String> {
        files(self.directory.path())
    }
}

fn files(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Returns the names of the complete snapshots, the oldest first.
fn snapshots(directory: &Path) -> Vec<String> {
    let names = files(directory).into_iter();
    names.filter(|name| name.starts_with("out-snapshot-")).collect()
}

/// Returns the count of an alert in the summary.
fn alert_count(run: &Run, name: &str) -> u64 {
    let json = run.stdout();
    let alerts = json.split("\"alerts\": {").nth(1).and_then(|rest| rest.split('}').next());
    let of_name = alerts.and_then(|alerts| alerts.split(&format!("\"{name}\": ")).nth(1));
    let digits = of_name.map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next().unwrap());
    digits.map_or(0, |digits| digits.parse().unwrap())
}

#[test]
fn users_of_triggers_are_those_of_a_daemon() {
    let refused = Recorded::of(&["--trigger", "slow:stop", "--trigger-user", "all"], &["emit"]);
    assert_eq!(refused.run.code(), 125, "{:?}", refused.run);
    let hint = "--trigger-user requires --attach\nhint: ";
    assert!(refused.run.stderr().contains(hint), "{:?}", refused.run);
    assert!(!refused.path("out.fxt").exists());
}

#[test]
fn alerts_without_a_trigger_are_only_listed() {
    for mode in MODES {
        let options = [
            "-m",
            mode,
            "-c",
            "alert",
            "--trigger",
            "other:exit",
            "--trigger",
            "not recorded:stop",
        ];
        let recorded = Recorded::of(&options, &["alert-slow", "3", "0", "2"]);
        assert_eq!(recorded.run.code(), 7, "{:?}", recorded.run);
        assert!(recorded.run.stderr().contains("alerts: \"slow\"\n"), "{:?}", recorded.run);
        assert_eq!(recorded.archive().only().numbers("after"), [0, 1]);
        assert_eq!(recorded.files(), ["out.fxt"]);
    }
}

#[test]
fn stop_ends_the_recording_and_waits_for_the_command() {
    for mode in MODES {
        let role = ["alert-slow", "1000", "2000", "10"];
        let recorded = Recorded::of(&["-m", mode, "--trigger", "slow:stop"], &role);
        assert_eq!(recorded.run.code(), 7, "the command's: {:?}", recorded.run);
        assert!(recorded.run.stderr().contains("alert \"slow\": recording ends"));
        let archive = recorded.archive();
        assert_eq!(archive.only().numbers("before"), Vec::from_iter(0..1000));
        assert_eq!(archive.only().count("after"), 0, "they were after the end of recording");
    }
}

/// The archive is complete while the command continues.
#[test]
fn stop_completes_the_archive_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out.fxt");
    let mut command = record(&["--trigger", "done:stop"], &output, &["alert-until-terminated"]);
    let child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    crate::harness::wait_until("the archive is complete", || output.exists());
    assert_eq!(files(directory.path()), ["out.fxt"]);
    let pid = rustix::process::Pid::from_child(&child);
    // Signals are still forwarded to the command.
    rustix::process::kill_process(pid, rustix::process::Signal::Term).unwrap();
    let run = Run::end_of(child);
    assert_eq!(run.code(), 0);
    assert_eq!(run.stdout(), "terminated\n");
}

#[test]
fn exit_ends_both() {
    let recorded = Recorded::of(&["--trigger", "done:exit"], &["alert-until-terminated"]);
    assert_eq!(recorded.run.code(), 0, "as at a deadline: {:?}", recorded.run);
    assert_eq!(recorded.run.stdout(), "terminated\n", "it received SIGTERM");
    assert!(recorded.run.stderr().contains("the command is stopped"), "{:?}", recorded.run);
    assert_eq!(recorded.archive().providers.len(), 1);
}

/// Asserts that the events of `part` are the first ones of `all`, except scopes that were still
/// open.
fn assert_first(part: &Provider, all: &Provider) {
    let instants = |provider: &Provider| -> Vec<_> {
        let instants = provider.events.iter().filter(|event| event.shape == Shape::Instant);
        instants.cloned().collect()
    };
    let (part, all) = (instants(part), instants(all));
    assert_eq!(part, all[..part.len()]);
}

#[test]
fn a_snapshot_has_the_records_so_far_and_recording_continues() {
    for (mode, size) in
        [("streaming", "64K"), ("streaming", "16M"), ("oneshot", "16M"), ("circular", "16M")]
    {
        let options = ["-m", mode, "-b", size, "--trigger", "slow:snapshot"];
        let recorded = Recorded::of(&options, &["alert-slow", "20000", "2000", "5000"]);
        assert_eq!(recorded.run.code(), 7, "{:?}", recorded.run);
        let (snapshot, archive) = (recorded.snapshot(), recorded.archive());
        let path = recorded.path(&snapshots(recorded.directory.path())[0]);
        let report = format!("alert \"slow\": snapshot {}", path.display());
        assert!(recorded.run.stderr().contains(&report), "{:?}", recorded.run);
        assert_eq!(recorded.files().len(), 2);
        let (snapshot, archive) = (snapshot.only(), archive.only());
        assert_first(snapshot, archive);
        assert_eq!((snapshot.pid, &snapshot.name), (archive.pid, &archive.name));
        if snapshot.lost() == 0 {
            assert_eq!(snapshot.numbers("before"), Vec::from_iter(0..20_000), "{mode} {size}");
        }
        let scopes: Vec<Shape> = snapshot.named("all of it").map(|scope| scope.shape).collect();
        assert_eq!(scopes, [Shape::Begin], "still open");
        if archive.lost() == 0 {
            assert_eq!(archive.numbers("before"), Vec::from_iter(0..20_000));
            assert_eq!(archive.numbers("after"), Vec::from_iter(0..5000), "{mode}");
        }
    }
}

/// A flight recorder: the snapshot has the events before the alert, although later events have
/// overwritten them in the recording.
#[test]
fn a_circular_snapshot_holds_the_moments_before_the_alert() {
    let options = ["-m", "circular", "-b", "512K", "--trigger", "slow:snapshot"];
    let recorded = Recorded::of(&options, &["alert-slow", "100000", "2000", "100000"]);
    let (snapshot, archive) = (recorded.snapshot(), recorded.archive());
    assert_eq!(archive.only().count("before"), 0, "overwritten");
    let before = snapshot.only().numbers("before");
    assert!(before.len() > 1000, "half a buffer at least: {}", before.len());
    // If the buffer was full, the newest records are missing, and reported as lost.
    assert!(100_000 - before.last().unwrap() <= 1 + snapshot.only().lost());
    assert_eq!(snapshot.only().count("after"), 0);
}

/// Alerts during a snapshot share the next one, and the last alert has a snapshot that was taken
/// after it.
#[test]
fn the_last_alert_has_a_snapshot() {
    for mode in ["streaming", "circular"] {
        let options =
            [&["-m", mode, "--json", "--trigger", "slow:snapshot"][..], &AT_ONCE].concat();
        let recorded = Recorded::of(&options, &["alert-repeatedly", "60", "5"]);
        assert_eq!(alert_count(&recorded.run, "slow"), 60);
        let snapshots = recorded.snapshots();
        assert!((1..=60).contains(&snapshots.len()), "{:?}", recorded.files());
        let mut before = 0;
        for snapshot in snapshots {
            let numbers = snapshot.only().numbers("before");
            assert_eq!(numbers, Vec::from_iter(0..numbers.len() as u64));
            assert!(numbers.len() >= before, "later snapshots have more");
            before = numbers.len();
        }
        let too_late = recorded.run.stderr().contains("the recording ended before");
        assert!(too_late || before == 60, "{before} of 60: {:?}", recorded.run);
    }
}

#[test]
fn a_snapshot_that_cannot_be_written_is_reported_and_recording_continues() {
    let directory = tempfile::tempdir().unwrap();
    // The name of a snapshot is longer than that of the archive, and than a file's may be.
    let output = directory.path().join(format!("{}.fxt", "x".repeat(240)));
    let mut command =
        record(&["--trigger", "slow:snapshot"], &output, &["alert-repeatedly", "2", "200"]);
    let run = Run::of(&mut command);
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(run.stderr().contains("alert \"slow\": no snapshot: cannot write"), "{run:?}");
    assert_eq!(Archive::read(&output).only().count("before"), 2);
    assert_eq!(files(directory.path()).len(), 1);
}

#[test]
fn snapshots_of_a_pipe_and_malformed_triggers_are_refused() {
    let refused = |options: &[&str], output: &str| {
        let directory = tempfile::tempdir().unwrap();
        let mut command = record(options, output.as_ref(), &["end", "return"]);
        let run = Run::of(command.current_dir(&directory));
        assert_eq!(files(directory.path()), [""; 0], "{run:?}");
        (run.code(), run.stderr())
    };
    let (code, said) = refused(&["--trigger", "slow:snapshot"], "-");
    assert!(code == 125 && said.contains("an archive that is a file"), "{code}: {said}");
    for wrong in ["slow", "slow:explode", "fifteen bytes!!:stop", ":stop"] {
        let (code, said) = refused(&["--trigger", wrong], "out.fxt");
        assert!(code == 2 && said.contains("is not"), "{code}: {said}");
    }
}

/// The program is killed during snapshots. Each snapshot with its final name is complete, and so is
/// the archive.
#[test]
fn a_kill_during_a_snapshot_spoils_neither() {
    for (round, mode) in ["streaming", "circular"].into_iter().cycle().take(10).enumerate() {
        let options = ["-m", mode, "-b", "256K", "--trigger", "slow:snapshot"];
        let options = [&options[..], &AT_ONCE].concat();
        let time = (20 + 7 * round).to_string();
        let recorded = Recorded::of(&options, &["alert-until-killed", &time]);
        assert_eq!(recorded.run.code(), 128 + 9, "{:?}", recorded.run);
        assert_eq!(recorded.archive().providers.len(), 1);
        let names = snapshots(recorded.directory.path());
        for name in names.iter().rev().step_by(10) {
            recorded.read_snapshot(name);
        }
    }
}

/// The manager is killed during snapshots. Its guard completes the archive, and each snapshot with
/// its final name is complete.
#[test]
fn a_kill_of_the_manager_during_a_snapshot_spoils_neither() {
    for (round, mode) in ["streaming", "circular", "streaming", "circular"].iter().enumerate() {
        let directory = tempfile::tempdir().unwrap();
        let output = directory.path().join("out.fxt");
        let options = ["-m", mode, "-b", "512K", "--trigger", "slow:snapshot"];
        let options = [&options[..], &AT_ONCE].concat();
        let mut command = record(&options, &output, &["alert-until-killed", "2000"]);
        let mut child = command.stderr(std::process::Stdio::null()).spawn().unwrap();
        crate::harness::wait_until("there is a snapshot", || {
            !snapshots(directory.path()).is_empty()
        });
        std::thread::sleep(std::time::Duration::from_millis(7 * round as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        crate::harness::wait_until("the guard completes the archive", || output.exists());
        assert!(Archive::read(&output).only().count("number") > 0);
        for name in snapshots(directory.path()) {
            Archive::read(&directory.path().join(name));
        }
    }
}

#[test]
fn each_alert_arrives() {
    let recorded = Recorded::of(&["--json"], &["alert-many", "1500", "3000"]);
    assert_eq!(alert_count(&recorded.run, "many"), 3000, "{:?}", recorded.run);
    assert_eq!(alert_count(&recorded.run, "at run time"), 1500);
}

/// The summary and the message about a snapshot show it.
#[test]
fn names_of_alerts_are_escaped_for_the_terminal() {
    let trigger = "\u{1b}[2J\n\u{202e}x:snapshot";
    let recorded = Recorded::of(&["--trigger", trigger], &["alert-hostile-name"]);
    let shown = recorded.run.stderr();
    assert_eq!(recorded.run.code(), 0, "{shown:?}");
    assert_eq!(shown.matches(r#"alert "\u{1b}[2J\n\u{202e}x": snapshot"#).count(), 1, "{shown}");
    assert!(shown.contains(r#"alerts: "\u{1b}[2J\n\u{202e}x""#), "{shown}");
    let is_dangerous = |it: char| it.is_control() && it != '\n' || it == '\u{202e}';
    assert_eq!(shown.chars().find(|it| is_dangerous(*it)), None, "{shown:?}");
}

/// A program that raises alerts faster than the manager receives them is not disconnected. Alerts
/// that were not sent are reported.
#[test]
fn unsent_alerts_are_reported() {
    let recorded = Recorded::of(&["--json"], &["alert-many", "100000", "0"]);
    assert_eq!(recorded.run.code(), 0, "{:?}", recorded.run);
    let (many, at_run_time) =
        (alert_count(&recorded.run, "many"), alert_count(&recorded.run, "at run time"));
    assert!(many > 0 && at_run_time > 0);
    let archive = recorded.archive();
    assert_eq!(many + at_run_time + archive.only().unsent_alerts, 300_000);
    let recorded = Recorded::of(&["--json"], &["alert-names"]);
    assert!(recorded.run.stdout().starts_with("64\n"), "{:?}", recorded.run);
    assert_eq!(
        (alert_count(&recorded.run, "name 0"), alert_count(&recorded.run, "name 63")),
        (1, 1)
    );
    assert_eq!(recorded.archive().only().unsent_alerts, 36);
    let recorded = Recorded::of(&["--strict"], &["alert-names"]);
    assert_eq!(recorded.run.code(), 3, "{:?}", recorded.run);
    assert!(recorded.run.stderr().contains(", not recorded: 36 alerts"), "{:?}", recorded.run);
}

#[test]
fn alerts_of_signal_handlers_and_forked_children_are_their_own() {
    let recorded = Recorded::of(&["--json"], &["alert-in-handler", "500"]);
    assert_eq!(alert_count(&recorded.run, "handled"), 500, "{:?}", recorded.run);
    let recorded = Recorded::of(&["--json"], &["alert-forked"]);
    let of = |name| alert_count(&recorded.run, name);
    assert_eq!((of("parent"), of("child"), of("nobody's")), (3, 1, 0), "{:?}", recorded.run);
}

#[test]
fn an_alert_right_before_the_end_arrives() {
    for _ in 0..20 {
        let recorded =
            Recorded::of(&["--trigger", "slow:snapshot", "--json"], &["alert-slow", "1", "0", "0"]);
        assert_eq!(recorded.run.code(), 7);
        assert_eq!(alert_count(&recorded.run, "slow"), 1);
        assert_eq!(recorded.snapshot().only().count("before"), 1);
    }
}

#[test]
fn a_snapshot_is_compressed_as_the_archive_is() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out.fxt.gz");
    let role = ["alert-slow", "10", "50", "0"];
    assert_eq!(Run::of(&mut record(&["--trigger", "slow:snapshot"], &output, &role)).code(), 7);
    let names = files(directory.path());
    assert!(names.len() == 2 && names.iter().all(|name| name.ends_with(".fxt.gz")), "{names:?}");
    for name in &names {
        let path = directory.path().join(name);
        assert_eq!(std::fs::read(&path).unwrap()[..2], [0x1f, 0x8b], "{name}");
        let check = Run::of(trace(&["check"]).arg(&path));
        assert_eq!(check.code(), 0, "{check:?}");
    }
}

/// A program that traces itself has no manager to receive alerts.
#[test]
fn without_a_manager_alerts_have_no_effect() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out.fxt");
    let run = Run::of(
        crate::harness::subject(&["alert-slow", "10", "0", "0"]).env("TRACE_OUTPUT", &output),
    );
    assert_eq!(run.code(), 7, "{run:?}");
    assert_eq!(Archive::read(&output).only().count("before"), 10);
}
