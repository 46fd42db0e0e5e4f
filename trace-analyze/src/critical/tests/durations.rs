//! The durations in the running parts of a path.

use super::*;

fn shares(records: &[Record<'_>]) -> Vec<(String, u64, u64)> {
    let archive = crate::testing::archive(records);
    let chosen = slowest(Reader::new(&*archive), &Choice::default()).unwrap().slowest.unwrap();
    let path = path(&chosen, || Ok::<_, ReadError>(Reader::new(&*archive))).unwrap();
    let Shares { rows, is_cut, .. } = path.durations(Reader::new(&*archive)).unwrap();
    assert!(!is_cut);
    rows.into_iter().map(|row| (row.name, row.count, row.self_nanos)).collect()
}

fn row(name: &str, count: u64, nanos: u64) -> (String, u64, u64) {
    (name.to_owned(), count, nanos)
}

#[test]
fn runs_are_divided_by_the_durations_in_them() {
    let task = [Argument::new("task", Value::Uint64(1))];
    let found = shares(&[
        event(5, 100, "request", AsyncBegin { id: 1 }, &[]),
        event(5, 100, "request", DurationComplete { end: 200 }, &task),
        event(5, 110, "parse", DurationComplete { end: 130 }, &[]),
        event(5, 140, "render", DurationComplete { end: 190 }, &[]),
        event(5, 150, "layout", DurationComplete { end: 160 }, &[]),
        event(5, 160, "layout", DurationComplete { end: 180 }, &[]),
        // Neither on the thread nor at the time of a running part.
        event(6, 110, "other thread", DurationComplete { end: 130 }, &[]),
        event(5, 210, "later", DurationComplete { end: 220 }, &[]),
        event(5, 300, "request", DurationComplete { end: 310 }, &task),
        event(5, 310, "request", AsyncEnd { id: 1 }, &[]),
    ]);
    let expected = [
        row("request", 2, 10 + 10 + 10 + 10),
        row("layout", 2, 30),
        row("parse", 1, 20),
        row("render", 1, 20),
    ];
    assert_eq!(found, expected);
}

/// The thread runs from 100 to 120 and from 150 to 200.
#[test]
fn the_time_without_a_processor_is_omitted() {
    let task = [Argument::new("task", Value::Uint64(1))];
    let switch = |ticks, from, to| {
        ContextSwitch {
            ticks,
            cpu: 0,
            outgoing_state: ThreadState::SUSPENDED,
            outgoing_thread: from,
            incoming_thread: to,
            arguments: Arguments::NONE,
        }
        .into()
    };
    let found = shares(&[
        event(5, 100, "request", AsyncBegin { id: 1 }, &[]),
        switch(90, 9, 5),
        event(5, 100, "request", DurationComplete { end: 200 }, &task),
        event(5, 110, "inner", DurationComplete { end: 160 }, &[]),
        switch(120, 5, 9),
        switch(150, 9, 5),
        switch(250, 5, 9),
        event(5, 200, "request", AsyncEnd { id: 1 }, &[]),
    ]);
    assert_eq!(found, [row("request", 1, 10 + 40), row("inner", 1, 10 + 10)]);
}
