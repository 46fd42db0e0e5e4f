//! Archives as logs.

use super::*;
use trace_format::{LargeBlob, LargeBlobEvent};

/// Returns an archive of two threads, with records in another order than that of time.
fn mixed() -> Vec<u8> {
    let mut archive = Writer::new(Vec::new()).unwrap();
    archive.provider(1, "app").unwrap();
    archive.initialization(1_000_000_000).unwrap();
    let mut event = |thread, ticks, name: &str, kind, arguments: &[trace_format::Argument<'_>]| {
        let thread = Thread::Inline(ThreadKoids::new(70, thread));
        let (category, name, arguments) = ("net".into(), name.into(), arguments.into());
        let event = Event { ticks, thread, category, name, kind, arguments };
        archive.record(&event.into()).unwrap();
    };
    let number = trace_format::Argument::new("size", Value::Int32(-1));
    let text = trace_format::Argument::new("host", Value::String("h".into()));
    event(72, 900, "poll", EventKind::DurationBegin, &[]);
    event(71, 1200, "read", EventKind::DurationComplete { end: 1300 }, &[number]);
    event(71, 1000, "request", EventKind::DurationComplete { end: 1500 }, &[]);
    event(71, 1300, "write", EventKind::DurationComplete { end: 1600 }, &[]);
    event(71, 1250, "bytes", EventKind::Counter { id: 4 }, &[number]);
    event(71, 1700, "read", EventKind::DurationBegin, &[number, text]);
    event(71, 1700, "read", EventKind::DurationEnd, &[]);
    event(72, 950, "poll", EventKind::DurationEnd, &[]);
    event(72, 960, "poll", EventKind::DurationBegin, &[]);
    archive.into_inner()
}

#[test]
fn archives_become_logs_in_the_order_of_time() {
    let mut bytes = Vec::new();
    let exported = trace_xray::fxt::export(Reader::new(&mixed()[..]), &mut bytes).unwrap();
    assert_eq!((exported.calls, exported.events, exported.open), (6, 2, 1));
    assert_eq!((exported.cut, exported.unpaired, exported.too_long), (1, 0, 0));
    let map = Map::parse(&exported.map).unwrap();
    let mut archive = Vec::new();
    Fdr { map }.open(Box::new(&bytes[..])).unwrap().read_to_end(&mut archive).unwrap();
    let mut reader = Reader::new(&archive[..]);
    let mut lines = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        lines.extend(line(&item).filter(|line| !line.contains("xray:CPU")));
    }
    assert_eq!(
        lines,
        [
            "900 70/72 xray:poll DurationBegin",
            "950 70/72 xray:poll DurationEnd",
            "960 70/72 xray:poll DurationBegin",
            "1000 70/71 xray:request DurationBegin",
            "1200 70/71 xray:read DurationBegin arg0=Uint64(18446744073709551615)",
            "1250 70/71 net:bytes Counter { id: 4 } size=Int32(-1)",
            "1300 70/71 xray:read DurationEnd",
            "1300 70/71 xray:write DurationBegin",
            // It ends with the duration around it.
            "1500 70/71 xray:write DurationEnd",
            "1500 70/71 xray:request DurationEnd",
            "1700 70/71 xray:read DurationBegin",
            "1700 70/71 xray:read DurationEnd",
            "1700 70/71 net:read Instant size=Int32(-1) host=h",
        ]
    );
}

/// On a coarse clock, a duration and one inside it can begin at the same time.
#[test]
fn durations_with_equal_times_keep_their_arguments() {
    let (begin, end) = (EventKind::DurationBegin, EventKind::DurationEnd);
    let complete = |end| EventKind::DurationComplete { end };
    let number = |value| Some(trace_format::Argument::new("size", Value::Int32(value)));
    let mut archive = Writer::new(Vec::new()).unwrap();
    archive.initialization(1_000_000_000).unwrap();
    for (ticks, kind, argument) in [
        (1000, begin, number(1)),
        (1000, begin, number(2)),
        (1000, begin, None),
        (1000, begin, number(3)),
        (1010, end, None),
        (1020, end, None),
        (1030, end, None),
        (1040, end, None),
        (2000, complete(2020), number(4)),
        (2000, complete(2030), number(5)),
        (2000, complete(2010), None),
    ] {
        let thread = Thread::Inline(ThreadKoids::new(70, 71));
        let arguments = argument.as_slice().into();
        let (category, name) = ("net".into(), "read".into());
        archive.record(&Event { ticks, thread, category, name, kind, arguments }.into()).unwrap();
    }
    let archive = archive.into_inner();
    let mut bytes = Vec::new();
    trace_xray::fxt::export(Reader::new(&archive[..]), &mut bytes).unwrap();
    let lines = lines(&bytes);
    let begins = lines.iter().filter_map(|line| line.split_once("DurationBegin"));
    let arguments: Vec<_> = begins.map(|(_, arguments)| arguments).collect();
    let argument = |number| format!(" arg0=Uint64({number})");
    let expected = [argument(1), argument(2), String::new(), argument(3)];
    assert_eq!(arguments[..4], expected, "{lines:?}");
    assert_eq!(arguments[4..], [argument(5), argument(4), String::new()], "{lines:?}");
}

/// Returns the log of an archive with events of one name on one thread, each with a number.
fn numbered(events: impl Iterator<Item = (u64, EventKind)>) -> (Exported, Vec<String>) {
    let mut archive = Writer::new(Vec::new()).unwrap();
    archive.initialization(1_000_000_000).unwrap();
    for (number, (ticks, kind)) in (0..).zip(events) {
        let argument = trace_format::Argument::new("size", Value::Uint64(number));
        let arguments = if kind == EventKind::DurationEnd { &[][..] } else { &[argument] };
        let (thread, arguments) = (Thread::Inline(ThreadKoids::new(70, 71)), arguments.into());
        let (category, name) = ("net".into(), "read".into());
        archive.record(&Event { ticks, thread, category, name, kind, arguments }.into()).unwrap();
    }
    let (archive, mut log) = (archive.into_inner(), Vec::new());
    let exported = trace_xray::fxt::export(Reader::new(&archive[..]), &mut log).unwrap();
    (exported, lines(&log))
}

#[test]
fn deeply_nested_durations_are_calls() {
    const BEGINS: u64 = 20_000;
    let begins = (0..BEGINS).map(|_| (1000, EventKind::DurationBegin));
    let ends = (0..BEGINS).map(|number| (2000 + number, EventKind::DurationEnd));
    let (exported, lines) = numbered(begins.chain(ends));
    assert_eq!(exported.calls, BEGINS);
    assert_eq!((exported.open, exported.unpaired), (0, 0));
    let begins = lines.iter().filter_map(|line| line.split_once("arg0=Uint64("));
    let mut numbers: Vec<u64> =
        begins.map(|(_, number)| number.trim_end_matches(')').parse().unwrap()).collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..BEGINS), "each call has its own argument");
}

#[test]
fn a_duration_that_ends_before_its_begin_keeps_its_arguments() {
    let (exported, lines) =
        numbered([(1000, EventKind::DurationComplete { end: 900 })].into_iter());
    assert_eq!(exported.calls, 1);
    assert!(lines.iter().any(|line| line.ends_with("DurationBegin arg0=Uint64(0)")), "{lines:?}");
}

#[test]
fn a_log_becomes_the_same_log() {
    let mut bytes = Vec::new();
    trace_xray::fxt::export(Reader::new(&mixed()[..]), &mut bytes).unwrap();
    let mut again = Vec::new();
    let archive = Fdr::default().open(Box::new(&bytes[..])).unwrap();
    let exported = trace_xray::fxt::export(Reader::new(archive), &mut again).unwrap();
    assert_eq!((exported.calls, exported.open), (6, 1));
    let log = |bytes: &[u8]| {
        let (items, errors) = common::items(bytes, 1000);
        assert_eq!(errors, [""; 0]);
        let functions = items.into_iter().filter(|item| item.record.kind().is_none());
        functions.map(|item| (item.thread, item.tsc, item.record.kind())).collect::<Vec<_>>()
    };
    assert_eq!(log(&again), log(&bytes));
}

/// The records that an archive has none for come back from its events, with their bytes.
#[test]
fn each_record_of_a_log_comes_back() {
    let instant = Event {
        ticks: 1 << 33,
        thread: Thread::Inline(ThreadKoids::new(7, 8)),
        category: "net".into(),
        name: "sent".into(),
        kind: EventKind::Instant { scope: Some(trace_format::layout::InstantScope::Thread) },
        arguments: (&[]).into(),
    };
    let mut words = Vec::new();
    encode::append(&mut words, &instant.into()).unwrap();
    let of_archive = encode::to_bytes(&words);
    let long = vec![0xff; 40_000];
    let event = |delta, payload| {
        Record::CustomEvent(CustomEvent { time: EventTime::Delta(delta), payload })
    };
    let typed = |payload| Record::TypedEvent(TypedEvent { delta: 3, event_type: 42, payload });
    let log = log(V5, |log| {
        log.function(Action::Entry, 1, 5);
        log.function(Action::EntryArgs, 2, 10);
        log.put(Record::CallArgument { value: 77 });
        log.put(Record::CallArgument { value: 1 << 63 });
        log.function(Action::TailExit, 2, 10);
        log.put(Record::NewCpuId { cpu: 3, tsc: 1030 });
        log.function(Action::Entry, 3, 1);
        for payload in [&b"text"[..], &[0xff, 1], &long] {
            log.put(event(2, payload));
            log.put(typed(payload));
        }
        // Without an exit.
        log.function(Action::Entry, 2, 1);
        log.function(Action::Exit, 3, 1);
        log.put(Record::TscWrap { tsc: 1 << 33 });
        log.put(event(0, &of_archive));
        log.function(Action::Exit, 1, 1);
        log.function(Action::Entry, 2, 1);
    });
    let mut again = Vec::new();
    let exported = trace_xray::fxt::export(Reader::new(&archive(&log)[..]), &mut again).unwrap();
    let [expected, found] = [&log, &again].map(|log| common::items(log, 1000));
    assert_eq!((found.1, expected.1), (Vec::new(), Vec::new()));
    let same = found.0.iter().zip(&expected.0).take_while(|(found, expected)| found == expected);
    let at = same.count();
    assert!(at == expected.0.len() && at == found.0.len(), "record {at}: {:?}", found.0.get(at));
    assert!(again[32..] == log[32..], "the bytes are the same");
    let names = Map::parse(&exported.map).unwrap();
    let names: Vec<_> = names.functions().map(|(_, function)| function.name()).collect();
    let expected = ["main", "work", "net::poll(int)"];
    assert_eq!(names, expected.map(|name| Some(name.to_owned())));
}

/// Writes a part of an event of the category `xray`.
fn part(archive: &mut Writer<Vec<u8>>, event_type: Option<u32>, numbers: [u32; 2], payload: &[u8]) {
    let number = |name, value| trace_format::Argument::new(name, Value::Uint32(value));
    let mut arguments: Vec<_> = event_type.map(|value| number("type", value)).into_iter().collect();
    arguments.extend([number("part", numbers[0]), number("parts", numbers[1])]);
    let (thread, arguments) = (Thread::Inline(ThreadKoids::new(7, 8)), (&arguments[..]).into());
    let event = Some(LargeBlobEvent { ticks: 1000, thread, arguments });
    let name = if event_type.is_some() { "typed event" } else { "custom event" };
    let (category, name) = ("xray".into(), name.into());
    archive.record(&LargeBlob { category, name, event, payload }.into()).unwrap();
}

/// Returns the thread, type and payload of each event in the log of an archive.
fn events(archive: &[u8]) -> Vec<(i32, Option<u16>, Vec<u8>)> {
    let mut log = Vec::new();
    let exported = trace_xray::fxt::export(Reader::new(archive), &mut log).unwrap();
    assert_eq!(exported.too_long, 0);
    let (items, errors) = common::items(&log, 1000);
    assert_eq!(errors, [""; 0]);
    let events = items.iter().filter_map(|item| match &item.record {
        Record::CustomEvent(event) => Some((item.thread, None, event.payload.to_vec())),
        Record::TypedEvent(event) => {
            Some((item.thread, Some(event.event_type), event.payload.to_vec()))
        }
        _ => None,
    });
    events.collect()
}

/// A program writes a payload that is too long for one record in parts.
#[test]
fn parts_of_an_event_are_one_event() {
    let mut archive = Writer::new(Vec::new()).unwrap();
    archive.initialization(1_000_000_000).unwrap();
    let parts = [&[0xff; 30_000][..], &[0; 30_000], b"end"];
    for (number, payload) in (1..).zip(parts) {
        part(&mut archive, Some(65_535), [number, 3], payload);
        part(&mut archive, None, [number, 3], payload);
    }
    let payload = parts.concat();
    let expected = [(8, Some(65_535), payload.clone()), (8, None, payload)];
    assert_eq!(events(&archive.into_inner()), expected);
}

/// The archive of its log has the parts, too.
#[test]
fn parts_of_an_incomplete_event_stay_separate() {
    let mut archive = Writer::new(Vec::new()).unwrap();
    archive.initialization(1_000_000_000).unwrap();
    part(&mut archive, None, [1, 3], b"\xffa");
    part(&mut archive, None, [3, 3], b"\xffc");
    part(&mut archive, Some(7), [0, 2], b"\xffd");
    let events = events(&archive.into_inner());
    assert_eq!(events.len(), 3);
    for (thread, event_type, payload) in &events {
        let record = record_of_payload(payload);
        assert!(matches!(record, Some(trace_format::Record::LargeBlob(_))), "{payload:?}");
        assert_eq!((*thread, *event_type), (8, None));
    }
}

/// The collector makes such a duration of a function record with a tail exit.
#[test]
fn a_complete_duration_can_end_with_a_jump() {
    let mut archive = Writer::new(Vec::new()).unwrap();
    archive.initialization(1_000_000_000).unwrap();
    let jump = trace_format::Argument::new("tail_exit", Value::Bool(true));
    for (category, ticks, argument) in
        [("xray", 10, Some(jump)), ("xray", 20, None), ("net", 30, Some(jump))]
    {
        let kind = EventKind::DurationComplete { end: ticks + 5 };
        let (thread, arguments) =
            (Thread::Inline(ThreadKoids::new(7, 8)), argument.as_slice().into());
        let (category, name) = (category.into(), "work".into());
        archive.record(&Event { ticks, thread, category, name, kind, arguments }.into()).unwrap();
    }
    let (archive, mut log) = (archive.into_inner(), Vec::new());
    trace_xray::fxt::export(Reader::new(&archive[..]), &mut log).unwrap();
    let (items, errors) = common::items(&log, 1000);
    assert_eq!(errors, [""; 0]);
    let ends = items.iter().filter_map(|item| match item.record {
        Record::Function(record) if !record.action.is_entry() => Some(record.action),
        _ => None,
    });
    assert!(ends.eq([Action::TailExit, Action::Exit, Action::Exit]));
}

/// The entry of a short call waits for an event in it, which is on another CPU.
#[test]
fn a_waiting_entry_keeps_its_cpu() {
    let log = log(V5, |log| {
        log.function(Action::Entry, 1, 5);
        log.function(Action::Entry, 2, 10);
        log.put(Record::NewCpuId { cpu: 3, tsc: 1020 });
        log.put(custom(V5.version, b"text"));
        log.function(Action::Exit, 2, 5);
        log.function(Action::Entry, 3, 5);
        log.put(Record::NewCpuId { cpu: 4, tsc: 1032 });
        log.function(Action::Exit, 3, 1);
        log.function(Action::Exit, 1, 100);
    });
    let min_duration = std::time::Duration::from_nanos(15);
    let options = trace_xray::fxt::Options { min_duration, ..Default::default() };
    let (archive, mut again) = (archive(&log), Vec::new());
    trace_xray::fxt::export_with(Reader::new(&archive[..]), &options, &mut again).unwrap();
    let (items, errors) = common::items(&again, 1000);
    assert_eq!(errors, [""; 0]);
    let functions = items.iter().filter_map(|item| match item.record {
        Record::Function(record) => Some((record.function.number(), item.tsc, item.cpu)),
        Record::CustomEvent(_) => Some((0, item.tsc, item.cpu)),
        _ => None,
    });
    let [begin, inner, event, inner_end, end] = functions.collect::<Vec<_>>()[..] else {
        panic!("{items:?}")
    };
    assert_eq!((begin, inner), ((1, 1005, 1), (2, 1015, 1)));
    assert_eq!((event.2, inner_end.2, end.2), (3, 3, 4));
}

/// A log of a recording has no CPUs.
#[test]
fn an_unknown_cpu_is_not_stated() {
    let mut bytes = Vec::new();
    trace_xray::fxt::export(Reader::new(&mixed()[..]), &mut bytes).unwrap();
    let (items, _) = common::items(&bytes, 1000);
    let cpus = items.iter().filter_map(|item| match item.record {
        Record::NewCpuId { cpu, .. } => Some(cpu),
        _ => None,
    });
    assert!(cpus.clone().count() > 0 && cpus.clone().all(|cpu| cpu == UNKNOWN_CPU));
    assert!(lines(&bytes).iter().all(|line| !line.contains("xray:CPU")));
}

/// A log cannot relate its clock to others.
#[test]
fn clock_anchors_are_no_payloads() {
    let mut words = Vec::new();
    let event = Event {
        ticks: 1000,
        thread: Thread::Inline(ThreadKoids::new(7, 8)),
        category: "trace".into(),
        name: "clock anchor".into(),
        kind: EventKind::Instant { scope: None },
        arguments: (&[]).into(),
    };
    encode::append(&mut words, &event.into()).unwrap();
    let payload = encode::to_bytes(&words);
    let log = log(V5, |log| log.put(custom(Version::V5, &payload)));
    assert!(lines(&log)[1].contains("xray:custom event Instant"), "{:?}", lines(&log));
    let mut anchored = Writer::new(Vec::new()).unwrap();
    anchored.record(&event.into()).unwrap();
    let anchored = anchored.into_inner();
    let exported = trace_xray::fxt::export(Reader::new(&anchored[..]), Vec::new()).unwrap();
    assert_eq!(exported.events, 0);
}

/// The ids of a log are signed.
#[test]
fn negative_ids_come_back() {
    let mut log = Made::new(crate::V5, 512);
    for (process, thread) in [(-7, -5), (7, -1), (i32::MIN, i32::MAX)] {
        log.buffer(|log| {
            log.start(process, thread);
            log.function(Action::Entry, 1, 5);
            log.function(Action::Exit, 1, 5);
        });
    }
    let (archive, mut back) = (crate::archive(&log.bytes), Vec::new());
    trace_xray::fxt::export(Reader::new(&archive[..]), &mut back).unwrap();
    let ids = |log: &[u8]| {
        let (found, errors) = crate::common::items(log, log.len());
        assert_eq!(errors, [""; 0]);
        let calls = found.iter().filter(|item| item.record.kind().is_none());
        calls.map(|item| (item.process, item.thread)).collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(ids(&back), ids(&log.bytes));
}
