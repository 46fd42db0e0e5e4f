mod groups;

use proptest::prelude::*;
use trace_format::layout::{ObjectType, ThreadState};
use trace_format::{
    Argument, Arguments, ContextSwitch, Event, EventKind, KernelObject, Record, Text, Thread,
    ThreadKoids, Value, Writer,
};

use super::*;
use EventKind::*;

fn event<'a>(thread: (u64, u64), ticks: u64, name: &'a str, kind: EventKind) -> Event<'a> {
    let thread = Thread::Inline(ThreadKoids::new(thread.0, thread.1));
    let (category, name) = (Text::from("cat"), Text::from(name));
    Event { ticks, thread, category, name, kind, arguments: Arguments::NONE }
}

fn archive(events: &[Event<'_>]) -> Vec<u8> {
    let records: Vec<Record<'_>> = events.iter().map(|event| Record::Event(*event)).collect();
    crate::testing::archive(&records)
}

fn report(archive: &[u8], grouping: Grouping) -> Report {
    collect(Reader::new(archive), grouping, None).unwrap()
}

/// Count, total and self time of each duration.
fn summary(report: &Report) -> Vec<(&str, u64, u64, u64)> {
    let row = |row: &'_ Row| (row.lengths.count(), row.lengths.sum(), row.self_nanos);
    let rows = report.durations.iter().map(|duration| (duration.name.as_str(), row(duration)));
    let mut rows: Vec<_> =
        rows.map(|(name, (count, total, own))| (name, count, total, own)).collect();
    rows.sort_unstable();
    rows
}

const THREAD: (u64, u64) = (1, 2);

#[test]
fn an_end_may_have_an_empty_category_or_name() {
    let end = |ticks, category, name| {
        let mut end = event(THREAD, ticks, name, DurationEnd);
        end.category = Text::from(category);
        end
    };
    let begins = ["a", "b", "c"].map(|name| event(THREAD, 10, name, DurationBegin));
    let ends = [end(20, "", "c"), end(30, "cat", ""), end(40, "", "")];
    let report = report(&archive(&[&begins[..], &ends].concat()), Grouping::Together);
    assert_eq!(summary(&report), [("a", 1, 30, 10), ("b", 1, 20, 10), ("c", 1, 10, 10)]);
    assert_eq!(report.oddities, Oddities::default());
}

#[test]
fn durations_of_two_threads() {
    let events = [
        event(THREAD, 10, "outer", DurationComplete { end: 110 }),
        event(THREAD, 20, "inner", DurationComplete { end: 50 }),
        event((1, 3), 20, "inner", DurationComplete { end: 30 }),
        event(THREAD, 60, "inner", DurationComplete { end: 100 }),
    ];
    let archive = archive(&events);
    let together = report(&archive, Grouping::Together);
    assert_eq!(summary(&together), [("inner", 3, 80, 80), ("outer", 1, 100, 30)]);
    let inner = &together.durations[1].lengths;
    assert_eq!((inner.quantile(0.5), inner.max(), inner.mean()), (30, 40, 26));
    let threads = report(&archive, Grouping::Thread);
    assert_eq!(
        summary(&threads),
        [("inner", 1, 10, 10), ("inner", 2, 70, 70), ("outer", 1, 100, 30)]
    );
    assert_eq!(summary(&report(&archive, Grouping::Process)), summary(&together));
}

#[test]
fn providers_have_separate_clocks_and_tables() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for (provider, rate) in [(1, 1_000_000_000), (2, 1_000_000)] {
        writer.provider(provider, "app").unwrap();
        writer.initialization(rate).unwrap();
        let name = ["x", "y"][provider as usize - 1];
        writer.record(&event(THREAD, 10, name, DurationBegin).into()).unwrap();
    }
    for provider in [1, 2] {
        writer.section(provider).unwrap();
        writer.record(&event(THREAD, 20, "", DurationEnd).into()).unwrap();
    }
    let report = report(&writer.into_inner(), Grouping::Together);
    assert_eq!(summary(&report), [("x", 1, 10, 10), ("y", 1, 10_000, 10_000)]);
}

#[test]
fn operations_flows_and_instants() {
    let events = [
        event(THREAD, 10, "op", AsyncBegin { id: 1 }),
        event((1, 3), 11, "op", AsyncBegin { id: 2 }),
        // Records of another thread may come before.
        event((1, 6), 99, "late", AsyncEnd { id: 5 }),
        event(THREAD, 90, "late", AsyncBegin { id: 5 }),
        // The same id in another process is another operation, but the same flow.
        event((9, 9), 12, "op", AsyncEnd { id: 1 }),
        event(THREAD, 13, "arrow", FlowBegin { id: 1 }),
        event((1, 4), 20, "op", AsyncEnd { id: 1 }),
        event((9, 9), 43, "arrow", FlowEnd { id: 1 }),
        event(THREAD, 50, "moment", Instant { scope: None }),
    ];
    let report = report(&archive(&events), Grouping::Together);
    let rows = |rows: &[Row]| -> Vec<(String, u64, u64)> {
        let row = |row: &Row| (row.name.clone(), row.lengths.count(), row.lengths.sum());
        rows.iter().map(row).collect()
    };
    assert_eq!(rows(&report.operations), [("op".to_owned(), 1, 10), ("late".to_owned(), 1, 9)]);
    assert_eq!(rows(&report.flows), [("arrow".to_owned(), 1, 30)]);
    assert_eq!(rows(&report.instants), [("moment".to_owned(), 1, 0)]);
    assert_eq!(report.unpaired_operations, Unpaired { begins: 1, ends: 1 });
    assert_eq!(report.unpaired_flows, Unpaired::default());
}

#[test]
fn counters_have_a_row_for_each_series() {
    let values = [[1.5, -2.0], [4.5, f64::NAN]];
    let series = |name, value| Argument::new(name, Value::Double(value));
    // Data of JSON is not a series.
    let arguments = values.map(|[a, b]| [series("a", a), series("b", b), series("tef:id", 7.0)]);
    let events: Vec<Event<'_>> = arguments
        .iter()
        .map(|list| Event { arguments: list.into(), ..event(THREAD, 1, "n", Counter { id: 7 }) })
        .collect();
    let report = report(&archive(&events), Grouping::Together);
    let [a, b] = &report.counters[..] else { panic!("{:?}", report.counters) };
    assert_eq!((a.series.as_str(), a.id, a.count), ("a", 7, 2));
    assert_eq!((a.first, a.last, a.min, a.max, a.mean), (1.5, 4.5, 1.5, 4.5, 3.0));
    assert_eq!((b.series.as_str(), b.count, b.last), ("b", 1, -2.0));
    assert_eq!(report.counter_values_left_out, 1);
}

#[test]
fn the_first_value_of_a_counter_is_the_earliest() {
    let values = [(50, 5.0), (10, 1.0), (10, 2.0), (90, 9.0), (90, 8.0), (30, 3.0)];
    let arguments = values.map(|(_, value)| [Argument::new("a", Value::Double(value))]);
    let events: Vec<Event<'_>> = std::iter::zip(values, &arguments)
        .map(|((at, _), list)| Event {
            arguments: list.into(),
            ..event(THREAD, at, "n", Counter { id: 0 })
        })
        .collect();
    let report = report(&archive(&events), Grouping::Together);
    assert_eq!((report.counters[0].first, report.counters[0].last), (1.0, 8.0));
}

#[test]
fn groups_have_names() {
    let koid = [Argument::new("process", Value::Koid(1))];
    let object = |object_type, koid, name: &'static str, arguments| {
        Record::from(KernelObject { object_type, koid, name: name.into(), arguments })
    };
    let records = [
        Record::from(event(THREAD, 1, "x", DurationComplete { end: 2 })),
        object(ObjectType::PROCESS, 1, "app", Arguments::NONE),
        object(ObjectType::THREAD, 2, "main", (&koid).into()),
    ];
    let report = report(&crate::testing::archive(&records), Grouping::Thread);
    let group = report.durations[0].group.clone().unwrap();
    assert_eq!((group.process_name.as_str(), group.thread_name.as_str()), ("app", "main"));
    let json = report.to_json();
    assert_eq!(json["durations"][0]["thread_name"], "main");
    assert_eq!(json["durations"][0]["thread"], 2);
    assert_eq!(json["durations"][0]["p99.9_ns"], 1);
    assert_eq!(json["complete"], true);
}

/// Readers convert numbers to floats, and would round the koids of tracks.
#[test]
fn large_ids_are_strings() {
    let track = (1 << 53, 1 << 63 | 1);
    let value = [Argument::new("a", Value::Int32(1))];
    let counter = event(track, 1, "n", Counter { id: u64::MAX });
    let counter = Event { arguments: (&value).into(), ..counter };
    let events = [counter, event(track, 1, "x", DurationComplete { end: 2 })];
    let json = report(&archive(&events), Grouping::Thread).to_json();
    assert_eq!(json["counters"][0]["id"], "18446744073709551615");
    assert_eq!(json["durations"][0]["process"], "9007199254740992");
    assert_eq!(json["durations"][0]["thread"], "9223372036854775809");
}

/// Returns the record that a processor goes from one thread to another, which can go on.
fn switch(ticks: u64, outgoing_thread: u64, incoming_thread: u64) -> Record<'static> {
    let (cpu, outgoing_state, arguments) = (0, ThreadState(0), Arguments::NONE);
    let switch =
        ContextSwitch { ticks, cpu, outgoing_state, outgoing_thread, incoming_thread, arguments };
    Record::from(switch)
}

#[test]
fn time_on_a_processor() {
    let records = [
        Record::from(event(THREAD, 10, "x", DurationComplete { end: 100 })),
        switch(5, 9, 2),
        switch(40, 2, 9),
        switch(70, 9, 2),
        switch(200, 2, 9),
    ];
    let archive = crate::testing::archive(&records);
    assert_eq!(report(&archive, Grouping::Together).context_switches, 4);
    let schedule = Schedule::read(Reader::new(&*archive)).unwrap();
    let report = collect(Reader::new(&*archive), Grouping::Together, Some(&schedule)).unwrap();
    assert_eq!(report.durations[0].on_cpu_nanos, Some(30 + 30));
    assert_eq!(report.partly_scheduled, 0);
}

/// Times and durations are rounded to nanoseconds: a duration of 0.4 ns lasts from 0 to 1.
#[test]
fn time_on_a_processor_is_not_longer_than_the_duration() {
    let records = [
        Record::Initialization { ticks_per_second: 2_500_000_000 },
        switch(1, 9, 2),
        Record::from(event(THREAD, 2, "x", DurationComplete { end: 3 })),
        switch(200, 2, 9),
    ];
    let archive = crate::testing::archive(&records);
    let schedule = Schedule::read(Reader::new(&*archive)).unwrap();
    let report = collect(Reader::new(&*archive), Grouping::Together, Some(&schedule)).unwrap();
    let row = &report.durations[0];
    assert_eq!((row.self_nanos, row.on_cpu_nanos), (0, Some(0)));
}

/// As in a slice that keeps durations whole.
#[test]
fn durations_beyond_the_scheduling_records_are_counted() {
    let switch = |ticks, outgoing_thread, incoming_thread| {
        let (arguments, outgoing_state) = (Arguments::NONE, ThreadState(2));
        Record::from(ContextSwitch {
            ticks,
            cpu: 0,
            outgoing_state,
            outgoing_thread,
            incoming_thread,
            arguments,
        })
    };
    let complete = |begin, end| Record::from(event(THREAD, begin, "x", DurationComplete { end }));
    let early = Record::from(event(THREAD, 10, "early", DurationComplete { end: 30 }));
    let records = [
        early,
        complete(10, 60),
        switch(40, 9, 2),
        complete(45, 50),
        complete(70, 101),
        switch(100, 2, 9),
    ];
    let archive = crate::testing::archive(&records);
    let schedule = Schedule::read(Reader::new(&*archive)).unwrap();
    let report = collect(Reader::new(&*archive), Grouping::Together, Some(&schedule)).unwrap();
    assert_eq!(report.durations[0].on_cpu_nanos, Some(20 + 5 + 30));
    assert_eq!((&*report.durations[1].name, report.durations[1].on_cpu_nanos), ("early", None));
    assert_eq!(report.partly_scheduled, 3);
}

#[test]
fn losses_are_reported() {
    let arguments = [Argument::new("number", Value::Uint64(40))];
    let mut dropped = event(THREAD, 1, "records dropped", Instant { scope: None });
    dropped.category = "trace".into();
    dropped.arguments = (&arguments).into();
    let mut bytes = archive(&[dropped, event(THREAD, 2, "x", DurationBegin)]);
    bytes.pop();
    let report = report(&bytes, Grouping::Together);
    assert_eq!(report.damage.records_dropped, 40);
    let json = report.to_json();
    assert_eq!((&json["records_dropped"], &json["complete"]), (&40.into(), &false.into()));
    assert!(json["cut"].as_str().unwrap().starts_with("the trace ends within the record"));
}

/// Random nested durations: each one is in an earlier one.
fn nested() -> impl Strategy<Value = Vec<(u64, u64, usize)>> {
    let cuts =
        prop::collection::vec((any::<prop::sample::Index>(), 1..20u64, 1..20u64, 0..3usize), 1..60);
    cuts.prop_map(|cuts| {
        let mut spans = vec![(1, 1_000_001, 0)];
        // The free time in each, for the next inner duration.
        let mut free = vec![(2u64, 1_000_000u64)];
        for (index, gap, share, name) in cuts {
            let parent = index.index(spans.len());
            let (from, to) = free[parent];
            let begin = from + gap;
            let end = begin + to.saturating_sub(from) / (share + 1);
            if begin < end && end < to {
                free[parent].0 = end + 1;
                spans.push((begin, end, name));
                free.push((begin + 1, end - 1));
            }
        }
        spans
    })
}

proptest! {
    /// Against a computation that compares all pairs.
    #[test]
    fn same_as_by_brute_force(spans in nested(), at_end in any::<bool>()) {
        let names = ["a", "b", "c"];
        let mut order = spans.clone();
        order.sort_by_key(|(begin, end, _)| if at_end { *end } else { *begin });
        let events: Vec<Event<'_>> = order
            .iter()
            .map(|(begin, end, name)| {
                event(THREAD, *begin, names[*name], DurationComplete { end: *end })
            })
            .collect();
        let report = report(&archive(&events), Grouping::Together);
        for (number, name) in names.iter().enumerate() {
            let of_name = spans.iter().filter(|span| span.2 == number);
            let mut lengths: Vec<u64> = of_name.clone().map(|(b, e, _)| e - b).collect();
            lengths.sort_unstable();
            let own: u64 = of_name.map(|span| self_time(span, &spans)).sum();
            let Some(row) = report.durations.iter().find(|row| row.name == **name) else {
                prop_assert!(lengths.is_empty());
                continue;
            };
            prop_assert_eq!(row.lengths.count(), lengths.len() as u64);
            prop_assert_eq!(row.lengths.sum(), lengths.iter().sum::<u64>());
            prop_assert_eq!(row.self_nanos, own);
            prop_assert_eq!(row.lengths.max(), *lengths.last().unwrap());
            for (quantile, per_mille) in [(0.5, 500), (0.9, 900), (0.99, 990), (0.999, 999)] {
                let rank = (lengths.len() * per_mille).div_ceil(1000);
                prop_assert_eq!(row.lengths.quantile(quantile), lengths[rank - 1]);
            }
        }
    }
}

/// Returns the self time of a duration.
fn self_time(of: &(u64, u64, usize), all: &[(u64, u64, usize)]) -> u64 {
    let within = |span: &&(u64, u64, usize)| *span != of && of.0 <= span.0 && span.1 <= of.1;
    let inner: Vec<_> = all.iter().filter(within).collect();
    let is_direct = |span: &&&(u64, u64, usize)| {
        !inner.iter().any(|other| other != *span && other.0 <= span.0 && span.1 <= other.1)
    };
    let taken: u64 = inner.iter().filter(is_direct).map(|span| span.1 - span.0).sum();
    of.1 - of.0 - taken
}
