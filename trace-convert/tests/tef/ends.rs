//! Ends of durations, which FXT closes whatever their names are.

use crate::json::parse;
use crate::phases::records;
use crate::{archive, document};

/// Each event is a phase, a name, and a time that follows from its place. Returns the records.
fn shown(events: &[(&str, &str)]) -> Vec<String> {
    let event = |(place, (phase, name)): (usize, &(&str, &str))| {
        let name = if name.is_empty() { String::new() } else { format!(r#","name":"{name}""#) };
        format!(r#"{{"ph":"{phase}"{name},"ts":{place},"pid":1,"tid":2}}"#)
    };
    let events: Vec<String> = events.iter().enumerate().map(event).collect();
    let json = format!("[{}]", events.join(","));
    let (archive, _) = archive(json.as_bytes());
    assert_eq!(parse(&document(&archive)), parse(&json));
    let short = |record: String| {
        let record = record.replace("duration-", "").replace("1/2 0.00000", "");
        record.replace("000s", "")
    };
    records(&archive).into_iter().map(short).collect()
}

#[test]
fn an_end_of_its_begin_s_name_stays() {
    let expected = [r#"begin 0 "" "a""#, r#"begin 1 "" "b""#, r#"end 2 "" "b""#, r#"end 3 "" """#];
    assert_eq!(shown(&[("B", "a"), ("B", "b"), ("E", "b"), ("E", "")]), expected);
    // The begin is missing: there is nothing that it could close.
    assert_eq!(shown(&[("E", "a")]), [r#"end 0 "" "a""#]);
}

#[test]
fn an_end_of_another_name_closes_nothing() {
    let event = r#"blob "tef:event" data 44 bytes"#;
    let expected = [r#"begin 0 "" "a""#, event, r#"end 2 "" "a""#];
    assert_eq!(shown(&[("B", "a"), ("E", "x"), ("E", "a")]), expected);
}

#[test]
fn what_is_within_ends_with_it() {
    let added = r#"end 2 "" "" {"tef:added": true}"#;
    let event = r#"blob "tef:event" data 44 bytes"#;
    let expected = [r#"begin 0 "" "a""#, r#"begin 1 "" "b""#, added, r#"end 2 "" "a""#];
    assert_eq!(shown(&[("B", "a"), ("B", "b"), ("E", "a")]), expected);
    let around = shown(&[("B", "z"), ("B", "a"), ("B", "b"), ("E", "a"), ("E", "b")]);
    assert_eq!(around.last().unwrap(), event);
}
