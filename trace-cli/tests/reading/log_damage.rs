//! Damaged XRay logs as inputs.

use crate::harness::{Place, Run};
use crate::xray::{log, names};

/// Every command that reads a cut log reports the cut, and uses the records before it.
#[test]
fn a_cut_log_is_incomplete_in_every_command() {
    let place = Place::new();
    let log = log();
    place.put("cut.xray", &log[..log.len() - 4]);
    place.put("good.xray", &log);
    for name in ["cut.map", "good.map"] {
        place.put(name, &names());
    }
    for command in [
        &["stats", "cut.xray"][..],
        &["stats", "cut.xray", "-n", "work"],
        &["top", "cut.xray"],
        &["dump", "cut.xray"],
        &["info", "cut.xray"],
        &["flamegraph", "cut.xray", "-o", "out.svg"],
        &["timeline", "cut.xray", "-o", "out.html"],
        &["slice", "cut.xray", "-n", "work", "-o", "out.fxt"],
        &["merge", "good.xray", "cut.xray", "-o", "out.fxt"],
        &["diff", "good.xray", "cut.xray"],
        &["convert", "cut.xray", "-o", "out.fxt"],
        &["convert", "cut.xray", "-o", "out.json"],
        &["convert", "cut.xray", "-o", "out.csv"],
        &["convert", "cut.xray", "-o", "out.pftrace"],
        &["convert", "cut.xray", "-o", "out.yaml"],
        &["xray", "account", "cut.xray"],
    ] {
        let run = place.run(command);
        assert_eq!(run.code, 3, "{command:?}: {run:?}");
        let reports = run.stderr.matches("cut.xray: the log is cut off at byte ").count();
        assert_eq!(reports, 1, "{command:?}: {run:?}");
        assert!(!run.stderr.contains("dropped during recording"), "{run:?}");
        assert!(!run.stderr.contains("good.xray: the log"), "{run:?}");
    }
}

#[test]
fn damage_within_a_log_is_reported_once() {
    let place = Place::new();
    let mut log = log();
    // The last record becomes one that is longer than the rest of its thread buffer.
    let last = log.len() - 8;
    log[last] = 0x7f;
    place.put("bad.xray", &log);
    let messages = |run: &Run| {
        let lines = run.stderr.lines().filter(|line| line.contains("the other records are used"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let stats = place.run(&["stats", "bad.xray"]);
    let [message] = &*messages(&stats) else { panic!("{stats:?}") };
    assert!(message.contains("bad.xray: the record at byte "), "{message}");
    assert_eq!(stats.code, 3, "{stats:?}");
    // A log on standard input is the same.
    let piped = place.run_with(&["stats", "-"], &log);
    let [message] = &*messages(&piped) else { panic!("{piped:?}") };
    assert!(message.contains("-: the record at byte "), "{message}");
    assert_eq!(piped.code, 3, "{piped:?}");
}
