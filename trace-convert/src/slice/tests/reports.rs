//! Events of the tracing system and marks of polls, which relate to other times than their own.

use super::*;

/// Anchors would stretch the time that viewers show.
#[test]
fn clock_anchors_move_into_the_slice() {
    let anchor = |ticks: u64| {
        let value = |name, value| Argument::new(name, Value::Uint64(value));
        let arguments = [value("ticks", ticks), value("realtime_ns", 5000 + ticks)];
        (ticks, arguments)
    };
    let anchors = [anchor(1), anchor(150), anchor(900)];
    let mut records = vec![event(MAIN, 120, "inside", DurationComplete { end: 130 })];
    records.extend(anchors.iter().map(|(ticks, arguments)| {
        Record::Event(Event {
            ticks: *ticks,
            thread: Thread::Inline(MAIN),
            category: "trace".into(),
            name: "clock anchor".into(),
            kind: Instant { scope: None },
            arguments: arguments.into(),
        })
    }));
    let archive = crate::testing::archive(&records);
    let selection = Selection { from: 100, to: Some(200), ..Selection::default() };
    let mut output = Vec::new();
    let plan = Plan::read(Reader::new(&*archive), &selection).unwrap();
    write(Reader::new(&*archive), &plan, &mut output).unwrap();
    let mut reader = Reader::new(&*output);
    let mut moved = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        let Record::Event(event) = item.record else { continue };
        let values: Vec<_> =
            event.arguments.iter().filter_map(|each| each.value.unsigned()).collect();
        if !values.is_empty() {
            moved.push((event.ticks, values));
        }
    }
    let expected = [100, 150, 200].map(|ticks| (ticks, vec![ticks, 5000 + ticks]));
    assert_eq!(moved, expected);
}

/// Returns the times and the arguments of all losses in a slice of 100 to 200.
fn losses(archive: &[u8], clips: bool) -> Vec<(u64, Vec<u64>)> {
    let name = |_: &str, name: &str| name == "inside";
    let selection =
        Selection { from: 100, to: Some(200), name: Some(&name), clips, ..Selection::default() };
    let plan = Plan::read(Reader::new(archive), &selection).unwrap();
    let mut output = Vec::new();
    write(Reader::new(archive), &plan, &mut output).unwrap();
    let mut reader = Reader::new(&*output);
    let mut losses = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        let Record::Event(event) = item.record else { continue };
        if item.text(event.category) == "trace" {
            let numbers = event.arguments.iter().filter_map(|each| each.value.unsigned());
            losses.push((event.ticks, numbers.collect()));
        }
    }
    losses
}

/// The record of a loss is at the loss's end. What counts is the time in which records were lost.
#[test]
fn losses_are_selected_and_cut_by_the_time_that_they_describe() {
    let value = |name, value| Argument::new(name, Value::Uint64(value));
    let windows = [(10, 90), (50, 150), (120, 130), (20, 300), (150, 400), (200, 400)];
    let arguments =
        windows.map(|(from, to)| [value("number", 3), value("from", from), value("to", to)]);
    for name in ["records dropped", "recording interrupted"] {
        let records = windows.iter().zip(&arguments).map(|((_, to), arguments)| {
            Record::Event(Event {
                ticks: *to,
                thread: Thread::Inline(MAIN),
                category: "trace".into(),
                name: name.into(),
                kind: Instant { scope: None },
                arguments: arguments.into(),
            })
        });
        let archive = crate::testing::archive(&records.collect::<Vec<_>>());
        let entire = [(150, 50, 150), (130, 120, 130), (300, 20, 300), (400, 150, 400)];
        let clipped = [(150, 100, 150), (130, 120, 130), (200, 100, 200), (200, 150, 200)];
        for (clips, expected) in [(false, entire), (true, clipped)] {
            let expected: Vec<_> =
                expected.iter().map(|(at, from, to)| (*at, vec![3, *from, *to])).collect();
            assert_eq!(losses(&archive, clips), expected, "{name} {clips}");
        }
    }
}

/// A span of `tracing` has its id only after its first poll: a mark at the begin connects them.
#[test]
fn marks_of_polls_are_kept_with_the_polls() {
    let count = [Argument::new("poll-count", Value::Uint32(1))];
    let state = [Argument::new("poll-state", Value::String("dropped".into()))];
    let with = |arguments, record| match record {
        Record::Event(event) => Record::Event(Event { arguments, ..event }),
        record => record,
    };
    let mark =
        |ticks, name| with((&count).into(), event(MAIN, ticks, name, AsyncInstant { id: 9 }));
    let archive = crate::testing::archive(&[
        event(MAIN, 10, "before", DurationComplete { end: 20 }),
        mark(10, "before"),
        event(MAIN, 40, "complete", DurationComplete { end: 110 }),
        mark(40, "complete"),
        mark(41, "complete"),
        event(MAIN, 50, "pair", DurationBegin),
        event(MAIN, 105, "pair", DurationEnd),
        mark(50, "pair"),
        event(MAIN, 60, "dropped", DurationComplete { end: 101 }),
        with((&state).into(), event(MAIN, 60, "dropped", AsyncInstant { id: 9 })),
        // Neither a mark nor of the duration's thread.
        event(MAIN, 60, "dropped", AsyncInstant { id: 9 }),
        with((&count).into(), event(OTHER, 60, "dropped", AsyncInstant { id: 9 })),
    ]);
    let marks = |clips| {
        let selection = Selection { from: 100, to: Some(200), clips, ..Selection::default() };
        let plan = Plan::read(Reader::new(&*archive), &selection).unwrap();
        let mut output = Vec::new();
        write(Reader::new(&*archive), &plan, &mut output).unwrap();
        let mut reader = Reader::new(&*output);
        let mut marks = Vec::new();
        while let Some(item) = reader.next().unwrap() {
            let Record::Event(event) = item.record else { continue };
            if let AsyncInstant { .. } = event.kind {
                let koids = item.thread(event.thread);
                marks.push((koids, item.text(event.name).into_owned(), event.ticks));
            }
        }
        marks
    };
    for (clips, times) in [(false, [40, 50, 60]), (true, [100; 3])] {
        let expected = ["complete", "pair", "dropped"].into_iter().zip(times);
        let expected = expected.map(|(name, at)| (MAIN, name.to_owned(), at));
        assert_eq!(marks(clips), expected.collect::<Vec<_>>(), "clips: {clips}");
    }
}
