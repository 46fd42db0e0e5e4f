//! `trace diff` on real runs: it reports no change for the same program, and only the longer
//! durations for a slower one.

use std::path::PathBuf;

use serde_json::Value;

use crate::harness::{record, trace, Run};

/// Runs of each program, each of which is one sample. Nine are enough even if the machine slows
/// down one or two.
const RUNS: usize = 9;

/// The rounds of the three programs, two of which are the same.
const ROUNDS: [&str; 3] = ["5000", "5000", "10000"];

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

/// Returns the names of slower rows in the archives of `after`.
fn slower(before: &[PathBuf], after: &[PathBuf]) -> Vec<String> {
    let mut diff = trace(&["diff", "--json"]);
    diff.arg("--before").args(before).arg("--after").args(after);
    let run = Run::of(&mut diff);
    assert_eq!(run.code(), 0, "{}", run.stderr());
    let report: Value = serde_json::from_str(&run.stdout()).unwrap();
    let changes = report["changes"].as_array().unwrap();
    let slower = changes.iter().filter(|change| change["verdict"] == "slower");
    let mut names: Vec<_> =
        slower.map(|change| change["name"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}
