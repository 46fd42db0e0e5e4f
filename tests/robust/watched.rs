//! Conditions on durations that programs compare at the end of their scopes.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::harness::{record, Archive, Run};

const LONG: &str = "duration:web/request>50ms";

fn run(options: &[&str], role: &[&str]) -> (TempDir, Run) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    let role: Vec<&str> =
        role.iter().map(|word| if *word == "DIRECTORY" { path } else { word }).collect();
    let run = Run::of(&mut record(options, &directory.path().join("out.fxt"), &role));
    (directory, run)
}

fn snapshots(directory: &TempDir) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    entries.filter(|path| name(path).starts_with("out-snapshot-")).collect()
}

/// The program traces "after" once there is a snapshot.
#[test]
fn a_long_duration_takes_a_snapshot_in_every_mode_while_the_program_runs() {
    for (mode, kind) in [
        ("circular", "scope"),
        ("oneshot", "scope"),
        ("streaming", "scope"),
        ("circular", "arguments"),
        ("oneshot", "attribute"),
        ("circular", "point"),
        ("circular", "future"),
        ("oneshot", "future"),
        ("streaming", "future"),
        ("circular", "async function"),
        ("circular", "future with arguments"),
        ("circular", "cancelled future"),
        ("circular", "guard"),
        ("oneshot", "track"),
        ("circular", "span"),
        ("streaming", "span"),
    ] {
        let (directory, run) =
            run(&["-m", mode, "--trigger", LONG], &["watched", kind, "DIRECTORY"]);
        assert_eq!(run.code(), 0, "{mode} {kind}: {run:?}");
        let snapshots = snapshots(&directory);
        assert_eq!(snapshots.len(), 1, "{mode} {kind}: {run:?}");
        let archive = Archive::read(&snapshots[0]);
        let program = archive.only();
        assert_eq!(program.numbers("before"), Vec::from_iter(0..50), "{mode} {kind}");
        let has = |name: &str| program.events.iter().any(|event| event.name == name);
        assert!(has("request") && !has("after"), "{mode} {kind}");
        assert!(run.stderr().contains(&format!("conditions: {LONG}\n")), "{mode} {kind}: {run:?}");
    }
}

#[test]
fn an_open_duration_does_not_fire() {
    for mode in ["circular", "oneshot", "streaming"] {
        for kind in ["open", "open future"] {
            let (directory, run) =
                run(&["-m", mode, "--trigger", LONG], &["watched", kind, "DIRECTORY"]);
            assert_eq!(run.code(), 0, "{mode}: {run:?}");
            assert!(snapshots(&directory).is_empty(), "{mode} {kind}: {run:?}");
            assert!(!run.stderr().contains("conditions:"), "{mode} {kind}: {run:?}");
        }
    }
}

/// Scopes and operations are compared by the program, without polls, and durations of begin and end
/// by the manager. A name that has both is the manager's.
#[test]
fn each_long_duration_counts_once() {
    for mode in ["streaming", "circular"] {
        let late = ["pair", "separate", "mixed"];
        let names = ["request", "inner", "task", "operation", "span", late[0], late[1], late[2]];
        let triggers = names.map(|name| format!("duration:web/{name}>1ms:status=3"));
        let mut options = vec!["-m", mode, "--json"];
        options.extend(triggers.iter().flat_map(|trigger| ["--trigger", trigger]));
        let (_directory, run) = run(&options, &["watched-requests", "40"]);
        assert_eq!(run.code(), 3, "{mode}: {run:?}");
        let stdout = run.stdout();
        let summary: serde_json::Value = serde_json::from_str(&stdout).unwrap();
        for name in names {
            let condition = format!("duration:web/{name}>1ms");
            let times = match name {
                // The first poll of the first span is not known to be one.
                "span" => 41,
                "mixed" => 80,
                _ => 40,
            };
            assert_eq!(summary["conditions"][&condition], times, "{mode} {name}: {run:?}");
            let message = format!("the trigger '{condition}' was evaluated only when");
            let is_late = mode == "circular" && late.contains(&name);
            assert_eq!(stdout.contains(&message), is_late, "{mode} {name}: {run:?}");
        }
    }
}
