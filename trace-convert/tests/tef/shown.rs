//! Records for events that are carried as JSON.

use crate::json::parse;
use crate::phases::records;
use crate::{archive, document};

/// Converts an event to FXT and back to the same event. Returns its records, except the carried
/// event.
fn shown(event: &str) -> Vec<String> {
    let json = format!("[{event}]");
    let (archive, summary) = archive(json.as_bytes());
    assert_eq!(summary.carried, 1);
    assert_eq!(parse(&document(&archive)), parse(&json));
    let mut records = records(&archive);
    records.retain(|record| !record.starts_with("blob "));
    records
}

/// Returns as many members, `"k0":0` and so on.
fn members(count: usize) -> String {
    (0..count).map(|key| format!("\"k{key}\":{key}")).collect::<Vec<_>>().join(",")
}

#[test]
fn names_with_escapes() {
    let event = |more: &str| {
        format!("{{{more},\"ts\":1,\"pid\":1,\"tid\":2,\"args\":{{{}}}}}", members(16))
    };
    assert_eq!(
        shown(&event(r#""ph":"B","name":"C:\\dir","cat":"a\"b""#)),
        [r#"duration-begin 1/2 0.000001000s "a\"b" "C:\\dir" {"tef:added": true}"#]
    );
    // UTF-8 cannot express a lone surrogate.
    let name = r#"{"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"x\ud800"}}"#;
    assert_eq!(shown(name), [r#"kernel-object thread #2 "x�" {"process": #1, "tef:added": true}"#]);
}

#[test]
fn long_names_are_cut() {
    let [medium, long] = ["é".repeat(16_000), "é".repeat(20_000)];
    let event = |cat: &str, name: &str| {
        format!(r#"{{"ph":"i","ts":1,"pid":1,"tid":2,"cat":"{cat}","name":"{name}"}}"#)
    };
    let record = |cat: &str, name: &str| {
        [format!(r#"instant 1/2 0.000001000s "{cat}" "{name}" {{"tef:added": true}}"#)]
    };
    assert_eq!(shown(&event("a", &long)), record("a", &medium));
    assert_eq!(shown(&event(&long, &long)), record(&medium, &medium));
}

#[test]
fn all_series_of_a_counter() {
    let counter = |series: &str| {
        format!(r#"{{"ph":"C","name":"a\tb","ts":1,"pid":1,"tid":2,"args":{{{series}}}}}"#)
    };
    let series = |first: usize, last: usize| {
        let series: Vec<_> = (first..=last).map(|key| format!("\"k{key}\": {key}, ")).collect();
        let series = series.concat();
        let series = series.trim_end_matches(", ");
        format!(r#"counter 1/2 0.000001000s "" "a\tb" id 0 (0x0) {{{series}}}"#)
    };
    assert_eq!(shown(&counter(&members(31))), [series(0, 14), series(15, 29), series(30, 30)]);
    assert_eq!(shown(&counter(&members(28))), [series(0, 14), series(15, 27)]);
    let twice = format!("\"k1\":5,\"k2\":7,{},\"k2\":\"none\"", members(2));
    assert_eq!(shown(&counter(&twice)), [series(0, 1)]);
}
