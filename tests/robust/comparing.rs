//! `trace diff` on real runs: it reports no change for the same program, and only the longer
//! durations for a slower one.

use std::path::PathBuf;

use serde_json::Value;

use crate::harness::{record, trace, Run};

/// Runs of each program, as many as `trace diff` advises.
const RUNS: usize = 5;

/// The rounds of the three programs. Two are the same, the third works 20 times as long: on a busy
/// machine a run may take several times as long, but not most runs of one side.
const ROUNDS: [&str; 3] = ["5000", "5000", "100000"];

/// Programs differ if a row is slower by more than this for certain. Without a margin, one table in
/// 200 may have a row that is slower by chance.
const MARGIN: &str = "300%";

/// The programs run alternately, so that other load affects all of them alike.
#[test]
fn only_longer_durations_are_slower() {
    let directory = tempfile::tempdir().unwrap();
    let mut runs: [Vec<PathBuf>; 3] = Default::default();
    for run in 0..RUNS {
        for (program, rounds) in ROUNDS.iter().enumerate() {
            let archive = directory.path().join(format!("{program}-{run}.fxt"));
            let run = Run::of(&mut record(&[], &archive, &["work", rounds]));
            assert_eq!(run.code(), 0, "{}", run.stderr());
            runs[program].push(archive);
        }
    }
    let [first, second, longer] = &runs;
    assert_eq!(slower(first, second), [""; 0]);
    assert_eq!(slower(first, longer), ["selected length", "whole"]);
}

/// Returns the names of rows that are slower by more than the margin in the archives of `after`.
fn slower(before: &[PathBuf], after: &[PathBuf]) -> Vec<String> {
    let mut diff = trace(&["diff", "--json", "--fail-over", MARGIN]);
    diff.arg("--before").args(before).arg("--after").args(after);
    let run = Run::of(&mut diff);
    let report: Value = serde_json::from_str(&run.stdout()).unwrap();
    let is_over = |change: &&Value| {
        change["verdict"] == "slower" && change["interval"][0].as_f64().unwrap() > 3.0
    };
    let changes = report["changes"].as_array().unwrap();
    let mut names: Vec<_> = changes
        .iter()
        .filter(is_over)
        .map(|change| change["name"].as_str().unwrap().to_owned())
        .collect();
    names.sort();
    let code = if names.is_empty() { 0 } else { 4 };
    assert_eq!((run.code(), &report["over"]), (code, &names.len().into()), "{}", run.stderr());
    names
}
