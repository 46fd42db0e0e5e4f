//! `trace flamegraph` and conversions to stacks

use trace_format::EventKind;

use crate::harness::{cut, durations, events, good, lossy, named, Place, Run};

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
}

#[test]
fn a_flame_graph_of_changes() {
    let place = Place::new();
    let of = |nanos| events(1, |ticks| EventKind::DurationComplete { end: ticks + nanos });
    place.put("before.fxt", &of(1000));
    place.put("after.fxt", &of(1500));
    let drawn = |file, before| {
        let run = place.run(&["flamegraph", file, "--diff", before, "-o", "-"]);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""));
        run.stdout
    };
    let slower = drawn("after.fxt", "before.fxt");
    assert!(slower.contains("after.fxt against before.fxt"), "{slower}");
    assert!(slower.contains("poll (1,500 ns, 100.00%; +33.33%)"), "{slower}");
    let faster = drawn("before.fxt", "after.fxt");
    assert!(faster.contains("poll (1,000 ns, 100.00%; -50.00%)"), "{faster}");
}

/// A box of one archive is compared with the same box of the other one, also if only one of them
/// requires categories to distinguish its names.
#[test]
fn frames_of_one_name_in_several_categories() {
    let place = Place::new();
    place.put("one.fxt", &durations(&[("db", "query", 0, 1000)]));
    place.put("two.fxt", &durations(&[("db", "query", 0, 1500), ("web", "query", 2000, 4000)]));
    let drawn = |line: &[&str]| {
        let run = place.run(&[&["flamegraph"], line, &["-o", "-"]].concat());
        assert_eq!((run.code, run.stderr.as_str()), (0, ""));
        run.stdout
    };
    assert!(drawn(&["one.fxt"]).contains("<title>query (1,000 ns, 100.00%)"));
    let two = drawn(&["two.fxt"]);
    assert!(two.contains("<title>db:query (1,500 ns, 42.86%)"), "{two}");
    assert!(two.contains("<title>web:query (2,000 ns, 57.14%)"), "{two}");
    let changes = drawn(&["two.fxt", "--diff", "one.fxt"]);
    assert!(changes.contains("<title>db:query (1,500 ns, 42.86%; +14.29%)"), "{changes}");
    assert_eq!(place.run(&["convert", "two.fxt", "-o", "two.folded"]).code, 0);
    assert_eq!(place.text("two.folded"), "db:query 1500\nweb:query 2000\n");
}

#[test]
fn a_timeline() {
    let place = Place::new();
    place.put("in<b>.fxt", &good());
    for name in ["out.html", "out.svg"] {
        let run = place.run(&["timeline", "in<b>.fxt", "-o", name]);
        assert_eq!(run, Run { code: 0, stdout: String::new(), stderr: String::new() });
        let text = place.text(name);
        assert!(text.contains("<title>in&lt;b&gt;.fxt</title>") && !text.contains("<b>"), "{text}");
    }
    let svg = place.text("out.svg");
    assert!(svg.contains("<title>net: poll\nbytes: 64\nat 0 ns, took 2000 ns</title>"), "{svg}");
    let page = place.text("out.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"), "{page}");
    assert!(!page.contains("{{") && page.contains("default-src 'none'; script-src 'sha256-"));
    assert_eq!(place.run_with(&["timeline", "-", "-o", "-"], &good()).code, 0);
}

#[test]
fn a_timeline_shows_losses() {
    let place = Place::new();
    place.put("in.fxt", &lossy());
    let run = place.run(&["timeline", "in.fxt", "-o", "out.svg"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stderr.contains("records dropped during recording: 40"), "{run:?}");
    let svg = place.text("out.svg");
    assert!(svg.contains("<title>40 records lost: buffer full</title>"), "{svg}");
    assert!(svg.contains("full buffers while recording: 1"), "{svg}");
    assert!(svg.contains("net: read\nat 3000 ns, took 1000 ns\nits end is missing"), "{svg}");
}

#[test]
fn stacks_by_the_output_s_name() {
    let place = Place::new();
    place.put("in.fxt", &good());
    for name in ["out.folded", "out.speedscope.json"] {
        let run = place.run(&["convert", "in.fxt", "-o", name]);
        assert_eq!(run, Run { code: 0, stdout: String::new(), stderr: String::new() });
    }
    assert_eq!(place.text("out.folded"), "poll 2000\n");
    let json: serde_json::Value = serde_json::from_str(&place.text("out.speedscope.json")).unwrap();
    assert_eq!(json["profiles"][0]["events"][1]["at"], 2000);
}

#[test]
fn events_without_a_stack_are_reported() {
    let place = Place::new();
    place.put("in.fxt", &lossy());
    let expected = "trace: in.fxt: durations without an end, skipped: 1\n\
                trace: in.fxt: records dropped during recording: 40\n\
                trace: in.fxt: buffers that became full during recording: 1\n";
    for command in ["convert -o out.folded", "convert -o a.speedscope.json"] {
        let arguments: Vec<&str> = command.split(' ').chain(["in.fxt"]).collect();
        assert_eq!(place.run(&arguments).stderr, expected);
    }
    let csv = place.run(&["convert", "in.fxt", "-o", "a.csv"]).stderr;
    assert_eq!(csv, format!("trace: 17 records converted to 2 rows\n{expected}"));
    assert_eq!(place.run(&["flamegraph", "in.fxt", "-o", "out.svg"]).stderr, expected);
    let both = place.run(&["flamegraph", "in.fxt", "--diff", "in.fxt", "-o", "out.svg"]).stderr;
    assert_eq!(both, [expected, expected].concat());
    let overlapping = events(1030, |ticks| EventKind::DurationComplete { end: ticks + 1030 });
    let run = place.run_with(&["flamegraph", "-", "-o", "out.svg"], &overlapping);
    assert_eq!(run.stderr, "trace: -: durations nested too deep, merged as `…`: 6\n");
    assert!(place.text("out.svg").contains("… ("));
}

#[test]
fn errors_are_reported() {
    let place = Place::new();
    place.put("in.fxt", &good());
    place.put("cut.fxt", &cut());
    place.put("text", b"no archive at all");
    let failed = |arguments: &[&str], part: &str| {
        let run = place.run(arguments);
        assert_eq!(run.code, 1, "{run:?}");
        assert!(run.stderr.contains(part), "{run:?}");
    };
    failed(&["flamegraph", "text", "-o", "out"], "cannot read text: not a trace archive");
    failed(&["flamegraph", "cut.fxt", "-o", "out"], "cannot draw cut.fxt: it has no durations");
    failed(&["flamegraph", ".", "-o", "out"], "cannot read .: is a directory");
    failed(&["flamegraph", "in.fxt", "-o", "in.fxt"], "is both input and output");
    failed(&["flamegraph", "in.fxt", "-o", "/dev/full"], "no space left on device");
    failed(&["flamegraph", "in.fxt", "-o", "missing/out"], "cannot write missing/out");
    failed(&["timeline", "text", "-o", "out.html"], "cannot read text: not a trace archive");
    failed(&["timeline", "cut.fxt", "-o", "out.html"], "cannot draw cut.fxt: it has no events");
    place.put("object.json", br#"[{"ph":"N","name":"o","id":"0x1","pid":1,"tid":1,"ts":1}]"#);
    assert_eq!(place.run(&["convert", "object.json", "-o", "object.fxt"]).code, 0);
    failed(
        &["timeline", "object.fxt", "-o", "out.html"],
        "cannot draw object.fxt: it has no events, only 1 objects, blobs or other records",
    );
    failed(&["timeline", ".", "-o", "out.html"], "cannot read .: is a directory");
    failed(&["timeline", "in.fxt", "-o", "out"], "a name that ends in .html or .svg");
    failed(&["timeline", "in.fxt", "-o", "missing/out.svg"], "cannot write missing/out.svg");
    failed(
        &["timeline", "in.fxt", "--limit", "0", "-o", "out.html"],
        "cannot draw in.fxt: 1 event exceeds the limit of 0\nhint: extract a part with trace slice in.fxt",
    );
    failed(&["convert", "text", "-o", "out.csv"], "cannot read text: not a trace archive");
    failed(&["convert", "in.fxt", "--to", "folded", "-o", "/dev/full"], "no space left on device");
    assert_eq!(place.names(), ["cut.fxt", "in.fxt", "object.fxt", "object.json", "text"]);
}

#[test]
fn untrusted_text_is_escaped() {
    let place = Place::new();
    let name = "a\u{9b}2J\u{1b}\u{fffe}\u{202e}";
    let file = "in\u{1b}[31m.fxt";
    place.put(file, &named(name));
    let hidden =
        |text: &str| text.replace('\n', "").contains(['\u{9b}', '\u{1b}', '\u{fffe}', '\u{202e}']);
    for line in [
        &["flamegraph", file, "-o", "-"][..],
        &["convert", file, "--to", "folded", "-o", "-"],
        &["stats", file, "--json"],
        &["stats", file, "--slowest", "1", "--json"],
        &["top", file, "--json"],
        &["stats", file],
    ] {
        let run = place.run(line);
        assert_eq!(run.code, 0, "{line:?}: {run:?}");
        assert!(!run.stdout.is_empty() && !hidden(&run.stdout), "{line:?}: {:?}", run.stdout);
    }
    assert_eq!(place.run(&["timeline", file, "-o", "out.svg"]).code, 0);
    assert!(!hidden(&place.text("out.svg")));
    let json = place.run(&["top", file, "--json"]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["durations"][0]["name"], name);
}
