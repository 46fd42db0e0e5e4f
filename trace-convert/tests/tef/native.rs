//! Analyses of archives that were converted to JSON and back.

use trace_analyze::check;
use trace_analyze::critical::{path, slowest, Choice};
use trace_convert::merge::{Clocks, Merger};
use trace_convert::ConvertError;
use trace_format::{
    Argument, Event, EventKind, Item, Reader, Record, Thread, ThreadKoids, Value, Writer,
};

use crate::{archive, document};
use EventKind::{AsyncBegin, AsyncEnd, DurationComplete, Instant};

/// Beyond the exact integers of JSON.
const LARGE: u64 = (1 << 60) + 1;

/// An event: thread, ticks, category, name, kind, and arguments.
type EventParts<'a> = (u64, u64, &'a str, &'a str, EventKind, &'a [(&'a str, Value<'a>)]);

/// Returns an archive with a clock of 10 ns.
fn native(events: &[EventParts<'_>]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(1, "app").unwrap();
    writer.initialization(100_000_000).unwrap();
    for (thread, ticks, category, name, kind, arguments) in events {
        let arguments: Vec<_> =
            arguments.iter().map(|(name, value)| Argument::new(*name, *value)).collect();
        let event = Event {
            ticks: *ticks,
            thread: Thread::Inline(ThreadKoids::new(1, *thread)),
            category: (*category).into(),
            name: (*name).into(),
            kind: *kind,
            arguments: (&*arguments).into(),
        };
        writer.record(&event.into()).unwrap();
    }
    writer.into_inner()
}

fn again(native: &[u8]) -> Vec<u8> {
    archive(document(native).as_bytes()).0
}

#[test]
fn losses_are_kept() {
    let instant = Instant { scope: None };
    let loss = [
        ("reason", Value::String("buffer full".into())),
        ("number", Value::Uint64(LARGE)),
        ("from", Value::Uint64(70)),
        ("to", Value::Uint64(90)),
    ];
    let few = [("number", Value::Uint64(3))];
    let gone = [("buffers", Value::Uint32(5))];
    let native = native(&[
        (2, 100, "trace", "records dropped", instant, &loss),
        (2, 110, "trace", "records dropped", instant, &few),
        (2, 120, "trace", "older records overwritten", instant, &gone),
    ]);
    let again = again(&native);
    for archive in [&native, &again] {
        let report = check::check(Reader::new(&archive[..])).unwrap();
        assert_eq!((report.damage.records_dropped, report.buffers_overwritten), (LARGE + 3, 5));
        assert!(report.dropped.iter().any(|dropped| dropped.reason == "buffer full"));
    }
    // Ticks in arguments are converted as well.
    let ticks = |archive: &[u8]| {
        let mut reader = Reader::new(archive);
        let mut times = Vec::new();
        while let Some(item) = reader.next().unwrap() {
            let ticks = item.record.arguments();
            let ticks =
                ticks.iter().filter(|ticks| ["from", "to"].contains(&&*item.text(ticks.name)));
            times.extend(ticks.map(|ticks| item.nanos(ticks.value.unsigned().unwrap())));
        }
        times
    };
    assert_eq!((ticks(&native), ticks(&again)), (vec![700, 900], vec![700, 900]));
}

#[test]
fn the_critical_path_is_kept() {
    let id = |key, id| [(key, Value::Uint64(id))];
    let (one, two, of_one) = (id("task", LARGE), id("task", 2), id("parent", LARGE));
    let native = native(&[
        (5, 100, "cat", "request", AsyncBegin { id: LARGE }, &[]),
        (5, 100, "cat", "request", DurationComplete { end: 110 }, &one),
        (5, 105, "cat", "query", AsyncBegin { id: 2 }, &of_one),
        (6, 120, "cat", "query", DurationComplete { end: 130 }, &two),
        (6, 160, "cat", "query", AsyncEnd { id: 2 }, &[]),
        (5, 170, "cat", "request", DurationComplete { end: 180 }, &one),
        (5, 180, "cat", "request", AsyncEnd { id: LARGE }, &[]),
    ]);
    let segments = |archive: &[u8]| {
        let found = slowest(Reader::new(archive), &Choice::default()).unwrap();
        let open = || Ok::<_, ConvertError>(Reader::new(archive));
        format!("{:?}", path(&found.slowest.unwrap(), open).unwrap())
    };
    assert!(segments(&native).contains("query"));
    assert_eq!(segments(&again(&native)), segments(&native));
}

#[test]
fn clock_anchors_are_kept() {
    let anchor = [
        ("ticks", Value::Uint64(1_000)),
        ("realtime_ns", Value::Uint64(1_700_000_000_123_456_789)),
        ("boottime_ns", Value::Uint64(5_000_000)),
    ];
    let instant = Instant { scope: None };
    let native = native(&[(1, 1_000, "trace", "clock anchor", instant, &anchor)]);
    let again = again(&native);
    let clocks = [&native, &again].map(|archive| Clocks::read(Reader::new(&archive[..])).unwrap());
    let mut output = Vec::new();
    let mut merger = Merger::new(&mut output, &clocks).unwrap();
    assert!(!merger.is_realtime(), "it is the same boot");
    merger.add("native", Reader::new(&native[..])).unwrap();
    merger.add("again", Reader::new(&again[..])).unwrap();
    assert_eq!(merger.finish().unwrap().without_anchor, []);
    let mut reader = Reader::new(&output[..]);
    let time = |item: Item<'_>| match item.record {
        Record::Event(event) => Some(item.nanos(event.ticks)),
        _ => None,
    };
    let mut times = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        times.extend(time(item));
    }
    assert_eq!(times, [5_000_000; 2]);
}
