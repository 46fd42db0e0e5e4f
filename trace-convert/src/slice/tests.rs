use trace_format::layout::ObjectType;
use trace_format::{Argument, Arguments, KernelObject, Log, Text, Thread, ThreadKoids, Value};

use super::*;
use crate::check::{self, Verdict};
use crate::text;
use EventKind::*;

const MAIN: ThreadKoids = ThreadKoids::new(1, 2);
const OTHER: ThreadKoids = ThreadKoids::new(5, 6);

fn event<'a>(koids: ThreadKoids, ticks: u64, name: &'a str, kind: EventKind) -> Record<'a> {
    let thread = Thread::Inline(koids);
    let (category, name) = (Text::from("cat"), Text::from(name));
    Event { ticks, thread, category, name, kind, arguments: Arguments::NONE }.into()
}

/// Returns an archive that is cut between 100 and 200.
fn archive() -> Vec<u8> {
    let process = KernelObject {
        object_type: ObjectType::PROCESS,
        koid: 1,
        name: "app".into(),
        arguments: Arguments::NONE,
    };
    let number = [Argument::new("number", Value::Uint64(3))];
    let lost = |ticks| {
        Record::Event(Event {
            ticks,
            thread: Thread::Inline(OTHER),
            category: "trace".into(),
            name: "records dropped".into(),
            kind: Instant { scope: None },
            arguments: (&number).into(),
        })
    };
    let log = |ticks| Record::Log(Log { ticks, thread: Thread::Inline(MAIN), message: b"hello" });
    crate::testing::archive(&[
        process.into(),
        event(MAIN, 10, "outer", DurationBegin),
        event(MAIN, 20, "before", DurationBegin),
        event(MAIN, 30, "before", DurationEnd),
        event(MAIN, 40, "reaches in", DurationComplete { end: 110 }),
        event(MAIN, 50, "op", AsyncBegin { id: 1 }),
        event(MAIN, 60, "op", AsyncBegin { id: 2 }),
        event(MAIN, 70, "op", AsyncEnd { id: 2 }),
        log(80),
        lost(90),
        event(OTHER, 95, "open", DurationBegin),
        event(MAIN, 120, "inside", DurationComplete { end: 130 }),
        event(OTHER, 140, "other", Counter { id: 1 }),
        lost(150),
        log(160),
        event(MAIN, 190, "reaches out", DurationBegin),
        event(MAIN, 210, "behind", DurationComplete { end: 220 }),
        event(MAIN, 230, "reaches out", DurationEnd),
        event(MAIN, 240, "op", AsyncEnd { id: 1 }),
        event(MAIN, 250, "outer", DurationEnd),
        event(MAIN, 260, "behind", Instant { scope: None }),
    ])
}

/// Cuts and returns the lines of records that have a time.
fn cut(selection: &Selection<'_>) -> Vec<String> {
    let mut output = Vec::new();
    let summary = write(Reader::new(&*archive()), selection, &mut output).unwrap();
    let report = check::check(Reader::new(&*output)).unwrap();
    assert_ne!(report.verdict(), Verdict::Malformed, "{report:?}");
    assert_eq!(report.ends_without_begin, 0);
    assert_eq!(summary.damage.records_dropped, 6);
    let mut lines = Vec::new();
    let mut reader = Reader::new(&*output);
    while let Some(item) = reader.next().unwrap() {
        let mut line = String::new();
        text::line(&mut line, &item).unwrap();
        if rewrite::ticks(&item.record).is_some() || line.contains("kernel-object") {
            let what: Vec<&str> = line.split_whitespace().skip(2).collect();
            lines.push(what.join(" ").replace("0.000000", ""));
        }
    }
    lines
}

#[test]
fn by_time() {
    let selection = Selection { from: 100, to: 200, ..Selection::default() };
    assert_eq!(
        cut(&selection),
        [
            "kernel-object process #1 \"app\"",
            "duration-complete 1/2 040s \"cat\" \"reaches in\" 70ns",
            "duration-complete 1/2 120s \"cat\" \"inside\" 10ns",
            "counter 5/6 140s \"cat\" \"other\" id 1 (0x1)",
            "instant 5/6 150s \"trace\" \"records dropped\" {\"number\": 3}",
            "log 1/2 160s \"hello\"",
            "duration-begin 1/2 010s \"cat\" \"outer\"",
            "duration-begin 1/2 190s \"cat\" \"reaches out\"",
            "duration-end 1/2 230s \"cat\" \"reaches out\"",
            "async-begin 1/2 050s \"cat\" \"op\" id 1 (0x1)",
            "async-end 1/2 240s \"cat\" \"op\" id 1 (0x1)",
            "duration-end 1/2 250s \"cat\" \"outer\"",
            "duration-begin 5/6 095s \"cat\" \"open\"",
        ]
    );
}

#[test]
fn by_process_and_name() {
    let selection = Selection { processes: Some(&[5]), ..Selection::default() };
    let lines = cut(&selection);
    assert_eq!(lines.iter().filter(|line| line.contains("\"cat\"")).count(), 2, "{lines:?}");
    let name = |name: &str| name == "op" || name == "outer";
    let lines = cut(&Selection { name: Some(&name), ..Selection::default() });
    assert_eq!(lines.iter().filter(|line| line.contains("\"cat\"")).count(), 6, "{lines:?}");
    assert_eq!(lines.iter().filter(|line| line.contains("log")).count(), 0, "{lines:?}");
    let none = |_: &str| false;
    let lines = cut(&Selection { category: Some(&none), ..Selection::default() });
    let kept = ["kernel-object", "instant", "instant"];
    let kinds = lines.iter().map(|line| line.split(' ').next().unwrap());
    assert_eq!(kinds.collect::<Vec<_>>(), kept);
}

#[test]
fn all_of_an_archive() {
    let lines = cut(&Selection::default());
    assert_eq!(lines.len(), 21, "{lines:?}");
}
