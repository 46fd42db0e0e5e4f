use proptest::prelude::*;
use trace_format::{Arguments, Event, EventKind, Reader, Thread, ThreadKoids, Writer};

use super::*;

/// A duration with its inner durations.
#[derive(Debug, Clone)]
struct Tree {
    name: u8,
    before: u64,
    after: u64,
    inner: Vec<Tree>,
}

/// Begin, end, name and self time.
type Row = (u64, u64, u8, u64);

#[test]
fn begins_without_an_end_and_ends_without_a_begin_keep_their_values() {
    let thread = Thread::Inline(ThreadKoids::new(1, 2));
    let mut writer = Writer::new(Vec::new()).unwrap();
    for (ticks, kind) in
        [(5, EventKind::DurationBegin), (6, EventKind::DurationBegin), (4, EventKind::DurationEnd)]
    {
        let (category, name, arguments) = ("c".into(), "n".into(), Arguments::NONE);
        let event = Event { ticks, thread, category, name, kind, arguments };
        writer.record(&event.into()).unwrap();
    }
    let bytes = writer.into_inner();
    let (mut reader, mut spans) = (Reader::new(&*bytes), Spans::with_values_and_unended());
    let mut number = 0;
    while let Some(item) = reader.next().unwrap() {
        number += 1;
        assert_eq!(spans.record_with(&item, number).count(), 0);
    }
    assert_eq!(spans.finish().count(), 0);
    let mut values: Vec<_> = spans.take_unended().iter().map(|it| it.begin_value).collect();
    values.sort_unstable();
    assert_eq!(values, [number - 2, number - 1]);
    assert_eq!(spans.take_lone_ends(), [number]);
    assert!(spans.take_lone_ends().is_empty());
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = (0..4u8, 0..5u64, 0..5u64);
    let leaf = leaf.prop_map(|(name, before, after)| Tree { name, before, after, inner: vec![] });
    leaf.prop_recursive(6, 200, 8, |inner| {
        let inner = prop::collection::vec(inner, 0..8);
        (0..4u8, 0..5u64, 0..5u64, inner).prop_map(|(name, before, after, inner)| Tree {
            name,
            before,
            after,
            inner,
        })
    })
}

/// The records of a duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    AtBegin,
    AtEnd,
    Pair,
}

/// Adds a tree's events, and the rows that they should become. Returns the tree's end.
fn lay(
    tree: &Tree,
    start: u64,
    styles: &mut impl FnMut() -> Style,
    events: &mut Vec<(u64, u8, EventKind)>,
    rows: &mut Vec<Row>,
) -> u64 {
    let style = styles();
    let place = events.len();
    let mut now = start + tree.before;
    let mut inner_events = Vec::new();
    let mut taken = 0;
    for inner in &tree.inner {
        let end = lay(inner, now, styles, &mut inner_events, rows);
        taken += end - now;
        // A gap between some durations.
        now = end + tree.after % 2;
    }
    let end = now + tree.after;
    rows.push((start, end, tree.name, end - start - taken));
    match style {
        Style::AtBegin => {
            events.push((start, tree.name, EventKind::DurationComplete { end }));
            events.append(&mut inner_events);
        }
        Style::AtEnd => {
            events.append(&mut inner_events);
            events.push((start, tree.name, EventKind::DurationComplete { end }));
        }
        Style::Pair => {
            events.push((start, tree.name, EventKind::DurationBegin));
            events.append(&mut inner_events);
            events.push((end, tree.name, EventKind::DurationEnd));
        }
    }
    debug_assert!(events.len() > place);
    end
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

fn archive(events: &[(u64, u8, EventKind)]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(1, "app").unwrap();
    for (ticks, name, kind) in events {
        writer.record(&event(*ticks, *name, *kind)).unwrap();
    }
    writer.into_inner()
}

fn event(ticks: u64, name: u8, kind: EventKind) -> Record<'static> {
    Record::Event(Event {
        ticks,
        thread: Thread::Inline(ThreadKoids::new(1, 2)),
        category: "cat".into(),
        name: NAMES[usize::from(name)].into(),
        kind,
        arguments: Arguments::NONE,
    })
}

fn assembled(archive: &[u8]) -> (Vec<Row>, Oddities) {
    let mut spans = Spans::default();
    let mut found = Vec::new();
    let mut reader = Reader::new(archive);
    while let Some(item) = reader.next().unwrap() {
        found.extend(spans.record(&item));
    }
    found.extend(spans.finish());
    let oddities = spans.oddities();
    let name = |span: &Span| {
        let name = spans.catalog().name(span.label);
        NAMES.iter().position(|known| *known == name).unwrap() as u8
    };
    let row = |span: &Span| (span.begin, span.end, name(span), span.self_ticks);
    let mut rows: Vec<Row> = found.iter().map(row).collect();
    rows.sort_unstable();
    (rows, oddities)
}

fn check(trees: &[Tree], mut styles: impl FnMut() -> Style) {
    let (mut events, mut rows) = (Vec::new(), Vec::new());
    let mut now = 10;
    for tree in trees {
        now = lay(tree, now, &mut styles, &mut events, &mut rows) + 1;
    }
    rows.sort_unstable();
    let (found, oddities) = assembled(&archive(&events));
    // Any of several durations with one extent, or of length 0, may be the outer one.
    assert_eq!(totals(&found), totals(&rows), "{events:?}");
    assert_eq!(oddities, Oddities::default());
}

/// Sums the rows of one extent.
fn totals(rows: &[Row]) -> Vec<(u64, u64, u64, u64)> {
    let mut totals: Vec<(u64, u64, u64, u64)> = Vec::new();
    for (begin, end, _, own) in rows {
        match totals.last_mut() {
            Some(last) if (last.0, last.1) == (*begin, *end) => {
                last.2 += 1;
                last.3 += own;
            }
            _ => totals.push((*begin, *end, 1, *own)),
        }
    }
    totals
}

proptest! {
    #[test]
    fn complete_events_at_their_begin(trees in prop::collection::vec(tree(), 1..4)) {
        check(&trees, || Style::AtBegin);
    }

    #[test]
    fn complete_events_at_their_end(trees in prop::collection::vec(tree(), 1..4)) {
        check(&trees, || Style::AtEnd);
    }

    #[test]
    fn begins_and_ends(trees in prop::collection::vec(tree(), 1..4)) {
        check(&trees, || Style::Pair);
    }

    /// Also durations that touch, or have the same begin or end.
    #[test]
    fn mixed_styles(trees in prop::collection::vec(tree(), 1..4), seed in any::<u64>()) {
        check(&trees, mixed(seed));
    }
}

/// Returns a tree without durations that touch: each has one possible place.
fn spread(depth: u64, width: u64) -> Tree {
    let inner = match depth {
        0 => Vec::new(),
        _ => (0..width).map(|_| spread(depth - 1, width)).collect(),
    };
    Tree { name: (depth % 4) as u8, before: 3, after: 5, inner }
}

/// Returns a pseudorandom style for each duration.
fn mixed(mut number: u64) -> impl FnMut() -> Style {
    move || {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        [Style::AtBegin, Style::AtEnd, Style::Pair][(number >> 33) as usize % 3]
    }
}

#[test]
fn mixed_styles_of_separate_durations() {
    check(&[spread(4, 6), spread(2, 3)], mixed(0));
}

#[test]
fn a_duration_after_more_inner_ones_than_a_window_has() {
    let inner: Vec<Tree> = (0..50_000).map(|_| spread(1, 1)).collect();
    let outer = Tree { name: 0, before: 1, after: 1, inner };
    check(&[spread(1, 2), outer.clone()], || Style::AtEnd);
    check(std::slice::from_ref(&outer), || Style::AtBegin);
    let mut first = true;
    check(&[outer], || if std::mem::take(&mut first) { Style::Pair } else { Style::AtEnd });
}

#[test]
fn chunks_out_of_order() {
    let (mut events, mut rows) = (Vec::new(), Vec::new());
    lay(&spread(5, 5), 10, &mut || Style::AtBegin, &mut events, &mut rows);
    rows.sort_unstable();
    let mut chunks: Vec<&[(u64, u8, EventKind)]> = events.chunks(100).collect();
    chunks.swap(3, 4);
    chunks.swap(10, 12);
    chunks.reverse();
    let (found, oddities) = assembled(&archive(&chunks.concat()));
    assert_eq!(found, rows);
    assert_eq!(oddities, Oddities::default());
}

#[test]
fn unpaired_events_are_counted() {
    use EventKind::{DurationBegin, DurationComplete, DurationEnd};
    let events = [
        (5, 3, DurationEnd),
        (10, 0, DurationBegin),
        (20, 1, DurationBegin),
        (22, 2, DurationComplete { end: 24 }),
        // `b` has no end, so its inner duration is in `a`.
        (30, 0, DurationEnd),
        (40, 0, DurationBegin),
        (45, 2, DurationComplete { end: 44 }),
    ];
    let (rows, oddities) = assembled(&archive(&events));
    assert_eq!(rows, [(10, 30, 0, 18), (22, 24, 2, 2), (45, 45, 2, 0)]);
    let expected =
        Oddities { begins_without_end: 2, ends_without_begin: 1, reversed: 1, misplaced: 0 };
    assert_eq!(oddities, expected);
}

#[test]
fn deeply_nested_durations_are_complete() {
    let mut events: Vec<(u64, u8, EventKind)> =
        (0..20_000).map(|at| (at, 0, EventKind::DurationBegin)).collect();
    events.extend((0..20_000).map(|at| (30_000 + at, 0, EventKind::DurationEnd)));
    let (rows, oddities) = assembled(&archive(&events));
    assert_eq!(rows.len(), 20_000);
    assert_eq!(rows[0], (0, 49_999, 0, 2));
    assert_eq!(oddities, Oddities::default());
}

#[test]
fn times_have_the_rate_of_their_record() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(1, "app").unwrap();
    for rate in [1_000_000_000, 1_000_000] {
        writer.initialization(rate).unwrap();
        let complete = EventKind::DurationComplete { end: 3000 };
        for (ticks, kind) in [(1000, EventKind::DurationBegin), (2000, complete)] {
            writer.record(&event(ticks, 0, kind)).unwrap();
        }
    }
    let mut spans = Spans::default();
    let mut found = Vec::new();
    let archive = writer.into_inner();
    let mut reader = Reader::new(&*archive);
    let mut look = |span: Span| found.push((span.rate.to_nanos(span.begin), span.nanos()));
    while let Some(item) = reader.next().unwrap() {
        spans.record(&item).for_each(&mut look);
    }
    spans.finish().for_each(look);
    assert_eq!(spans.oddities().begins_without_end, 2);
    assert_eq!(found, [(2000, 1000), (2_000_000, 1_000_000)]);
}

#[test]
fn a_duration_that_ends_at_the_last_tick() {
    use EventKind::{DurationBegin, DurationComplete, DurationEnd};
    let complete =
        [(9, 0, DurationComplete { end: u64::MAX }), (20, 1, DurationComplete { end: 30 })];
    let pair =
        [(9, 0, DurationBegin), (20, 1, DurationComplete { end: 30 }), (u64::MAX, 0, DurationEnd)];
    for events in [&complete[..], &pair] {
        let rows = vec![(9, u64::MAX, 0, u64::MAX - 19), (20, 30, 1, 10)];
        assert_eq!(assembled(&archive(events)), (rows, Oddities::default()), "{events:?}");
    }
}

fn with_arguments<'a>(
    ticks: u64,
    name: &'a str,
    kind: EventKind,
    arguments: impl Into<Arguments<'a>>,
) -> trace_format::Record<'a> {
    let (thread, category) = (Thread::Inline(ThreadKoids::new(1, 5)), "cat".into());
    Event { ticks, thread, category, name: name.into(), kind, arguments: arguments.into() }.into()
}

#[test]
fn polls_have_their_role_from_arguments_or_a_mark() {
    use trace_format::{Argument, Value};
    let polled =
        [Argument::new("task", Value::Uint64(7)), Argument::new("poll-count", Value::Uint32(2))];
    let task = [Argument::new("task", Value::Uint64(7))];
    let first = [Argument::new("poll-count", Value::Uint32(1))];
    let dropped = [Argument::new("poll-state", Value::String("dropped".into()))];
    let complete = |ticks: u64| EventKind::DurationComplete { end: ticks + 10 };
    let mark = EventKind::AsyncInstant { id: 7 };
    let records = [
        with_arguments(100, "a", complete(100), &[]),
        // The inner one begins at the same time.
        with_arguments(100, "b", EventKind::DurationComplete { end: 105 }, &[]),
        with_arguments(100, "a", mark, &first),
        with_arguments(200, "a", complete(200), &polled),
        with_arguments(300, "a", EventKind::DurationBegin, &polled),
        with_arguments(305, "a", EventKind::DurationEnd, &[]),
        with_arguments(400, "a", complete(400), &polled),
        with_arguments(400, "a", mark, &dropped),
        // An application's own argument.
        with_arguments(500, "a", complete(500), &task),
        // Marks without a duration, and of another name.
        with_arguments(501, "a", mark, &first),
        with_arguments(500, "b", mark, &first),
    ];
    let archive = crate::testing::archive(&records);
    let mut spans = Spans::default();
    let mut reader = Reader::new(&*archive);
    let mut found = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        found.extend(spans.record(&item));
    }
    found.extend(spans.finish());
    found.sort_by_key(|span| (span.begin, std::cmp::Reverse(span.end)));
    let roles: Vec<(u64, Role)> = found.iter().map(|span| (span.begin, span.role)).collect();
    let expected = [
        (100, Role::Poll),
        (100, Role::Duration),
        (200, Role::Poll),
        (300, Role::Poll),
        (400, Role::Drop),
        (500, Role::Duration),
    ];
    assert_eq!(roles, expected);
}

#[test]
fn begins_without_an_end_are_returned_if_selected() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for (ticks, kind) in
        [(5, EventKind::DurationBegin), (7, EventKind::DurationComplete { end: 9 })]
    {
        let thread = Thread::Inline(ThreadKoids::new(1, 2));
        let (category, name, arguments) = ("c".into(), "n".into(), (&[][..]).into());
        writer.record(&Event { ticks, thread, category, name, kind, arguments }.into()).unwrap();
    }
    let archive = writer.into_inner();
    for mut spans in [Spans::with_unended(), Spans::default()] {
        let is_selected = spans.done.unended.is_some();
        let mut reader = Reader::new(&archive[..]);
        while let Some(item) = reader.next().unwrap() {
            assert_eq!(spans.record(&item).count(), 0);
        }
        assert_eq!(spans.finish().count(), 1);
        let begins: Vec<_> = spans.take_unended().iter().map(|span| span.begin).collect();
        assert_eq!(begins, if is_selected { vec![5] } else { vec![] });
        assert!(spans.take_unended().is_empty());
        assert_eq!(spans.oddities().begins_without_end, 1);
    }
}
