//! Ends of durations, which FXT closes whatever their names are.

use crate::json::parse;
use crate::phases::records;
use crate::{archive, document};

/// Each event is a phase, a name, and a time that follows from its place. Returns the records.
fn shown<'a>(events: &[(&'a str, &'a str)]) -> Vec<String> {
    let timed = |(place, (phase, name)): (usize, &(&'a str, &'a str))| (*phase, *name, place);
    shown_at(&events.iter().enumerate().map(timed).collect::<Vec<_>>())
}

/// Each event is a phase, a name and a time. Returns the records.
fn shown_at(events: &[(&str, &str, usize)]) -> Vec<String> {
    let event = |(phase, name, ts): &(&str, &str, usize)| {
        let name = if name.is_empty() { String::new() } else { format!(r#","name":"{name}""#) };
        format!(r#"{{"ph":"{phase}"{name},"ts":{ts},"pid":1,"tid":2}}"#)
    };
    let events: Vec<String> = events.iter().map(event).collect();
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

/// Readers sort by time, so that no end is removed or added.
#[test]
fn ends_stay_where_time_steps_back() {
    let newest_first = [("E", "b", 4), ("B", "b", 3), ("E", "a", 1), ("B", "a", 0)];
    let expected = [r#"end 4 "" "b""#, r#"begin 3 "" "b""#, r#"end 1 "" "a""#, r#"begin 0 "" "a""#];
    assert_eq!(shown_at(&newest_first), expected);
    let ends_last = [("B", "a", 0), ("B", "b", 3), ("E", "a", 1), ("E", "b", 4)];
    let expected = [r#"begin 0 "" "a""#, r#"begin 3 "" "b""#, r#"end 1 "" "a""#, r#"end 4 "" "b""#];
    assert_eq!(shown_at(&ends_last), expected);
    let end_first = [("E", "a", 4), ("B", "a", 3), ("B", "c", 5), ("E", "a", 6)];
    let expected = [r#"end 4 "" "a""#, r#"begin 3 "" "a""#, r#"begin 5 "" "c""#, r#"end 6 "" "a""#];
    assert_eq!(shown_at(&end_first), expected);
}
