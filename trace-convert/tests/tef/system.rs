//! `systemTraceEvents`: ftrace's text, its scheduling records, and the restored text.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use trace_analyze::schedule::Schedule;
use trace_convert::text;
use trace_format::{Reader, Record};

use crate::json::parse;
use crate::{archive, document};

/// Returns the document with these events and this text, as JSON strings.
pub(crate) fn with_text(events: &str, text: &str) -> String {
    let text = serde_json::to_string(text).unwrap();
    format!(r#"{{"traceEvents":[{events}],"systemTraceEvents":{text}}}"#)
}

/// Converts a document to FXT and back to the same document. Returns the records that were added.
fn added(json: &str) -> Vec<String> {
    let (archive, summary) = archive(json.as_bytes());
    assert_eq!(parse(&document(&archive)), parse(json));
    let mut reader = Reader::new(&archive[..]);
    let (mut lines, mut scheduling) = (Vec::new(), 0);
    while let Some(item) = reader.next().unwrap() {
        if matches!(item.record, Record::ContextSwitch(_) | Record::ThreadWakeup(_)) {
            scheduling += 1;
        } else if !matches!(item.record, Record::KernelObject(_)) {
            continue;
        }
        let mut line = String::new();
        text::line(&mut line, &item).unwrap();
        lines.push(line.split_whitespace().skip(2).collect::<Vec<_>>().join(" "));
    }
    assert_eq!(summary.scheduling, scheduling);
    lines
}

/// Lines in the three layouts of Trace Viewer's description of its importer.
#[test]
fn every_layout_of_lines() {
    let heads = [
        "          <idle>-0     [001]  4467.843475",
        "          <idle>-0     [001] d..3  4467.843475",
        "          <idle>-0     (-----) [001] d..3  4467.843475",
    ];
    for head in heads {
        let text = format!(
            "# tracer: nop\n#\n#           TASK-PID    CPU#    TIMESTAMP  FUNCTION\n\
             #              | |       |          |         |\n\
             {head}: sched_switch: prev_comm=swapper prev_pid=0 prev_prio=120 prev_state=R ==> \
             next_comm=SurfaceFlinger next_pid=178 next_prio=112\n"
        );
        let expected = [
            r#"kernel-object thread #178 "SurfaceFlinger" {"tef:added": true}"#,
            r#"context-switch cpu 1 4467.843475000s from #0 running to #178 {"outgoing_weight": 120, "incoming_weight": 112, "tef:added": true}"#,
        ];
        assert_eq!(added(&with_text("", &text)), expected, "{head}");
    }
}

#[test]
fn each_wakeup_has_one_record() {
    let text = "\
        # tracer: nop\n\
        a-1 (7) [000] d..4 1.000001: sched_waking: comm=b pid=2 prio=100 target_cpu=003\n\
        <idle>-0 (-----) [003] dNh4 1.000002: sched_wakeup: comm=b pid=2 prio=100 target_cpu=003\n\
        a-1 (7) [000] d..4 1.000003: sched_wakeup: comm=b pid=2 prio=100 success=1 target_cpu=002\n\
        a-1 (7) [000] d..4 1.000004: sched_wakeup_new: comm=c d pid=3 prio=120 target_cpu=001\n";
    let expected = [
        r#"kernel-object thread #2 "b" {"tef:added": true}"#,
        r#"kernel-object thread #3 "c d" {"tef:added": true}"#,
        r##"thread-wakeup cpu 3 1.000001000s #2 {"weight": 100, "tef:added": true, "waker": #1}"##,
        r#"thread-wakeup cpu 2 1.000003000s #2 {"weight": 100, "tef:added": true}"#,
        r#"thread-wakeup cpu 1 1.000004000s #3 {"weight": 120, "tef:added": true}"#,
    ];
    assert_eq!(added(&with_text("", text)), expected);
}

pub(crate) const SWITCH: &str =
    "a-8 (7) [000] d... 10.000002: sched_switch: prev_comm=a prev_pid=8 \
    prev_prio=120 prev_state=S ==> next_comm=b next_pid=9 next_prio=120\n";

#[test]
fn threads_get_their_processes() {
    let events = r#"{"ph":"i","name":"x","ts":1,"pid":6,"tid":9},
        {"ph":"M","name":"thread_name","pid":7,"tid":8,"args":{"name":"own name"}}"#;
    let names = added(&with_text(events, SWITCH));
    let expected = [
        r##"kernel-object thread #8 "own name" {"process": #7}"##,
        r##"kernel-object thread #9 "b" {"tef:added": true, "process": #6}"##,
    ];
    assert_eq!(names[..2], expected);
    let names = added(&with_text("", SWITCH));
    assert_eq!(names[0], r##"kernel-object thread #8 "a" {"tef:added": true, "process": #7}"##);
}

#[test]
fn times_are_those_of_the_document_s_clock() {
    let marker = |text: &str| {
        format!("{SWITCH}x-1 [000] ...1 9.5: tracing_mark_write: trace_event_clock_sync: {text}\n")
    };
    let sync =
        r#"{"ph":"c","name":"clock_sync","ts":3000000,"pid":1,"tid":1,"args":{"sync_id":"guid1"}}"#;
    let asked = r#"{"ph":"c","name":"clock_sync","ts":3000000,"pid":1,"tid":1,"args":{"sync_id":"guid1","issue_ts":1000000}}"#;
    let cases = [
        ("", marker("realtime_ts=1491850748338"), "10.000002000s"),
        ("", marker("parent_ts=0.0"), "10.000002000s"),
        ("", marker("parent_ts=1.25"), "1.750002000s"),
        (sync, marker("name=other"), "10.000002000s"),
        (sync, marker("name=guid1"), "3.500002000s"),
        (asked, marker("name=guid1"), "2.500002000s"),
    ];
    for (events, text, time) in cases {
        let found = added(&with_text(events, &text));
        let switch = found.last().unwrap();
        assert!(switch.starts_with(&format!("context-switch cpu 0 {time} ")), "{text}: {switch}");
        // The text may also precede the events that define its clock.
        let text = serde_json::to_string(&text).unwrap();
        let json = format!(r#"{{"systemTraceEvents":{text},"traceEvents":[{events}]}}"#);
        assert_eq!(added(&json).last(), Some(switch));
    }
    // Times before the start of the document are refused.
    assert_eq!(added(&with_text("", &marker("parent_ts=-1"))).len(), 3);
    let early = format!("{SWITCH}x-1 [0] ...1 90.5: 0: trace_event_clock_sync: parent_ts=1.0");
    assert!(!added(&with_text("", &early)).iter().any(|line| line.contains("switch")));
}

#[test]
fn other_events_of_ftrace_are_only_carried() {
    let malformed = [
        "",
        "SystemTraceData",
        "# tracer: nop\n",
        "a-1 [000] d... 1.0: sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> ",
        "a-1 [000] d... 1.0: sched_switch: prev_comm=a prev_pid=1 ==> next_comm=b",
        "a-1 [000] d... 1.0: sched_waking: comm=b pid=99999999999999999999 prio=1 target_cpu=000",
        "a-1 [000] d... 1.0: cpu_idle: state=1 cpu_id=0\r\n\r\n\u{0}\u{1f600}",
        "a-1 [000] d... x: sched_waking: comm=b pid=9 prio=1 target_cpu=000",
    ];
    for text in malformed {
        assert_eq!(added(&with_text("", text)), [""; 0], "{text}");
        let text = format!("{text}\n{SWITCH}");
        assert_eq!(added(&with_text("", &text)).len(), 3, "{text}");
    }
    for other in ["null", "5", r##"["# tracer: nop\n"]"##, r#"{"type":"x","events":[]}"#] {
        assert_eq!(added(&format!(r#"{{"traceEvents":[],"systemTraceEvents":{other}}}"#)), [""; 0]);
    }
}

/// The output of Fuchsia's `trace2json`.
#[test]
fn fuchsia_s_objects_become_records() {
    let json = r#"{"displayTimeUnit":"ns","traceEvents":[],"systemTraceEvents":{"type":"fuchsia","events":[
        {"ph":"p","pid":7,"name":"bin/app","sort_index":3},
        {"ph":"t","pid":7,"tid":8,"name":"initial-thread"},
        {"ph":"k","ts":1.5,"cpu":3,"out":{"pid":0,"tid":5,"state":3,"prio":-2147483648},"in":{"pid":7,"tid":8,"prio":16}},
        {"ph":"w","ts":2.5,"cpu":2,"tid":9,"prio":16},
        {"ph":"k","ts":3,"cpu":3,"out":{"tid":8,"state":5},"in":{"tid":9,"prio":99999999999}},
        {"ph":"k","ts":3,"cpu":3,"out":{"tid":8,"state":16},"in":{"tid":9}},
        {"ph":"k","ts":3,"cpu":99999,"out":{"tid":8,"state":5},"in":{"tid":9}},
        {"ph":"k","ts":3,"cpu":3,"out":[],"in":{"tid":9}},
        {"ph":"w","cpu":2,"tid":9},{"ph":"p","pid":"x","name":"y"},{"ph":"?"},{}
    ]}}"#;
    let expected = [
        r#"kernel-object process #7 "bin/app" {"tef:added": true}"#,
        r##"kernel-object thread #8 "initial-thread" {"tef:added": true, "process": #7}"##,
        r#"context-switch cpu 3 0.000001500s from #5 blocked to #8 {"tef:added": true, "outgoing_weight": -2147483648, "incoming_weight": 16}"#,
        r#"thread-wakeup cpu 2 0.000002500s #9 {"tef:added": true, "weight": 16}"#,
        r#"context-switch cpu 3 0.000003000s from #8 dead to #9 {"tef:added": true}"#,
    ];
    assert_eq!(added(json), expected);
    let others = [
        r#"{"type":"x","events":[{"ph":"p","pid":7}]}"#,
        r#"{"type":"fuchsia","events":7}"#,
        "[]",
        "{}",
    ];
    for other in others {
        assert_eq!(added(&format!(r#"{{"traceEvents":[],"systemTraceEvents":{other}}}"#)), [""; 0]);
    }
}

#[test]
fn long_names_are_cut() {
    let long = SWITCH.replace("next_comm=b", &format!("next_comm={}", "b".repeat(70_000)));
    assert_eq!(added(&with_text("", &long)).len(), 3);
}

#[test]
fn schedules_are_analyzed() {
    let text = format!("{SWITCH}{}", SWITCH.replace("pid=9", "pid=0").replace("pid=8", "pid=9"));
    let text = text.replacen("10.000002", "10.000001", 1);
    let (archive, _) = archive(with_text("", &text).as_bytes());
    let schedule = Schedule::read(Reader::new(&archive[..])).unwrap();
    assert_eq!(schedule.on_cpu(9, 0, u64::MAX), Some(1000));
}

/// A line, with the time, CPU and threads of its record.
type Line = (String, Option<(u64, u16, u64, u64)>);

fn switch() -> impl Strategy<Value = Line> {
    let name = || "[ -~]{1,15}";
    let head = (0u64..1 << 40, 0u16..300, name(), 1u64..1 << 32, 0usize..4);
    let threads = (name(), name(), any::<u32>(), any::<u32>(), -2i32..150);
    (head, threads).prop_map(|((micros, cpu, task, thread, layout), threads)| {
        let (outgoing_name, incoming_name, outgoing, incoming, priority) = threads;
        let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000);
        let [before, behind] =
            [["", ""], [" (-----)", " d..2"], [" (  321)", " dNh3."], ["", " ...."]][layout];
        let line = format!(
            "{task:>16}-{thread:<5}{before} [{cpu:03}]{behind} {seconds:5}.{rest:06}: sched_switch: \
             prev_comm={outgoing_name} prev_pid={outgoing} prev_prio={priority} prev_state=S ==> \
             next_comm={incoming_name} next_pid={incoming} next_prio={priority}"
        );
        (line, Some((micros * 1000, cpu, outgoing.into(), incoming.into())))
    })
}

fn lines() -> impl Strategy<Value = Vec<Line>> {
    // Parts of lines, in any combination.
    const PARTS: &[&str] = &[
        "a",
        "-1",
        " ",
        "[000]",
        "[",
        "]",
        "(7)",
        "(",
        " d..2",
        " 1.5:",
        " 1.5",
        ":",
        " sched_switch:",
        " prev_comm=a prev_pid=1 prev_prio=2",
        " prev_state=S",
        " ==> next_comm=b",
        " next_prio=3",
        " next_pid=99999999999999999999",
        "comm=",
        "#",
        "\u{e9}",
        "\u{1f600}",
        "\t",
        "\r",
        "\u{0}",
        "\\n",
    ];
    let noise = vec(select(PARTS), 0..12).prop_map(|parts| (parts.concat(), None));
    vec(prop_oneof![switch(), noise], 0..20)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn valid_lines_are_found_among_malformed_ones(lines in lines()) {
        let text = lines.iter().map(|(line, _)| format!("{line}\n")).collect::<String>();
        let json = with_text("", &text);
        let (archive, _) = archive(json.as_bytes());
        prop_assert_eq!(parse(&document(&archive)), parse(&json));
        let mut reader = Reader::new(&archive[..]);
        let mut found = Vec::new();
        while let Some(item) = reader.next().unwrap() {
            if let Record::ContextSwitch(switch) = item.record {
                found.push((switch.ticks, switch.cpu, switch.outgoing_thread, switch.incoming_thread));
            }
        }
        let expected: Vec<_> = lines.into_iter().filter_map(|(_, record)| record).collect();
        prop_assert_eq!(found, expected);
    }
}
