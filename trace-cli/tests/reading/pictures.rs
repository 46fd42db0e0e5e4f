//! `trace flamegraph` and conversions to stacks

use crate::harness::{cut, good, Place, Run};

#[test]
fn a_flame_graph() {
    let place = Place::new();
    place.put("in.fxt", &good());
    let run = place.run(&["flamegraph", "in.fxt", "-o", "out.svg"]);
    assert_eq!(run, Run { code: 0, stdout: String::new(), stderr: String::new() });
    let svg = place.text("out.svg");
    assert!(svg.contains("<svg") && svg.contains("poll (2,000 ns, 100.00%)"), "{svg}");
    let by = place.run(&["flamegraph", "in.fxt", "--by", "thread", "-o", "-"]).stdout;
    assert!(by.contains("./app (12)") && by.contains("34 ("), "{by}");
    let diff = place.run(&["flamegraph", "in.fxt", "--diff", "in.fxt", "-o", "-"]);
    assert_eq!(diff.code, 0, "{diff:?}");
    assert!(diff.stdout.contains("in.fxt against in.fxt"), "{}", diff.stdout);
}

#[test]
fn stacks_by_the_output_s_name() {
    let place = Place::new();
    place.put("in.fxt", &good());
    for name in ["out.folded", "out.csv", "out.speedscope.json"] {
        let run = place.run(&["convert", "in.fxt", "-o", name]);
        assert_eq!(run, Run { code: 0, stdout: String::new(), stderr: String::new() });
    }
    assert_eq!(place.text("out.folded"), "poll 2000\n");
    let csv = place.text("out.csv");
    assert_eq!(csv.lines().nth(1), Some("12,./app,34,,net,poll,0,5000,2000,2000"));
    let json: serde_json::Value = serde_json::from_str(&place.text("out.speedscope.json")).unwrap();
    assert_eq!(json["profiles"][0]["events"][1]["at"], 2000);
}

#[test]
fn what_is_wrong_is_told() {
    let place = Place::new();
    place.put("in.fxt", &good());
    place.put("cut.fxt", &cut());
    place.put("text", b"no archive at all");
    let failed = |arguments: &[&str], part: &str| {
        let run = place.run(arguments);
        assert_eq!(run.code, 1, "{run:?}");
        assert!(run.stderr.contains(part), "{run:?}");
    };
    failed(&["flamegraph", "text", "-o", "out"], "'text' is no trace archive");
    failed(&["flamegraph", "cut.fxt", "-o", "out"], "has no durations to draw");
    failed(&["flamegraph", ".", "-o", "out"], "'.' is a directory");
    failed(&["flamegraph", "in.fxt", "-o", "in.fxt"], "is both input and output");
    failed(&["flamegraph", "in.fxt", "-o", "/dev/full"], "No space left on device");
    failed(&["flamegraph", "in.fxt", "-o", "missing/out"], "cannot write 'missing/out'");
    failed(&["convert", "text", "-o", "out.csv"], "'text' is no trace archive");
    failed(&["convert", "in.fxt", "--to", "folded", "-o", "/dev/full"], "No space left on device");
    assert_eq!(place.names(), ["cut.fxt", "in.fxt", "text"]);
}
