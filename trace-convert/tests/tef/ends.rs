//! Ends of durations. In FXT an end closes the innermost duration, regardless of its name.

use crate::json::parse;
use crate::phases::records;
use crate::{archive, document};

/// Returns the records of events, each a phase and a name. Times are consecutive.
fn shown<'a>(events: &[(&'a str, &'a str)]) -> Vec<String> {
    let timed = |(place, (phase, name)): (usize, &(&'a str, &'a str))| (*phase, *name, place);
    shown_at(&events.iter().enumerate().map(timed).collect::<Vec<_>>())
}

/// Returns the records of events, each a phase, a name and a time.
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
fn ends_with_the_begin_s_name_are_kept() {
    let expected = [r#"begin 0 "" "a""#, r#"begin 1 "" "b""#, r#"end 2 "" "b""#, r#"end 3 "" """#];
    assert_eq!(shown(&[("B", "a"), ("B", "b"), ("E", "b"), ("E", "")]), expected);
    // The begin is missing, so that the end closes nothing.
    assert_eq!(shown(&[("E", "a")]), [r#"end 0 "" "a""#]);
}

#[test]
fn ends_of_another_name_close_nothing() {
    let event = r#"blob "tef:event" data 44 bytes"#;
    let expected = [r#"begin 0 "" "a""#, event, r#"end 2 "" "a""#];
    assert_eq!(shown(&[("B", "a"), ("E", "x"), ("E", "a")]), expected);
}

#[test]
fn an_end_closes_inner_durations() {
    let added = r#"end 2 "" "" {"tef:added": true}"#;
    let event = r#"blob "tef:event" data 44 bytes"#;
    let expected = [r#"begin 0 "" "a""#, r#"begin 1 "" "b""#, added, r#"end 2 "" "a""#];
    assert_eq!(shown(&[("B", "a"), ("B", "b"), ("E", "a")]), expected);
    let around = shown(&[("B", "z"), ("B", "a"), ("B", "b"), ("E", "a"), ("E", "b")]);
    assert_eq!(around.last().unwrap(), event);
}

/// Readers sort by time, so that no end is removed or added.
#[test]
fn ends_are_unchanged_if_time_decreases() {
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
