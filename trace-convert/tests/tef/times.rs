//! Negative times, which FXT does not have.

use trace_convert::tef;

use crate::json::parse;
use crate::phases::records;
use crate::{archive, document};

const EVENTS: [&str; 4] = [
    r#"{"ph":"B","name":"a","ts":-2.5,"pid":1,"tid":2}"#,
    r#"{"ph":"E","name":"a","ts":"-0.5","pid":1,"tid":2}"#,
    r#"{"ph":"X","name":"b","ts":-1.00005,"dur":2,"pid":1,"tid":2}"#,
    r#"{"ph":"i","name":"c","ts":4,"pid":1,"tid":2,"s":"t"}"#,
];

#[test]
fn the_first_event_is_at_0() {
    let json = format!("[{}]", EVENTS.join(","));
    let (archive, summary) = archive(json.as_bytes());
    assert_eq!((summary.shift, summary.before_start), (2500, 0));
    let expected = [
        r#"blob "tef:shift" data 4 bytes"#,
        r#"duration-begin 1/2 0.000000000s "" "a""#,
        r#"duration-end 1/2 0.000002000s "" "a" {"tef:ts": "-0.5"}"#,
        r#"duration-complete 1/2 0.000001499s "" "b" 2000ns {"tef:ts": -1.00005}"#,
        r#"instant 1/2 0.000006500s "" "c" thread"#,
    ];
    assert_eq!(records(&archive), expected);
    assert_eq!(parse(&document(&archive)), parse(&json));
}

#[test]
fn scheduling_records_are_shifted() {
    let switch =
        "a-1 [000] 1.000000: sched_switch: prev_comm=a prev_pid=1 prev_prio=1 prev_state=S \
                  ==> next_comm=b next_pid=2 next_prio=1";
    let json = format!(r#"{{"traceEvents":[{}],"systemTraceEvents":"{switch}"}}"#, EVENTS[0]);
    let (archive, _) = archive(json.as_bytes());
    let records = records(&archive);
    assert!(records.iter().any(|record| record.starts_with("context-switch cpu 0 1.000002500s")));
    assert_eq!(parse(&document(&archive)), parse(&json));
}

#[test]
fn unshifted_negative_times_become_0_and_are_counted() {
    let json = format!("[{}]", EVENTS.join(","));
    let mut archive = Vec::new();
    let summary = tef::to_fxt(tef::Reader::new(json.as_bytes()), &mut archive).unwrap();
    assert_eq!((summary.shift, summary.before_start), (0, 3));
    assert_eq!(records(&archive)[0], r#"duration-begin 1/2 0.000000000s "" "a" {"tef:ts": -2.5}"#);
    assert_eq!(parse(&document(&archive)), parse(&json));
}
