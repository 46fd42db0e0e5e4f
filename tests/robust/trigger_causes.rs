//! Causes of snapshots and of the end of a recording: alerts and other conditions.

use std::path::Path;

use serde_json::{json, Value};
use tempfile::TempDir;

use crate::harness::{record, Run};

/// Records a program that meets a condition, with these options.
fn run(directory: &Path, options: &[&str], condition: &str) -> Run {
    let role = ["meet-condition", condition, "0"];
    Run::of(&mut record(options, &directory.join("out.fxt"), &role))
}

/// Records with these triggers. Returns the results as JSON.
fn results(directory: &TempDir, triggers: &[&str], condition: &str) -> Value {
    let mut options = vec!["--json"];
    options.extend(triggers.iter().flat_map(|trigger| ["--trigger", trigger]));
    let run = run(directory.path(), &options, condition);
    serde_json::from_str(&run.stdout()).unwrap_or_else(|error| panic!("{error}: {run:?}"))
}

/// A program chooses the names of its alerts.
#[test]
fn an_alert_with_the_name_of_a_condition_is_no_condition() {
    let directory = tempfile::tempdir().unwrap();
    let options = ["--trigger", "drop:status=4", "--trigger", "drop:exit=5"];
    let run = run(directory.path(), &options, "alert:drop");
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(run.stderr().contains("alerts: \"drop\"\n"), "{run:?}");
    assert!(!run.stderr().contains("conditions:"), "{run:?}");
}

#[test]
fn an_alert_does_not_run_the_command_of_a_condition() {
    let directory = tempfile::tempdir().unwrap();
    let other = directory.path().join("other");
    let command = format!("drop:run:touch '{}'; true", other.display());
    let own = directory.path().join("own");
    let triggers = [&*command, &format!("alert:drop:run:touch '{}'; true", own.display())];
    let results = results(&directory, &triggers, "alert:drop");
    assert_eq!((results["lost"].as_u64(), own.exists(), other.exists()), (Some(0), true, false));
}

#[test]
fn results_list_alerts_and_conditions_separately() {
    let directory = tempfile::tempdir().unwrap();
    let json = results(&directory, &["death:stop", "death:snapshot"], "abort");
    assert_eq!((&json["alerts"], &json["conditions"]), (&json!({}), &json!({ "death": 1 })));
    assert_eq!(
        (&json["stopped_by_alert"], &json["stopped_by_condition"]),
        (&Value::Null, &json!("death"))
    );
    let snapshot = &json["snapshots"][0];
    assert_eq!((&snapshot["alerts"], &snapshot["conditions"]), (&json!([]), &json!(["death"])));
    let json = results(&directory, &["slow:stop", "slow:snapshot"], "alert:slow");
    assert_eq!((&json["alerts"], &json["conditions"]), (&json!({ "slow": 1 }), &json!({})));
    assert_eq!(
        (&json["stopped_by_alert"], &json["stopped_by_condition"]),
        (&json!("slow"), &Value::Null)
    );
    let snapshot = &json["snapshots"][0];
    assert_eq!((&snapshot["alerts"], &snapshot["conditions"]), (&json!(["slow"]), &json!([])));
}

/// The condition and the end of the recording come at the same time.
#[test]
fn a_condition_at_the_end_stops_the_recording() {
    for condition in ["abort", "panic"] {
        let directory = tempfile::tempdir().unwrap();
        let results = results(&directory, &["death:stop"], condition);
        assert_eq!(results["stopped_by_condition"], json!("death"), "{results}");
    }
}

#[test]
fn a_condition_in_the_last_records_stops_the_recording() {
    let directory = tempfile::tempdir().unwrap();
    let run = run(directory.path(), &["--trigger", "log:error:exit=9"], "log");
    assert_eq!(run.code(), 9, "{run:?}");
    assert!(run.stderr().contains("log:error: recording ends"), "{run:?}");
}
