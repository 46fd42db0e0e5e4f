//! Valid and malformed JSON inputs.

use super::{assert_failed, place, COMMANDS, FROM_JSON, RECOVER, WRONG};

/// Returns a document of one event, with this depth of nesting.
fn nested(levels: usize) -> Vec<u8> {
    let (open, close) = ("[".repeat(levels), "]".repeat(levels));
    format!("[{{\"ph\":\"i\",\"ts\":1,\"name\":\"x\",\"args\":{{\"a\":{open}{close}}}}}]").into()
}

#[test]
fn json_converts_to_archives() {
    let place = place();
    for (what, json) in [("events", nested(1)), ("100 levels", nested(100))] {
        place.put(WRONG, &json);
        for command in &FROM_JSON {
            let run = command.run(&place, WRONG);
            assert_eq!(run.code, 0, "{} with {what}: {run:?}", command.line);
            assert_eq!(place.run(&["check", command.output]).code, 0);
            std::fs::remove_file(place.path(command.output)).unwrap();
        }
    }
}

#[test]
fn a_hundred_levels_are_kept() {
    let place = place();
    place.put(WRONG, &nested(100));
    assert_eq!(place.run(&["convert", WRONG, "-o", "out.fxt"]).code, 0);
    assert_eq!(place.run(&["convert", "out.fxt", "-o", "out.json"]).code, 0);
    let value = |name| serde_json::from_str::<serde_json::Value>(&place.text(name)).unwrap();
    assert_eq!(value("out.json"), value(WRONG));
}

#[test]
fn damaged_json() {
    let place = place();
    let event = "{\"ph\":\"i\",\"ts\":1,\"name\":\"x\"}";
    let cases = [
        ("100,000 levels", nested(100_000)),
        ("100,000 levels without an end", "[".repeat(100_000).into()),
        ("levels of no event", "[".repeat(100).into()),
        ("a number that is none", format!("[{event},{{\"ts\":NaN}}]").into()),
        ("a cut event", format!("[{event},{{\"ts\":").into()),
        ("a cut text", format!("[{event},{{\"name\":\"x").into()),
        ("a text without UTF-8", b"[{\"name\":\"\xff\xfe\"}]".to_vec()),
        ("a control character", b"[{\"name\":\"\x01\"}]".to_vec()),
        ("something behind the end", format!("[{event}] x").into()),
        ("an object without events", b"{\"displayTimeUnit\":\"ns\"}".to_vec()),
        ("events that are none", b"{\"traceEvents\":7}".to_vec()),
        ("zeros behind it", [format!("[{event},").as_bytes(), &[0; 64]].concat()),
    ];
    for (what, json) in cases {
        place.put(WRONG, &json);
        let files = place.names();
        let run = FROM_JSON[0].run(&place, WRONG);
        assert_failed(&place, &files, &run, WRONG, what);
        assert!(run.stderr.contains("line 1, column "), "{what}: {run:?}");
        assert!(run.stderr.len() < 1000, "{what}: {run:?}");
        for command in COMMANDS.iter().chain([&RECOVER]) {
            let run = command.run(&place, WRONG);
            assert_failed(&place, &files, &run, WRONG, &format!("{} with {what}", command.line));
        }
        let run = FROM_JSON[1].run(&place, WRONG);
        assert!(matches!(run.code, 1 | 3), "{what}: {run:?}");
        assert!(run.stderr.contains("line 1, column "), "{what}: {run:?}");
        let _ = std::fs::remove_file(place.path(FROM_JSON[1].output));
        assert_eq!(place.names(), files, "{what}");
    }
}
