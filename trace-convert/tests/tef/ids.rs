//! Ids that are equal in a document are equal in its archive, in any notation.

use crate::json::parse;
use crate::phases::records;
use crate::{archive, document};

/// Converts events to FXT and back to the same events. Returns the start of each record: type,
/// thread, time, category, name and id.
fn converted(events: &[&str]) -> Vec<String> {
    let json = format!("[{}]", events.join(","));
    let (archive, _) = archive(json.as_bytes());
    assert_eq!(parse(&document(&archive)), parse(&json));
    let head = |record: String| record.split(" {").next().unwrap_or_default().to_owned();
    records(&archive).into_iter().map(head).collect()
}

#[test]
fn threads() {
    let event = |pid: &str, tid: &str| format!(r#"{{"ph":"E","ts":1,"pid":{pid},"tid":{tid}}}"#);
    for (pid, tid) in [("1", "1.0"), ("\"1\"", "1e0"), ("1.0", "\"1\""), ("10e-1", "1")] {
        let expected = [r#"duration-end 1/1 0.000001000s "" """#];
        assert_eq!(converted(&[&event(pid, tid)]), expected, "{pid} {tid}");
    }
    for other in ["\"1.0\"", "\"01\"", "\"\"", "1.5", "-1", "null"] {
        let records = converted(&[&event("1", other)]);
        assert!(!records.last().unwrap().starts_with("duration-end 1/1 "), "{other}: {records:?}");
    }
}

#[test]
fn ids() {
    let id = |written: &str| {
        let event =
            format!(r#"{{"ph":"b","cat":"c","name":"n","ts":1,"pid":7,"tid":7,{written}}}"#);
        let records = converted(&[&event]);
        records[0].split(" id ").nth(1).unwrap().to_owned()
    };
    let same = [
        r#""id":16"#,
        r#""id":16.0"#,
        r#""id":"16""#,
        r#""id":"0x10""#,
        r#""id":"0X10""#,
        r#""id":"\u0030x10""#,
        r#""id2":{"global":"0x10"}"#,
        r#""id2":{ "global" : 16 }"#,
        r#""id2":{"x":1,"local":"0x10"}"#,
    ];
    for written in same {
        assert_eq!(id(written), "16 (0x10)", "{written}");
    }
    let others = [r#""id":"10""#, r#""id":"a""#, r#""id":"b""#, r#""id":"0x10","scope":"s""#];
    let mut numbers = others.map(id).to_vec();
    numbers.sort();
    numbers.dedup();
    assert_eq!(numbers.len(), others.len());
    assert_eq!(id(r#""id":"a""#), id(r#""id":"\u0061""#));
    assert_eq!(id(r#""id":"0x10","scope":"s""#), id(r#""id":16,"scope":"s""#));
}

#[test]
fn local_flows_of_two_processes_differ() {
    let flow = |pid: u32, id: &str| {
        let event = format!(r#"{{"ph":"s","name":"n","ts":1,"pid":{pid},"tid":1,"id2":{id}}}"#);
        converted(&[&event])[0].split(" id ").nth(1).unwrap().to_owned()
    };
    let local = r#"{"local":"0x1"}"#;
    assert_eq!(flow(1, local), flow(1, r#"{"local":1}"#));
    assert_ne!(flow(1, local), flow(2, local));
    assert_eq!(flow(1, r#"{"global":"0x1"}"#), flow(2, r#"{"global":1}"#));
}

#[test]
fn counters_are_identified_by_id() {
    let counter = |id: &str, value: u32| {
        format!(r#"{{"ph":"C","name":"n","ts":1,"pid":1,"tid":1,{id},"args":{{"v":{value}}}}}"#)
    };
    let first = counter(r#""id2":{"local":"0x1"}"#, 5);
    let second = counter(r#""id2":{"local":"0x2"}"#, 600);
    let expected = [
        r#"counter 1/1 0.000001000s "" "n" id 1 (0x1)"#,
        r#"counter 1/1 0.000001000s "" "n" id 2 (0x2)"#,
    ];
    let mut records = converted(&[&first, &second]);
    records.retain(|record| !record.starts_with("blob "));
    assert_eq!(records, expected);
}

/// A document identifies an operation by category and id.
#[test]
fn operations_get_process_and_name_of_their_begin() {
    let event = |ph: &str, pid: u32, ts: u32, more: &str| {
        format!(r#"{{"ph":"{ph}","cat":"c","ts":{ts},"pid":{pid},"tid":{pid},"id":1{more}}}"#)
    };
    let outer = event("b", 1, 1, r#","name":"outer""#);
    let inner = event("b", 1, 2, r#","name":"inner""#);
    let [moment, end, named] =
        [event("n", 2, 3, ""), event("e", 2, 4, ""), event("e", 3, 5, r#","name":"outer""#)];
    let expected = [
        r#"async-begin 1/1 0.000001000s "c" "outer" id 1 (0x1)"#,
        r#"async-begin 1/1 0.000002000s "c" "inner" id 1 (0x1)"#,
        r#"async-instant 1/1 0.000003000s "c" "inner" id 1 (0x1)"#,
        r#"async-end 1/1 0.000004000s "c" "inner" id 1 (0x1)"#,
        r#"async-end 1/1 0.000005000s "c" "outer" id 1 (0x1)"#,
        // No operation is open any more.
        r#"async-end 3/3 0.000005000s "c" "outer" id 1 (0x1)"#,
    ];
    assert_eq!(converted(&[&outer, &inner, &moment, &end, &named, &named]), expected);

    // A local id is another operation in each process.
    let local = |ph: &str, pid: u32| {
        format!(
            r#"{{"ph":"{ph}","cat":"c","name":"n","ts":1,"pid":{pid},"tid":{pid},"id2":{{"local":"0x1"}}}}"#
        )
    };
    let expected = [
        r#"async-begin 1/1 0.000001000s "c" "n" id 1 (0x1)"#,
        r#"async-end 2/2 0.000001000s "c" "n" id 1 (0x1)"#,
    ];
    assert_eq!(converted(&[&local("b", 1), &local("e", 2)]), expected);
}
