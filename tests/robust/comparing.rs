//! What `trace diff` says of real runs: of one program nothing, of a program that works longer what
//! is longer, and only that.

use std::path::PathBuf;

use serde_json::Value;

use crate::harness::{record, trace, Run};

/// Runs of each program: of several, each is one sample. With nine, a run or two that the machine
/// held up do not hide what is slower.
const RUNS: usize = 9;

/// How long the three programs work: two of them are the same.
const ROUNDS: [&str; 3] = ["5000", "5000", "10000"];

/// The programs take turns, so that all of them see the same of what else the machine does.
#[test]
fn only_what_takes_longer_is_slower() {
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
    assert_eq!(slower(first, longer), ["as long as told", "whole"]);
}

/// The names of what is slower in the archives of `after`.
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
