//! `trace top`

use crate::harness::{events, everything, good, Place, Run};
use trace_format::EventKind;

/// `outer` takes 40 ticks, of which `inner` takes 20; a tick is 1 µs.
#[test]
fn durations_are_sorted_by_self_time() {
    let place = Place::new();
    place.put("in.fxt", &everything());
    let stdout = "   SELF  SHARE  COUNT    TOTAL     MEAN  NAME\n\
                  20.00µs  47.6%      1  40.00µs  40.00µs  net:outer\n\
                  20.00µs  47.6%      1  20.00µs  20.00µs  net:inner\n\
                  2.000µs   4.8%      1  2.000µs  2.000µs  net:poll\n";
    let run = place.run(&["top", "in.fxt"]);
    assert_eq!(run, Run { code: 0, stdout: stdout.to_owned(), stderr: String::new() });
}

#[test]
fn rows_are_selected_split_and_limited() {
    let place = Place::new();
    place.put("in.fxt", &everything());
    let run = place.run(&["top", "in.fxt", "-n", "outer,poll", "--limit", "1", "--by", "thread"]);
    assert_eq!(run.stdout.lines().count(), 2, "{run:?}");
    assert!(run.stdout.contains("90.9%") && run.stdout.contains("./app (12) / 34"), "{run:?}");
    assert_eq!(run.stderr, "trace: 1 more row\nhint: --limit 2 shows them\n");
    let run = place.run(&["top", "in.fxt", "-c", "net", "-n", "poll", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&json["self_ns"], &json["durations"][0]["name"]), (&2000.into(), &"poll".into()));
}

#[test]
fn an_archive_without_durations_is_an_error() {
    let place = Place::new();
    place.put("in.fxt", &events(1, |_| EventKind::AsyncBegin { id: 1 }));
    place.put("good.fxt", &good());
    let run = place.run(&["top", "in.fxt"]);
    assert_eq!((run.code, &*run.stderr), (1, "trace: in.fxt has no durations\n"));
    place.put("counter.fxt", &events(1, |_| EventKind::Counter { id: 1 }));
    let hint = "\nhint: trace stats --counters shows its counters\n";
    for command in
        [&["top", "counter.fxt"][..], &["flamegraph", "counter.fxt"], &["stats", "counter.fxt"]]
    {
        let run = place.run(command);
        assert!(run.stderr.ends_with(hint), "{run:?}");
    }
    let run = place.run(&["top", "good.fxt", "-n", "-poll"]);
    assert!(run.stderr.contains("has no selected durations"), "{run:?}");
}

#[test]
fn without_a_file_the_usage_names_live_sessions() {
    let run = Place::new().run(&["top"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("trace top --live [OPTIONS] [SESSION]"), "{run:?}");
}
