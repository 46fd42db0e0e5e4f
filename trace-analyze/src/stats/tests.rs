use proptest::prelude::*;
use trace_format::layout::{ObjectType, ThreadState};
use trace_format::{
    Argument, Arguments, ContextSwitch, Event, EventKind, KernelObject, Record, Text, Thread,
    Value, Writer,
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

#[test]
fn time_on_a_processor() {
    let switch = |ticks, outgoing_thread, incoming_thread| {
        let (outgoing_state, arguments) = (ThreadState(0), Arguments::NONE);
        Record::from(ContextSwitch {
            ticks,
            cpu: 0,
            outgoing_state,
            outgoing_thread,
            incoming_thread,
            arguments,
        })
    };
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

mod groups {
    use trace_format::{Argument, Record, Value};

    use super::*;
    use crate::parents::Parents;
    use crate::stats::{collect, By};

    fn with<'a>(
        ticks: u64,
        name: &'a str,
        kind: EventKind,
        arguments: &'a [Argument<'a>],
    ) -> Record<'a> {
        let thread = Thread::Inline(ThreadKoids::new(1, 5));
        let (category, name, arguments) = ("cat".into(), name.into(), arguments.into());
        Event { ticks, thread, category, name, kind, arguments }.into()
    }

    fn rows(rows: &[Row]) -> Vec<(String, String, u64, u64)> {
        let value = |row: &Row| row.group.as_ref().unwrap().value.clone().unwrap();
        let row =
            |row: &Row| (row.name.clone(), value(row), row.lengths.count(), row.lengths.sum());
        let mut rows: Vec<_> = rows.iter().map(row).collect();
        rows.sort();
        rows
    }

    fn row(name: &str, value: &str, count: u64, sum: u64) -> (String, String, u64, u64) {
        (name.to_owned(), value.to_owned(), count, sum)
    }

    #[test]
    fn rows_of_an_argument() {
        let (a, one) = (
            [Argument::new("key", Value::String("a".into()))],
            [Argument::new("key", Value::Int32(1))],
        );
        let records = [
            with(0, "outer", EventKind::DurationBegin, &a),
            with(1, "inner", EventKind::DurationComplete { end: 3 }, &one),
            with(4, "inner", EventKind::DurationComplete { end: 9 }, &one),
            with(10, "outer", EventKind::DurationEnd, &one),
            with(20, "outer", EventKind::DurationComplete { end: 21 }, &[]),
            with(30, "read", EventKind::AsyncBegin { id: 1 }, &a),
            with(37, "read", EventKind::AsyncEnd { id: 1 }, &[]),
        ];
        let archive = crate::testing::archive(&records);
        let report = collect(Reader::new(&*archive), By::Argument("key"), None).unwrap();
        let expected =
            [row("inner", "1", 2, 7), row("outer", "(none)", 1, 1), row("outer", "a", 1, 10)];
        assert_eq!(rows(&report.durations), expected);
        assert_eq!(rows(&report.operations), [row("read", "a", 1, 7)]);
        assert_eq!(report.other_values, 0);
    }

    /// A condition can be met by the begin, and another one by the end.
    #[test]
    fn rows_of_events_that_meet_conditions() {
        let text = |key, value| [Argument::new(key, Value::String(Text::from(value)))];
        let (a, b, done) = (text("path", "/a/1"), text("path", "/b"), text("state", "done"));
        let records = [
            with(0, "read", EventKind::DurationBegin, &a),
            with(1, "inner", EventKind::DurationComplete { end: 3 }, &b),
            with(10, "read", EventKind::DurationEnd, &done),
            with(20, "read", EventKind::DurationComplete { end: 21 }, &a),
            with(30, "call", EventKind::AsyncBegin { id: 1 }, &a),
            with(37, "call", EventKind::AsyncEnd { id: 1 }, &done),
            with(40, "call", EventKind::AsyncBegin { id: 2 }, &b),
            with(48, "call", EventKind::AsyncEnd { id: 2 }, &done),
            with(50, "flow", EventKind::FlowBegin { id: 3 }, &a),
            with(60, "flow", EventKind::FlowEnd { id: 3 }, &[]),
            with(70, "hit", EventKind::Instant { scope: None }, &a),
            with(80, "hit", EventKind::Instant { scope: None }, &b),
        ];
        let archive = crate::testing::archive(&records);
        let report = |conditions: &[Condition]| {
            collect(Reader::new(&*archive), By::Conditions(conditions), None).unwrap()
        };
        let sums = |rows: &[Row]| {
            let sum = |row: &Row| (row.name.clone(), row.lengths.count(), row.lengths.sum());
            rows.iter().map(sum).collect::<Vec<_>>()
        };
        let row = |name: &str, count, sum| (name.to_owned(), count, sum);
        let (path, state) = (Condition::new("path", "/a*"), Condition::new("state", "done"));
        let of_path = report(std::slice::from_ref(&path));
        assert_eq!(sums(&of_path.durations), [row("read", 2, 11)]);
        assert_eq!(sums(&of_path.operations), [row("call", 1, 7)]);
        assert_eq!(sums(&of_path.flows), [row("flow", 1, 10)]);
        assert_eq!(sums(&of_path.instants), [row("hit", 1, 0)]);
        assert!(of_path.durations.iter().all(|row| row.group.is_none()));
        let of_both = report(&[path, state]);
        assert_eq!(sums(&of_both.durations), [row("read", 1, 10)]);
        assert_eq!(sums(&of_both.operations), [row("call", 1, 7)]);
    }

    #[test]
    fn rows_of_an_argument_at_one_time() {
        let key = |value| [Argument::new("key", Value::String(Text::from(value)))];
        let (a, b) = (key("a"), key("b"));
        let records = [
            with(0, "read", EventKind::DurationComplete { end: 0 }, &a),
            with(0, "read", EventKind::DurationComplete { end: 0 }, &b),
            with(5, "read", EventKind::DurationBegin, &a),
            with(5, "read", EventKind::DurationBegin, &b),
            with(7, "read", EventKind::DurationEnd, &[]),
            with(9, "read", EventKind::DurationEnd, &[]),
            with(20, "read", EventKind::DurationComplete { end: 28 }, &[]),
            with(20, "read", EventKind::DurationComplete { end: 30 }, &b),
        ];
        let archive = crate::testing::archive(&records);
        let report = collect(Reader::new(&*archive), By::Argument("key"), None).unwrap();
        let expected =
            [row("read", "(none)", 1, 8), row("read", "a", 2, 4), row("read", "b", 3, 12)];
        assert_eq!(rows(&report.durations), expected);
    }

    /// Results are known at the end only.
    #[test]
    fn rows_of_an_argument_of_the_end() {
        let key = |value| [Argument::new("key", Value::String(Text::from(value)))];
        let (a, b) = (key("a"), key("b"));
        let records = [
            with(0, "work", EventKind::DurationBegin, &[]),
            with(1, "work", EventKind::DurationBegin, &a),
            with(3, "work", EventKind::DurationEnd, &b),
            with(4, "work", EventKind::DurationEnd, &b),
            with(5, "op", EventKind::AsyncBegin { id: 1 }, &[]),
            with(6, "op", EventKind::AsyncBegin { id: 2 }, &b),
            with(7, "op", EventKind::AsyncEnd { id: 1 }, &a),
            with(9, "op", EventKind::AsyncEnd { id: 2 }, &a),
        ];
        let archive = crate::testing::archive(&records);
        let report = collect(Reader::new(&*archive), By::Argument("key"), None).unwrap();
        let expected = [row("work", "a", 1, 2), row("work", "b", 1, 4)];
        assert_eq!(rows(&report.durations), expected);
        assert_eq!(rows(&report.operations), [row("op", "a", 1, 2), row("op", "b", 1, 3)]);
    }

    /// The first poll has a mark, the others name their operation. Threads come in any order, and
    /// an id can be used again.
    #[test]
    fn polls_have_the_arguments_of_their_operation() {
        let key = |value| Argument::new("key", Value::String(Text::from(value)));
        let count = Argument::new("poll-count", Value::Uint64(1));
        let (a, b, own, mark) = ([key("a")], [key("b")], [key("own")], [count]);
        let poll = |id| [Argument::new("task", Value::Uint64(id)), count];
        let (of_one, of_two, of_three) = (poll(1), poll(2), poll(3));
        let complete = |end| EventKind::DurationComplete { end };
        let (begin, end) = (|id| EventKind::AsyncBegin { id }, |id| EventKind::AsyncEnd { id });
        let records = [
            with(10, "op", complete(11), &[]),
            with(10, "op", EventKind::AsyncInstant { id: 1 }, &mark),
            with(12, "op", complete(14), &of_one),
            with(32, "op", complete(36), &of_one),
            with(52, "op", EventKind::DurationBegin, &of_two),
            with(53, "inner", complete(54), &own),
            with(60, "op", EventKind::DurationEnd, &[]),
            with(70, "op", complete(86), &of_three),
            with(9, "op", begin(1), &a),
            with(20, "op", end(1), &[]),
            with(30, "op", begin(1), &b),
            with(40, "op", end(1), &[]),
            with(50, "op", begin(2), &[]),
            with(61, "op", end(2), &a),
        ];
        let archive = crate::testing::archive(&records);
        let open = || Reader::new(&*archive);
        let groups = Groups::read(By::Argument("key"), open()).unwrap();
        let report = collect(open(), groups, None).unwrap();
        let expected = [
            row("inner", "own", 1, 1),
            row("op", "(none)", 1, 16),
            row("op", "a", 3, 11),
            row("op", "b", 1, 4),
        ];
        assert_eq!(rows(&report.durations), expected);
        let conditions = [Condition::new("key", "a")];
        let groups = Groups::read(By::Conditions(&conditions), open()).unwrap();
        let report = collect(open(), groups, None).unwrap();
        let counts: Vec<_> =
            report.durations.iter().map(|row| (&*row.name, row.lengths.count())).collect();
        assert_eq!(counts, [("op", 3)]);
    }

    #[test]
    fn values_beyond_the_limit_share_a_row() {
        let values: Vec<_> =
            (0..1500).map(|value| [Argument::new("key", Value::Uint64(value))]).collect();
        let complete = |at: usize| EventKind::DurationComplete { end: at as u64 + 1 };
        let records: Vec<Record<'_>> = values
            .iter()
            .enumerate()
            .map(|(at, value)| with(at as u64, "step", complete(at), value))
            .collect();
        let archive = crate::testing::archive(&records);
        let report = collect(Reader::new(&*archive), By::Argument("key"), None).unwrap();
        assert_eq!((report.durations.len(), report.other_values), (1001, 500));
        assert!(rows(&report.durations).contains(&row("step", "(other values)", 500, 500)));
    }

    #[test]
    fn rows_of_operations_by_their_parents() {
        let (of_one, of_two) = (
            [Argument::new("parent", Value::Uint64(1))],
            [Argument::new("parent", Value::Uint64(2))],
        );
        let begin = |id| EventKind::AsyncBegin { id };
        let end = |id| EventKind::AsyncEnd { id };
        let records = [
            with(2, "query", begin(3), &of_two),
            with(5, "query", end(3), &[]),
            with(0, "request", begin(1), &[]),
            with(1, "user", begin(2), &of_one),
            with(6, "query", begin(4), &of_one),
            with(7, "query", end(4), &[]),
            with(8, "user", end(2), &[]),
            with(9, "request", end(1), &[]),
        ];
        let archive = crate::testing::archive(&records);
        let parents = Parents::read(Reader::new(&*archive)).unwrap();
        let report = collect(Reader::new(&*archive), By::Parent(&parents), None).unwrap();
        let expected = [
            row("query", "request", 1, 1),
            row("query", "request → user", 1, 3),
            row("request", "(none)", 1, 9),
            row("user", "request", 1, 7),
        ];
        assert_eq!(rows(&report.operations), expected);
    }
}
