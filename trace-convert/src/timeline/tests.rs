use trace_format::layout::{BlobType, InstantScope, ObjectType, ThreadState};
use trace_format::{
    Argument, Arguments, ContextSwitch, Event, EventKind, KernelObject, Log, Metadata, Reader,
    Record, Text, Thread, ThreadKoids, ThreadWakeup, Value,
};

use super::rows::{PointKind, RowKind};
use super::*;
use crate::testing::{archive, THREAD};

mod scheduling;

const INSTANT: EventKind = EventKind::Instant { scope: Some(InstantScope::Thread) };

fn on(thread: ThreadKoids, ticks: u64, name: &str, kind: EventKind) -> Event<'_> {
    let thread = Thread::Inline(thread);
    let arguments = Arguments::NONE;
    Event { ticks, thread, category: "cat".into(), name: name.into(), kind, arguments }
}

fn at(ticks: u64, name: &str, kind: EventKind) -> Record<'_> {
    on(THREAD, ticks, name, kind).into()
}

fn read(records: &[Record<'_>]) -> Timeline {
    Timeline::read(Reader::new(&*archive(records)), DEFAULT_LIMIT).unwrap()
}

/// Returns the lanes of the first row: name, begin, end, `+` if open.
fn lanes(timeline: &Timeline, row: usize) -> Vec<Vec<String>> {
    let rows: Vec<_> = timeline.groups.iter().flat_map(|group| &group.rows).collect();
    let slice = |slice: &rows::Slice| {
        let name = timeline.catalog.name(slice.label);
        let open = if slice.is_open { "+" } else { "" };
        format!("{name} {}..{}{open}", slice.begin, slice.end)
    };
    rows[row].lanes.iter().map(|lane| lane.iter().map(slice).collect()).collect()
}

#[test]
fn durations_are_nested() {
    use EventKind::{DurationBegin, DurationComplete, DurationEnd};
    let table: &[(&[Record<'_>], &[&[&str]])] = &[
        (
            &[at(10, "a", DurationComplete { end: 50 }), at(20, "b", DurationComplete { end: 30 })],
            &[&["a 10..50"], &["b 20..30"]],
        ),
        // The outer one follows the inner one.
        (
            &[at(20, "b", DurationComplete { end: 30 }), at(10, "a", DurationComplete { end: 50 })],
            &[&["a 10..50"], &["b 20..30"]],
        ),
        (
            &[
                at(10, "a", DurationBegin),
                at(20, "b", DurationBegin),
                at(30, "b", DurationEnd),
                at(40, "a", DurationEnd),
            ],
            &[&["a 10..40"], &["b 20..30"]],
        ),
        // A part of an archive begins and ends within both. The record of the last one is later.
        (
            &[
                at(10, "a", DurationBegin),
                at(10, "b", DurationBegin),
                at(10, "c", DurationComplete { end: 40 }),
                at(40, "b", DurationEnd),
                at(40, "a", DurationEnd),
            ],
            &[&["a 10..40"], &["b 10..40"], &["c 10..40"]],
        ),
        // An end without a name closes the innermost one.
        (
            &[
                at(10, "a", DurationBegin),
                at(20, "b", DurationBegin),
                at(30, "", DurationEnd),
                at(40, "", DurationEnd),
            ],
            &[&["a 10..40"], &["b 20..30"]],
        ),
        // The end of the inner one is missing; the last one has not ended.
        (
            &[
                at(10, "a", DurationBegin),
                at(20, "b", DurationBegin),
                at(40, "a", DurationEnd),
                at(50, "c", DurationBegin),
                at(90, "i", INSTANT),
            ],
            &[&["a 10..40", "c 50..90+"], &["b 20..40+"]],
        ),
        // One that outlasts the other is below it.
        (
            &[
                at(10, "a", DurationComplete { end: 30 }),
                at(20, "b", DurationComplete { end: 40 }),
                at(40, "c", DurationComplete { end: 45 }),
            ],
            &[&["a 10..30", "c 40..45"], &["b 20..40"]],
        ),
        // An end before its begin, and an end without a begin.
        (&[at(10, "a", DurationComplete { end: 5 }), at(20, "b", DurationEnd)], &[&["a 10..10"]]),
    ];
    for (records, expected) in table {
        assert_eq!(lanes(&read(records), 0), *expected, "{records:?}");
    }
}

#[test]
fn unpaired_events_are_reported() {
    let records = [
        at(10, "a", EventKind::DurationEnd),
        at(20, "b", EventKind::DurationBegin),
        at(30, "c", EventKind::AsyncBegin { id: 1 }),
        at(40, "d", EventKind::AsyncEnd { id: 1 }),
    ];
    let notes = read(&records).notes;
    assert_eq!(notes.len(), 4, "{notes:?}");
    assert!(notes.iter().all(|note| note.ends_with(": 1")), "{notes:?}");
}

#[test]
fn operations_are_packed_by_name() {
    let begin = |ticks, id| at(ticks, "op", EventKind::AsyncBegin { id });
    let end = |ticks, id| at(ticks, "op", EventKind::AsyncEnd { id });
    let records = [
        begin(10, 1),
        // The thread that it ends on was read first.
        end(40, 2),
        begin(20, 2),
        end(30, 1),
        begin(30, 3),
        at(50, "op", EventKind::AsyncInstant { id: 3 }),
    ];
    let timeline = read(&records);
    assert_eq!(lanes(&timeline, 0), [vec!["op 10..30", "op 30..50+"], vec!["op 20..40"]]);
    let row = &timeline.groups[0].rows[0];
    assert_eq!((row.kind, row.points.len()), (RowKind::Operation, 1));
}

#[test]
fn operations_are_nested_by_their_argument() {
    let parent = [Argument::new("parent", Value::Uint64(1))];
    let child = on(THREAD, 20, "user", EventKind::AsyncBegin { id: 2 });
    let records = [
        Event { arguments: (&parent).into(), ..child }.into(),
        at(30, "user", EventKind::AsyncEnd { id: 2 }),
        at(25, "note", EventKind::AsyncInstant { id: 2 }),
        at(10, "request", EventKind::AsyncBegin { id: 1 }),
        at(40, "request", EventKind::AsyncEnd { id: 1 }),
    ];
    let timeline = read(&records);
    assert_eq!(lanes(&timeline, 0), [["request 10..40"], ["user 20..30"]]);
    let row = &timeline.groups[0].rows[0];
    assert_eq!((&*row.name, row.points.len(), row.identities[1][0].id), ("request", 1, 2));
}

#[test]
fn arguments_of_begin_and_end_are_joined() {
    let first = [Argument::new("a", Value::Int32(-7)), Argument::new("b", Value::Double(0.5))];
    let second = [
        Argument::new("c", Value::String("x\u{7}y".into())),
        Argument::new("d", Value::Uint64(u64::MAX)),
    ];
    let begin = on(THREAD, 1, "n", EventKind::DurationBegin);
    let end = on(THREAD, 2, "n", EventKind::DurationEnd);
    let timeline = read(&[
        Event { arguments: (&first).into(), ..begin }.into(),
        Event { arguments: (&second).into(), ..end }.into(),
    ]);
    let slice = timeline.groups[0].rows[0].lanes[0][0];
    let tooltip = encode::tooltip(&timeline, slice.label, slice.arguments);
    assert_eq!(tooltip, "cat: n\na: -7\nb: 0.5\nc: x\\u{7}y\nd: 18446744073709551615");
}

#[test]
fn flows_connect_durations() {
    let other = ThreadKoids::new(12, 35);
    let records = [
        at(10, "outer", EventKind::DurationComplete { end: 40 }),
        at(20, "inner", EventKind::DurationComplete { end: 30 }),
        at(25, "f", EventKind::FlowBegin { id: 7 }),
        on(other, 50, "f", EventKind::FlowStep { id: 7 }).into(),
        at(60, "f", EventKind::FlowEnd { id: 7 }),
        // Another one with the same id.
        at(70, "f", EventKind::FlowBegin { id: 7 }),
        at(80, "g", EventKind::FlowEnd { id: 7 }),
    ];
    let timeline = read(&records);
    let tips: Vec<_> = timeline
        .arrows
        .iter()
        .map(|arrow| [arrow.from, arrow.to].map(|tip| (tip.row, tip.lane, tip.at)))
        .collect();
    assert_eq!(tips, [[(0, 1, 25), (1, 0, 50)], [(1, 0, 50), (0, 0, 60)]]);
}

#[test]
fn counters_have_a_row_for_each_id() {
    let values = |first, second| {
        let carried = Argument::new("tef:id", Value::Int32(7));
        [Argument::new("x", Value::Int32(first)), Argument::new("y", second), carried]
    };
    let (first, second) = (values(-1, Value::Double(0.25)), values(5, Value::Double(f64::NAN)));
    let event = |ticks, id, arguments| {
        let event = on(THREAD, ticks, "c", EventKind::Counter { id });
        Record::Event(Event { arguments, ..event })
    };
    let timeline = read(&[
        event(2, 0, (&second).into()),
        event(1, 0, (&first).into()),
        event(3, 9, (&first).into()),
    ]);
    let rows = &timeline.groups[0].rows;
    assert_eq!(rows.iter().map(|row| &*row.name).collect::<Vec<_>>(), ["c", "c 0x9"]);
    assert_eq!(rows[0].series[0].samples, [(1, -1.0), (2, 5.0)]);
    assert_eq!(rows[0].series[1].samples, [(1, 0.25)]);
    // Members that are carried from JSON are not series.
    assert_eq!(rows[0].series.len(), 2);
    assert_eq!(timeline.notes, ["values of counters that are not finite numbers, not drawn: 1"]);
}

#[test]
fn series_beyond_the_limit_are_reported() {
    let names: Vec<String> = (0..70).map(|number| format!("series {number}")).collect();
    let arguments = names.iter().map(|name| [Argument::new(&**name, Value::Int32(1))]);
    let arguments: Vec<[Argument<'_>; 1]> = arguments.collect();
    let event = on(THREAD, 1, "c", EventKind::Counter { id: 0 });
    let event = |arguments| Record::Event(Event { arguments, ..event });
    let records: Vec<Record<'_>> = arguments.iter().map(|list| event(list.into())).collect();
    let timeline = read(&records);
    assert_eq!(timeline.groups[0].rows[0].series.len(), 64);
    assert_eq!(timeline.notes, ["values of counters with more than 64 series, not drawn: 6"]);
}

#[test]
fn loss_is_a_band_on_its_thread() {
    let arguments = [
        Argument::new("reason", Value::String("buffer full".into())),
        Argument::new("number", Value::Uint64(40)),
        Argument::new("from", Value::Uint64(100)),
        Argument::new("to", Value::Uint64(300)),
    ];
    let dropped = on(THREAD, 310, "records dropped", INSTANT);
    let dropped = Event { category: "trace".into(), arguments: (&arguments).into(), ..dropped };
    let timeline = read(&[dropped.into()]);
    let row = &timeline.groups[0].rows[0];
    let loss = row.losses[0];
    assert_eq!((loss.from, loss.to, loss.number), (100, 300, 40));
    assert_eq!(timeline.catalog.string(loss.reason), "buffer full");
    assert_eq!((timeline.view, row.points.len()), ((100, 300), 0));
}

/// Fuchsia's threads for idle processors are identified by their weight.
#[test]
fn idle_threads_are_not_drawn() {
    let weight = |name| [Argument::new(name, Value::Int32(i32::MIN))];
    let (outgoing, incoming) = (weight("outgoing_weight"), weight("incoming_weight"));
    let switch = |ticks, outgoing_thread, incoming_thread, arguments| {
        let (cpu, outgoing_state) = (3, ThreadState(0));
        ContextSwitch { ticks, cpu, outgoing_state, outgoing_thread, incoming_thread, arguments }
    };
    let timeline = read(&[
        switch(10, 99, 34, (&outgoing).into()).into(),
        switch(20, 34, 99, (&incoming).into()).into(),
        switch(30, 99, 34, (&outgoing).into()).into(),
        switch(40, 34, 99, (&incoming).into()).into(),
    ]);
    assert_eq!(lanes(&timeline, 0), [["thread 34 10..20", "thread 34 30..40"]]);
}

#[test]
fn instants_logs_and_scheduling() {
    let thread = Thread::Inline(THREAD);
    let switch = |ticks, outgoing_thread, incoming_thread| {
        let (outgoing_state, arguments) = (ThreadState(0), Arguments::NONE);
        ContextSwitch { ticks, cpu: 3, outgoing_state, outgoing_thread, incoming_thread, arguments }
    };
    let name = KernelObject {
        object_type: ObjectType::THREAD,
        koid: 34,
        name: "worker".into(),
        arguments: Arguments::NONE,
    };
    let wakeup = ThreadWakeup { ticks: 15, cpu: 3, thread: 34, arguments: Arguments::NONE };
    let timeline = read(&[
        name.into(),
        Log { ticks: 5, thread, message: b"it \xff began" }.into(),
        at(7, "g", EventKind::Instant { scope: Some(InstantScope::Global) }),
        switch(10, 99, 34).into(),
        wakeup.into(),
        switch(30, 34, 0).into(),
        switch(40, 0, 99).into(),
        // The end of thread 99's turn is missing.
        switch(50, 34, 0).into(),
    ]);
    assert_eq!(timeline.groups[0].name, "CPUs");
    assert_eq!(lanes(&timeline, 0), [["thread 99 5..10", "worker (34) 10..30"]]);
    let cpu = &timeline.groups[0].rows[0];
    assert_eq!(
        (&*cpu.name, cpu.kind, cpu.points[0].kind),
        ("CPU 3", RowKind::Cpu, PointKind::Wakeup)
    );
    let row = &timeline.groups[1].rows[0];
    assert_eq!(row.name, "worker (34)");
    assert_eq!(
        row.points.iter().map(|point| point.kind).collect::<Vec<_>>(),
        [PointKind::Log, PointKind::Global]
    );
    assert_eq!(timeline.catalog.name(row.points[0].label), "it \u{fffd} began");
}

#[test]
fn the_memory_limit_includes_text() {
    let text = |number: u64| format!("{number}{}", "x".repeat(30_000));
    let texts: Vec<String> = (0..100).map(text).collect();
    let lists: Vec<[Argument<'_>; 1]> =
        texts.iter().map(|text| [Argument::new("text", Value::String((&**text).into()))]).collect();
    let records: Vec<Record<'_>> = lists
        .iter()
        .map(|list| Event { arguments: list.into(), ..on(THREAD, 5, "a", INSTANT) }.into())
        .collect();
    let archive = archive(&records);
    let timeline = Timeline::read(Reader::new(&*archive), 1000).unwrap();
    assert!((30..40).contains(&timeline.events), "{}", timeline.events);
    assert_eq!(timeline.events + timeline.left_out, 100);
    assert_eq!(Timeline::read(Reader::new(&*archive), DEFAULT_LIMIT).unwrap().left_out, 0);
}

#[test]
fn events_beyond_the_limit_are_counted() {
    let records: Vec<_> = (0..10).map(|ticks| at(ticks, "i", INSTANT)).collect();
    let timeline = Timeline::read(Reader::new(&*archive(&records)), 4).unwrap();
    assert_eq!((timeline.events, timeline.left_out), (4, 6));
}

/// A hostile name.
const HOSTILE: &str =
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&]]>\u{202e}\u{0}\u{1b}";

fn hostile() -> Timeline {
    let arguments = [Argument::new(HOSTILE, Value::String(HOSTILE.into()))];
    let name = KernelObject {
        object_type: ObjectType::PROCESS,
        koid: 12,
        name: HOSTILE.into(),
        arguments: Arguments::NONE,
    };
    let event = Event {
        name: Text::Inline(b"\xff\xfe</script>\xc3"),
        arguments: (&arguments).into(),
        ..on(THREAD, 10, "", EventKind::DurationComplete { end: 30 })
    };
    let thread = Thread::Inline(THREAD);
    let log = Log { ticks: 20, thread, message: HOSTILE.as_bytes() };
    read(&[name.into(), event.into(), log.into(), at(15, HOSTILE, INSTANT)])
}

#[test]
fn names_are_not_markup_of_the_page() {
    let mut page = Vec::new();
    hostile().html(HOSTILE, &mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    assert!(!page.contains("alert(1)</script>") && !page.contains("<img"), "{page}");
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(!page.contains('\u{202e}') && !page.contains('\0'));
    // The page makes no requests.
    assert!(!page.contains("http://") && !page.contains("https://") && !page.contains(" src=\""));
}

#[test]
fn names_are_not_markup_of_the_svg() {
    let mut svg = Vec::new();
    hostile().svg(HOSTILE, &mut svg).unwrap();
    let svg = String::from_utf8(svg).unwrap();
    assert!(!svg.contains("<script") && !svg.contains("<img"), "{svg}");
    let is_character = |character: char| !character.is_control() || character == '\n';
    assert!(svg.chars().all(is_character), "{svg:?}");
    assert!(svg.contains("&lt;/script&gt;&lt;script&gt;alert(1)"), "{svg}");
}

#[test]
fn invisible_characters_are_escaped() {
    let table = [
        ("plain ü 漢", "plain ü 漢"),
        ("a\nb\t\u{0}", "a\\nb\\t\\u{0}"),
        ("\u{202e}abc\u{2066}", "\\u{202e}abc\\u{2066}"),
    ];
    for (text, shown) in table {
        assert_eq!(visible::visible(text), shown);
    }
    let long = "ä".repeat(3000);
    let shown = visible::visible(&long);
    assert!(shown.ends_with("ä… (6000 bytes)") && shown.len() < 4200, "{shown}");
}

#[test]
fn small_signed_numbers_become_small_unsigned_ones() {
    assert_eq!([0, -1, 1, -2].map(arguments::zigzag), [0, 1, 2, 3]);
    for number in [i64::MIN, -300, 0, 300, i64::MAX] {
        assert_eq!(arguments::unzigzag(arguments::zigzag(number)), number);
    }
}

#[test]
fn short_slices_are_one_box_of_the_svg() {
    let mut records: Vec<_> =
        (0..1000u64).map(|n| at(n, "short", EventKind::DurationComplete { end: n + 1 })).collect();
    records.push(at(1_000_000, "long", EventKind::DurationComplete { end: 2_000_000 }));
    let mut svg = Vec::new();
    let drawn = read(&records).svg("t", &mut svg).unwrap();
    assert_eq!(drawn, Drawn::default());
    let svg = String::from_utf8(svg).unwrap();
    assert!(svg.contains("cat: long\nat 1000.000 µs, took 1000.000 µs"), "{svg}");
    assert!(svg.matches("<rect").count() < 10 && svg.contains("durations, too short"), "{svg}");
}

#[test]
fn rows_beyond_the_limit_are_reported() {
    let records: Vec<_> = (0..1200u64)
        .map(|n| {
            on(ThreadKoids::new(1, n), n, "a", EventKind::DurationComplete { end: n + 1 }).into()
        })
        .collect();
    let mut svg = Vec::new();
    let drawn = read(&records).svg("t", &mut svg).unwrap();
    assert_eq!((drawn.rows_cut, drawn.shapes_left_out), (200, 0));
    assert!(String::from_utf8(svg).unwrap().contains("200 rows are not drawn"));
}

/// An archive of a long duration on each of two threads, with `number` arrows between them.
fn with_arrows(number: u64) -> Timeline {
    let other = ThreadKoids::new(12, 35);
    let long = EventKind::DurationComplete { end: 1_000_000 };
    let mut records = vec![at(0, "long", long), on(other, 0, "long", long).into()];
    for id in 0..number {
        records.push(at(1000 * id, "f", EventKind::FlowBegin { id }));
        records.push(on(other, 1000 * id + 500, "f", EventKind::FlowEnd { id }).into());
    }
    read(&records)
}

fn svg(timeline: &Timeline) -> (Drawn, String) {
    let mut svg = Vec::new();
    let drawn = timeline.svg("t", &mut svg).unwrap();
    (drawn, String::from_utf8(svg).unwrap())
}

#[test]
fn arrows_are_drawn_below_names_or_not_at_all() {
    let (drawn, few) = svg(&with_arrows(20));
    assert_eq!((drawn, few.matches("class=\"arrow\"").count()), (Drawn::default(), 20));
    assert!(few.rfind("class=\"arrow\"") < few.find(">long</text>"), "{few}");
    let (drawn, many) = svg(&with_arrows(900));
    assert_eq!((drawn.arrows_left_out, many.matches("class=\"arrow\"").count()), (900, 0));
    assert!(many.contains("900 arrows are not drawn") && many.contains(">long</text>"), "{many}");
}

#[test]
fn boxes_of_the_svg_have_the_colours_of_the_page() {
    let (_, svg) = svg(&with_arrows(0));
    // 7 and the units of the name in base 31, times 47, modulo 360.
    assert!(svg.contains(".h293{fill:#") && svg.contains("class=\"h293\""), "{svg}");
}

#[test]
fn undrawn_records_are_reported_by_kind() {
    let blob = |name: &'static str| {
        let (name, payload) = (name.into(), b"{}".as_slice());
        Record::Blob(trace_format::Blob { name, blob_type: BlobType::DATA, payload })
    };
    let table: &[(&[&'static str], &[&str])] = &[
        (&["tef:document", "tef:member", "tef:more", "tef:added"], &[]),
        (
            &["picture", "tef:event", "picture"],
            &[
                "blobs without a time, not drawn: 2",
                "events of JSON that FXT cannot express, not drawn: 1",
            ],
        ),
    ];
    for (names, notes) in table {
        let blobs = names.iter().map(|name| blob(name));
        let records: Vec<_> = blobs.chain([at(1, "i", INSTANT)]).collect();
        let timeline = read(&records);
        assert_eq!(timeline.notes, *notes, "{names:?}");
    }
}
