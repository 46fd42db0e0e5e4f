//! `trace convert` from JSON, and back.

use std::fs;
use std::io::Read;

use crate::harness::{good, Place, Run};

const JSON: &str =
    r#"{"traceEvents":[{"ph":"X","pid":1,"tid":2,"name":"a","ts":1.5,"dur":2,"args":{"k":[1]}}]}"#;

/// The result of `trace convert` to an archive and back.
const JSON_AND_BACK: &str =
    "{\n\"traceEvents\":[\n{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"name\":\"a\",\
                          \"ts\":1.5,\"dur\":2,\"args\":{\"k\":[1]}}\n]}\n";

fn said(stderr: &str) -> Run {
    Run { code: 0, stdout: String::new(), stderr: stderr.to_owned() }
}

#[test]
fn json_to_an_archive_and_back() {
    let place = Place::new();
    place.put("in.json", JSON.as_bytes());
    let run = place.run(&["convert", "in.json", "-o", "out.fxt"]);
    assert_eq!(run, said("trace: 1 entry converted\n"));
    assert_eq!(place.run(&["check", "out.fxt"]).code, 0);
    assert_eq!(place.run(&["convert", "out.fxt", "-o", "back.json"]).code, 0);
    assert_eq!(place.text("back.json"), JSON_AND_BACK);
    assert_eq!(place.names(), ["back.json", "in.json", "out.fxt"]);
}

#[test]
fn through_pipes() {
    let place = Place::new();
    place.put("in.json", JSON.as_bytes());
    place.run(&["convert", "in.json", "-o", "out.fxt"]);
    for arguments in
        [&["convert", "-", "-o", "-"][..], &["convert", "-", "-o", "-", "--to", "json"]]
    {
        let run = place.run_with(arguments, &fs::read(place.path("out.fxt")).unwrap());
        assert_eq!((run.code, run.stdout.as_str()), (0, JSON_AND_BACK));
    }
}

#[test]
fn carried_events_are_reported() {
    let place = Place::new();
    place.put("in.json", b"[{\"ph\":\"?\"},{\"ph\":\"i\",\"ts\":1}");
    let run = place.run(&["convert", "in.json", "-o", "out.fxt"]);
    let carried = "trace: events that exceed FXT, kept as JSON: 1\n";
    assert_eq!(run, said(&format!("trace: 2 entries converted\n{carried}")));
}

#[test]
fn malformed_json_is_reported_with_its_position() {
    let place = Place::new();
    let cases = [
        ("[{\"ts\":1},\n {\"ts\":NaN}]", "line 2, column 8: expected a value"),
        ("[{\"ts\":1}", ""),
        ("[{\"ts\":1", "line 1, column 9: unexpected end of the document"),
        ("{}", "line 1, column 2: expected the array `traceEvents`"),
        (" [1]", "line 1, column 3: event is not an object"),
    ];
    for (json, wrong) in cases {
        place.put("in.json", json.as_bytes());
        let run = place.run(&["convert", "in.json", "-o", "out.fxt"]);
        if wrong.is_empty() {
            assert_eq!(run.code, 0, "a missing bracket is added");
            fs::remove_file(place.path("out.fxt")).unwrap();
            continue;
        }
        let stderr = format!(
            "trace: cannot read in.json as JSON: {wrong}\n\
             hint: skip malformed JSON with --lenient\n"
        );
        assert_eq!(run, Run { code: 1, stdout: String::new(), stderr });
        assert_eq!(place.names(), ["in.json"]);
    }
}

#[test]
fn lenient_skips_and_counts() {
    let place = Place::new();
    place.put("in.json", b"[{\"ph\":\"i\",\"ts\":1},{\"ts\":NaN},{\"ph\":\"i\",\"ts\":2},{\"ph\"");
    let run = place.run(&["convert", "--lenient", "in.json", "-o", "out.fxt"]);
    let stderr = "trace: 2 entries converted\n\
                  trace: malformed events and members, skipped: 2, 15 bytes\n\
                  trace: the first of them: line 1, column 26: expected a value\n";
    assert_eq!(run, Run { code: 3, ..said(stderr) });
    place.run(&["convert", "out.fxt", "-o", "back.json"]);
    let back = "[\n{\"ph\":\"i\",\"ts\":1},\n{\"ph\":\"i\",\"ts\":2}\n]\n";
    assert_eq!(place.text("back.json"), back);
}

#[test]
fn inputs_without_a_conversion_are_refused() {
    let place = Place::new();
    place.put("in.json", JSON.as_bytes());
    place.put("in.fxt", &good());
    place.put("zeros", &[0; 64]);
    let cases = [
        ("in.json", "in.json is JSON already", "out.json"),
        (
            "in.fxt",
            "in.fxt is an archive already\nhint: copy it with trace slice in.fxt -o out.fxt",
            "out.fxt",
        ),
        ("zeros", "zeros is neither JSON nor an archive", "out.fxt"),
    ];
    for (input, said, output) in cases {
        let run = place.run(&["convert", input, "-o", output]);
        assert_eq!((run.code, run.stderr), (1, format!("trace: {said}\n")));
    }
    let to = place.run(&["convert", "in.json", "-o", "out", "--to", "json"]);
    assert_eq!(to.stderr, "trace: in.json is JSON already\n");
}

/// The output equals that of the archive that the JSON converts to.
#[test]
fn json_converts_to_other_formats() {
    let place = Place::new();
    place.put("in.json", JSON.as_bytes());
    place.run(&["convert", "in.json", "-o", "in.fxt"]);
    for to in ["csv", "folded", "speedscope", "pftrace"] {
        for (input, output) in [("in.json", "a"), ("in.fxt", "b")] {
            let run = place.run(&["convert", input, "-o", output, "--to", to]);
            assert_eq!(run.code, 0, "{run:?}");
        }
        let bytes =
            |name| String::from_utf8_lossy(&fs::read(place.path(name)).unwrap()).into_owned();
        assert_eq!(bytes("a"), bytes("b").replace("in.fxt", "in.json"), "{to}");
    }
}

#[test]
fn events_that_are_left_out_are_reported_for_every_format() {
    let place = Place::new();
    place.put("in.json", b"[{\"ph\":\"X\",\"ts\":1,\"dur\":2,\"name\":\"a\"},{\"ts\":NaN}]");
    let run = place.run(&["convert", "--lenient", "in.json", "-o", "out.csv"]);
    assert_eq!(run.code, 3, "{run:?}");
    let left_out = "events and members that cannot be read, left out: 1, 10 bytes";
    assert!(run.stderr.contains(left_out), "{run:?}");
    assert_eq!(place.text("out.csv").lines().count(), 2);
}

#[test]
fn outputs_are_compressed_by_their_names() {
    let place = Place::new();
    place.put("in.fxt", &good());
    assert_eq!(place.run(&["convert", "in.fxt", "-o", "out.json.gz"]).code, 0);
    assert_eq!(place.run(&["convert", "in.fxt", "-o", "out.json"]).code, 0);
    let compressed = fs::File::open(place.path("out.json.gz")).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(compressed).read_to_string(&mut text).unwrap();
    assert_eq!(text, place.text("out.json"));
}

#[test]
fn outputs_that_cannot_be_written() {
    let place = Place::new();
    place.put("in.json", JSON.as_bytes());
    let run = place.run(&["convert", "in.json", "-o", "/dev/full"]);
    let stderr = "trace: cannot write /dev/full: no space left on device\n";
    assert_eq!((run.code, run.stderr.as_str()), (1, stderr));
    let run = place.run(&["convert", "in.json", "-o", "missing/out.fxt"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.starts_with("trace: cannot write missing/out.fxt: "), "{}", run.stderr);
    let run = place.run(&["convert", ".", "-o", "out.json"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.starts_with("trace: cannot read .: is a directory"), "{}", run.stderr);
}

/// A name is written once for each process, whose number costs a few bytes.
#[test]
fn every_command_reports_omitted_backtraces_once() {
    let event = |pid| format!(r#"{{"ph":"i","ts":1,"pid":{pid},"tid":2,"sf":1}}"#);
    let events = (1..=3_000).map(event).collect::<Vec<_>>().join(",");
    let frames = format!(r#"{{"1":{{"name":"{}"}}}}"#, "f".repeat(20_000));
    let place = Place::new();
    let json = format!(r#"{{"traceEvents":[{events}],"stackFrames":{frames}}}"#);
    place.put("in.json", json.as_bytes());
    for arguments in [
        &["check", "in.json"][..],
        &["convert", "in.json", "-o", "out.fxt"],
        &["convert", "in.json", "-o", "out.pftrace"],
        &["dump", "in.json"],
        &["merge", "in.json", "-o", "merged.fxt"],
        &["slice", "in.json", "-o", "slice.fxt"],
        &["stats", "in.json"],
        &["timeline", "in.json", "-o", "out.html"],
    ] {
        let run = place.run(arguments);
        let note = "trace: stacks without a backtrace, because there are too many: ";
        assert_eq!(run.stderr.matches(note).count(), 1, "{arguments:?}: {}", run.stderr);
    }
}
