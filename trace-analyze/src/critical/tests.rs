mod durations;
mod members;
mod waits;

use trace_format::layout::ThreadState;
use trace_format::{Argument, Arguments, ContextSwitch, Event, EventKind, Record, Thread, Value};

use super::*;
use EventKind::*;

fn event<'a>(
    thread: u64,
    ticks: u64,
    name: &'a str,
    kind: EventKind,
    arguments: impl Into<Arguments<'a>>,
) -> Record<'a> {
    let thread = Thread::Inline(ThreadKoids::new(1, thread));
    let (category, name) = ("cat".into(), name.into());
    Event { ticks, thread, category, name, kind, arguments: arguments.into() }.into()
}

fn followed(records: &[Record<'_>], choice: &Choice<'_>) -> (Chosen, Vec<String>) {
    let archive = crate::testing::archive(records);
    let chosen = slowest(Reader::new(&*archive), choice).unwrap().slowest.unwrap();
    let open = || Ok::<_, ReadError>(Reader::new(&*archive));
    let Path { segments, .. } = path(&chosen, open).unwrap();
    assert_eq!(segments.first().unwrap().from, chosen.begin);
    assert_eq!(segments.last().unwrap().to, chosen.end);
    assert!(segments.windows(2).all(|pair| pair[0].to == pair[1].from), "{segments:?}");
    let line = |segment: &Segment| {
        let what = match segment.thread {
            _ if matches!(segment.wait, Some(Wait::Processor { .. })) => "is ready".to_owned(),
            _ if matches!(segment.wait, Some(Wait::Preempted { .. })) => "is preempted".to_owned(),
            Some(koids) => format!("on {}", koids.thread),
            None => "waits".to_owned(),
        };
        let Segment { from, to, depth, name, .. } = segment;
        format!("{from}-{to} {depth} {name} {what}")
    };
    (chosen, segments.iter().map(line).collect())
}

const THREAD_6: Thread = Thread::Inline(ThreadKoids::new(1, 6));

#[test]
fn an_operation_waits_for_the_last_of_its_children() {
    let id = |key, value| [Argument::new(key, Value::Uint64(value))];
    let (one, two, three) = (id("task", 1), id("task", 2), id("task", 3));
    let of_one = id("parent", 1);
    let records = [
        event(5, 100, "request", AsyncBegin { id: 1 }, &[]),
        event(5, 100, "request", DurationComplete { end: 110 }, &one),
        event(5, 105, "query", AsyncBegin { id: 2 }, &of_one),
        event(5, 106, "other", AsyncBegin { id: 3 }, &of_one),
        event(6, 120, "query", DurationComplete { end: 130 }, &two),
        event(6, 125, "other", DurationComplete { end: 126 }, &three),
        event(6, 126, "other", AsyncEnd { id: 3 }, &[]),
        event(6, 150, "query", DurationComplete { end: 160 }, &two),
        event(6, 160, "query", AsyncEnd { id: 2 }, &[]),
        event(5, 170, "request", DurationComplete { end: 180 }, &one),
        event(5, 180, "request", AsyncEnd { id: 1 }, &[]),
    ];
    // The records of one thread may come before those of another.
    let mut other_order = records.to_vec();
    other_order.sort_by_key(|record| match record {
        Record::Event(event) => std::cmp::Reverse(event.thread == THREAD_6),
        _ => std::cmp::Reverse(false),
    });
    let other_order = followed(&other_order, &Choice::default());
    let (chosen, lines) = followed(&records, &Choice::default());
    assert_eq!(other_order, (chosen.clone(), lines.clone()));
    assert_eq!((chosen.name.as_str(), chosen.id), ("request", 1));
    assert_eq!(
        lines,
        [
            "100-110 0 request on 5",
            "110-120 1 query waits",
            "120-130 1 query on 6",
            "130-150 1 query waits",
            "150-160 1 query on 6",
            "160-170 0 request waits",
            "170-180 0 request on 5",
        ]
    );
    let name = |_: &str, name: &str| name == "other";
    let (_, lines) = followed(&records, &Choice { name: Some(&name), ..Choice::default() });
    assert_eq!(lines, ["106-125 0 other waits", "125-126 0 other on 6"]);
}

#[test]
fn an_operation_without_polls_waits() {
    let records = [
        event(5, 100, "io", AsyncBegin { id: 1 }, &[]),
        event(5, 150, "io", AsyncEnd { id: 1 }, &[]),
        event(5, 200, "io", AsyncBegin { id: 1 }, &[]),
        event(5, 220, "io", AsyncEnd { id: 1 }, &[]),
    ];
    assert_eq!(followed(&records, &Choice::default()).1, ["100-150 0 io waits"]);
}

#[test]
fn a_flow_goes_from_duration_to_duration() {
    let records = [
        event(5, 90, "outer", DurationComplete { end: 400 }, &[]),
        event(5, 100, "send", DurationComplete { end: 120 }, &[]),
        event(5, 110, "job", FlowBegin { id: 7 }, &[]),
        event(6, 150, "work", DurationComplete { end: 180 }, &[]),
        event(6, 150, "job", FlowStep { id: 7 }, &[]),
        event(5, 200, "receive", DurationComplete { end: 210 }, &[]),
        event(5, 205, "job", FlowEnd { id: 7 }, &[]),
    ];
    let (_, lines) = followed(&records, &Choice { flows: true, ..Choice::default() });
    let expected = [
        "110-120 0 send on 5",
        "120-150 0 job waits",
        "150-180 0 work on 6",
        "180-205 0 job waits",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_flow_may_end_without_a_name() {
    let records = [
        event(5, 110, "job", FlowBegin { id: 7 }, &[]),
        event(6, 150, "", FlowStep { id: 7 }, &[]),
        event(5, 205, "", FlowEnd { id: 7 }, &[]),
    ];
    let (_, lines) = followed(&records, &Choice { flows: true, ..Choice::default() });
    assert_eq!(lines, ["110-205 0 job waits"]);
}

#[test]
fn an_operation_waits_for_the_child_that_it_polls() {
    let id = |key, value| [Argument::new(key, Value::Uint64(value))];
    let (one, two, three) = (id("task", 1), id("task", 2), id("task", 3));
    let of_one = id("parent", 1);
    let records = [
        event(5, 100, "both", AsyncBegin { id: 1 }, &[]),
        event(5, 100, "both", DurationComplete { end: 110 }, &one),
        event(5, 101, "left", AsyncBegin { id: 2 }, &of_one),
        event(5, 101, "left", DurationComplete { end: 104 }, &two),
        event(5, 105, "right", AsyncBegin { id: 3 }, &of_one),
        event(5, 105, "right", DurationComplete { end: 106 }, &three),
        // `right` is polled and does not end.
        event(5, 120, "both", DurationComplete { end: 130 }, &one),
        event(5, 121, "right", DurationComplete { end: 129 }, &three),
        // `left` is polled and ends.
        event(5, 150, "both", DurationComplete { end: 160 }, &one),
        event(5, 151, "left", DurationComplete { end: 155 }, &two),
        event(5, 155, "left", AsyncEnd { id: 2 }, &[]),
        event(5, 160, "both", AsyncEnd { id: 1 }, &[]),
    ];
    let expected = [
        "100-110 0 both on 5",
        "110-120 1 right waits",
        "120-130 0 both on 5",
        "130-150 1 left waits",
        "150-160 0 both on 5",
    ];
    assert_eq!(followed(&records, &Choice::default()).1, expected);
}

/// Such as an accept loop. A wait must not search all connections.
#[test]
fn an_operation_with_many_children() {
    let id = |key, value| [Argument::new(key, Value::Uint64(value))];
    let (task, parent, number) = (id("task", 1), id("parent", 1), 100_000);
    let mut records = vec![event(5, 0, "main", AsyncBegin { id: 1 }, &[])];
    for child in 0..number {
        let at = 100 * (child + 1);
        records.push(event(5, at, "main", DurationComplete { end: at + 10 }, &task));
        records.push(event(5, at + 5, "connection", AsyncBegin { id: 2 + child }, &parent));
    }
    let end = 100 * (number + 1);
    for child in 0..number {
        records.push(event(6, end + child, "connection", AsyncEnd { id: 2 + child }, &[]));
    }
    records.push(event(5, end + number, "main", AsyncEnd { id: 1 }, &[]));
    let (chosen, lines) = followed(&records, &Choice::default());
    assert_eq!((chosen.name.as_str(), chosen.end), ("main", end + number));
    let polls = lines.iter().filter(|line| line.ends_with("0 main on 5")).count() as u64;
    assert_eq!(polls, number);
}

/// As the bridge of `tracing` writes it: the first poll has a mark, later ones have arguments.
#[test]
fn a_span_with_a_marked_poll_runs() {
    let task =
        [Argument::new("task", Value::Uint64(1)), Argument::new("poll-count", Value::Uint32(2))];
    let first = [Argument::new("poll-count", Value::Uint32(1))];
    let records = [
        event(5, 100, "write", DurationComplete { end: 110 }, &[]),
        event(5, 95, "write", AsyncBegin { id: 1 }, &[]),
        event(5, 100, "write", AsyncInstant { id: 1 }, &first),
        event(6, 140, "write", DurationBegin, &task),
        event(6, 145, "inside", DurationBegin, &[]),
        event(6, 150, "inside", DurationEnd, &[]),
        event(6, 160, "write", DurationEnd, &[]),
        event(6, 160, "write", AsyncEnd { id: 1 }, &[]),
    ];
    let expected = [
        "95-100 0 write waits",
        "100-110 0 write on 5",
        "110-140 0 write waits",
        "140-160 0 write on 6",
    ];
    assert_eq!(followed(&records, &Choice::default()).1, expected);
}

/// A mark belongs to the duration of its category and name.
#[test]
fn a_mark_ignores_other_durations_of_its_time() {
    let first = [Argument::new("poll-count", Value::Uint32(1))];
    let task = [Argument::new("task", Value::Uint64(1))];
    let records = [
        event(5, 0, "outer", DurationComplete { end: 500 }, &[]),
        event(5, 0, "write", DurationComplete { end: 10 }, &[]),
        event(5, 0, "write", AsyncBegin { id: 1 }, &[]),
        event(5, 0, "write", AsyncInstant { id: 1 }, &first),
        event(5, 300, "write", DurationComplete { end: 400 }, &task),
        event(5, 400, "write", AsyncEnd { id: 1 }, &[]),
    ];
    let expected = ["0-10 0 write on 5", "10-300 0 write waits", "300-400 0 write on 5"];
    assert_eq!(followed(&records, &Choice::default()).1, expected);
}

/// `trace_async_begin!` records no parent: the operation whose poll writes it is the parent.
#[test]
fn an_operation_that_begins_in_a_poll_is_its_child() {
    let one = [Argument::new("task", Value::Uint64(1))];
    let records = [
        event(5, 100, "request", AsyncBegin { id: 1 }, &[]),
        event(5, 100, "request", DurationComplete { end: 110 }, &one),
        event(5, 105, "query", AsyncBegin { id: 2 }, &[]),
        event(6, 120, "fetch", DurationComplete { end: 130 }, &[]),
        event(6, 125, "query", AsyncInstant { id: 2 }, &[]),
        event(5, 150, "request", DurationComplete { end: 180 }, &one),
        event(5, 160, "query", AsyncEnd { id: 2 }, &[]),
        event(5, 180, "request", AsyncEnd { id: 1 }, &[]),
    ];
    let expected = [
        "100-110 0 request on 5",
        "110-120 1 query waits",
        "120-130 1 query on 6",
        "130-150 1 query waits",
        "150-180 0 request on 5",
    ];
    assert_eq!(followed(&records, &Choice::default()).1, expected);
}

/// Each operation begins in a poll of the one before it.
#[test]
fn the_number_of_readings_has_a_limit() {
    let task = |id| [Argument::new("task", Value::Uint64(id))];
    let tasks: Vec<_> = (0..200).map(task).collect();
    let mut records = Vec::new();
    for (id, task) in (0..).zip(&tasks) {
        let at = 10 * id;
        records.push(event(5, at + 1, "step", AsyncBegin { id }, &[]));
        records.push(event(5, at + 10, "step", DurationComplete { end: at + 14 }, task));
        records.push(event(5, at + 15 + 5000 * u64::from(id == 0), "step", AsyncEnd { id }, &[]));
    }
    let archive = crate::testing::archive(&records);
    let chosen = slowest(Reader::new(&*archive), &Choice::default()).unwrap().slowest.unwrap();
    let mut readings = 0;
    let path = path(&chosen, || {
        readings += 1;
        Ok::<_, ReadError>(Reader::new(&*archive))
    });
    assert_eq!((chosen.begin, chosen.end), (1, 5015));
    assert_eq!(path.unwrap().segments.last().unwrap().to, chosen.end);
    assert!(readings < 80, "{readings}");
}

/// The time must not grow with polls times operations.
#[test]
fn many_polls_around_many_operations() {
    let (one, number) = ([Argument::new("task", Value::Uint64(1))], 50_000);
    let mut records = vec![event(5, 0, "main", AsyncBegin { id: 1 }, &[])];
    for begin in 0..number {
        let kind = DurationComplete { end: 5 * number - begin };
        records.push(event(5, begin, "main", kind, &one));
    }
    for child in 0..number {
        records.push(event(5, number + child, "child", AsyncBegin { id: 2 + child }, &[]));
        records.push(event(5, 3 * number, "child", AsyncEnd { id: 2 + child }, &[]));
    }
    records.push(event(5, 5 * number, "main", AsyncEnd { id: 1 }, &[]));
    let (chosen, lines) = followed(&records, &Choice::default());
    assert_eq!((chosen.begin, chosen.end), (0, 5 * number));
    assert!(lines.iter().all(|line| line.contains("main")), "{lines:?}");
}

#[test]
fn an_operation_without_polls_runs_in_the_durations_around_its_events() {
    let records = [
        event(5, 90, "accept", DurationComplete { end: 110 }, &[]),
        event(5, 100, "io", AsyncBegin { id: 1 }, &[]),
        event(6, 130, "reply", DurationComplete { end: 170 }, &[]),
        event(6, 150, "io", AsyncEnd { id: 1 }, &[]),
    ];
    let expected = ["100-110 0 io on 5", "110-130 0 io waits", "130-150 0 io on 6"];
    assert_eq!(followed(&records, &Choice::default()).1, expected);
}

/// A message ends a wait: its sender ran for the operation.
#[test]
fn an_operation_waits_for_the_sender_of_a_flow() {
    let task = |id| [Argument::new("task", Value::Uint64(id))];
    let (one, two) = (task(1), task(2));
    let records = [
        event(5, 100, "request", AsyncBegin { id: 1 }, &[]),
        event(5, 100, "request", DurationComplete { end: 110 }, &one),
        event(6, 90, "worker", AsyncBegin { id: 2 }, &[]),
        event(6, 120, "worker", DurationComplete { end: 140 }, &two),
        event(6, 130, "answer", FlowBegin { id: 9 }, &[]),
        event(6, 190, "worker", AsyncEnd { id: 2 }, &[]),
        event(5, 150, "request", DurationComplete { end: 180 }, &one),
        event(5, 155, "answer", FlowEnd { id: 9 }, &[]),
        // The flow of the polls is no message.
        event(5, 100, "request", FlowBegin { id: 1 }, &[]),
        event(5, 150, "request", FlowEnd { id: 1 }, &[]),
        event(5, 180, "request", AsyncEnd { id: 1 }, &[]),
    ];
    let name = |_: &str, name: &str| name == "request";
    let expected = [
        "100-110 0 request on 5",
        "110-120 0 request waits",
        "120-130 1 worker on 6",
        "130-150 1 answer waits",
        "150-180 0 request on 5",
    ];
    assert_eq!(followed(&records, &Choice { name: Some(&name), ..Choice::default() }).1, expected);
}

/// A message without a wait is not followed.
#[test]
fn a_message_may_be_sent_when_the_poll_begins() {
    let task = [Argument::new("task", Value::Uint64(1))];
    let records = [
        event(5, 100, "request", AsyncBegin { id: 1 }, &[]),
        event(5, 100, "request", DurationComplete { end: 110 }, &task),
        event(6, 150, "answer", FlowBegin { id: 9 }, &[]),
        event(5, 150, "request", DurationComplete { end: 180 }, &task),
        event(5, 155, "answer", FlowEnd { id: 9 }, &[]),
        event(5, 180, "request", AsyncEnd { id: 1 }, &[]),
    ];
    let expected = ["100-110 0 request on 5", "110-150 0 request waits", "150-180 0 request on 5"];
    assert_eq!(followed(&records, &Choice::default()).1, expected);
}

/// The durations around its events are its polls.
#[test]
fn an_operation_without_polls_receives_messages() {
    let records = [
        event(5, 90, "accept", DurationComplete { end: 110 }, &[]),
        event(5, 100, "io", AsyncBegin { id: 1 }, &[]),
        event(6, 112, "worker", DurationComplete { end: 125 }, &[]),
        event(6, 120, "answer", FlowBegin { id: 9 }, &[]),
        event(5, 130, "reply", DurationComplete { end: 170 }, &[]),
        event(5, 135, "answer", FlowEnd { id: 9 }, &[]),
        event(5, 150, "io", AsyncEnd { id: 1 }, &[]),
    ];
    let expected = [
        "100-110 0 io on 5",
        "110-112 0 io waits",
        "112-120 1 worker on 6",
        "120-130 1 answer waits",
        "130-150 0 io on 5",
    ];
    assert_eq!(followed(&records, &Choice::default()).1, expected);
}

/// Each poll is within that of the parent, and begins after it.
#[test]
fn a_grandchild_is_awaited() {
    let id = |key, value| [Argument::new(key, Value::Uint64(value))];
    let (one, two, three) = (id("task", 1), id("task", 2), id("task", 3));
    let (of_one, of_two) = (id("parent", 1), id("parent", 2));
    let records = [
        event(5, 100, "request", AsyncBegin { id: 1 }, &[]),
        event(5, 100, "request", DurationComplete { end: 130 }, &one),
        event(5, 105, "user", AsyncBegin { id: 2 }, &of_one),
        event(5, 105, "user", DurationComplete { end: 125 }, &two),
        event(5, 110, "query", AsyncBegin { id: 3 }, &of_two),
        event(5, 110, "query", DurationComplete { end: 120 }, &three),
        event(6, 150, "request", DurationComplete { end: 190 }, &one),
        event(6, 155, "user", DurationComplete { end: 180 }, &two),
        event(6, 160, "query", DurationComplete { end: 170 }, &three),
        event(6, 170, "query", AsyncEnd { id: 3 }, &[]),
        event(6, 180, "user", AsyncEnd { id: 2 }, &[]),
        event(6, 190, "request", AsyncEnd { id: 1 }, &[]),
    ];
    let expected = ["100-130 0 request on 5", "130-150 2 query waits", "150-190 0 request on 6"];
    assert_eq!(followed(&records, &Choice::default()).1, expected);
}

#[test]
fn threads_wait_for_a_processor() {
    use trace_format::ThreadWakeup;
    let one = [Argument::new("task", Value::Uint64(1))];
    let switch = |ticks, outgoing_thread, incoming_thread| -> Record<'static> {
        let (outgoing_state, arguments) = (ThreadState::BLOCKED, Arguments::NONE);
        let cpu = 0;
        ContextSwitch { ticks, cpu, outgoing_state, outgoing_thread, incoming_thread, arguments }
            .into()
    };
    let wakeup = ThreadWakeup { ticks: 130, cpu: 0, thread: 5, arguments: Arguments::NONE };
    let records = [
        event(5, 100, "request", AsyncBegin { id: 1 }, &[]),
        event(5, 100, "request", DurationComplete { end: 110 }, &one),
        event(5, 150, "request", DurationComplete { end: 190 }, &one),
        event(5, 190, "request", AsyncEnd { id: 1 }, &[]),
        switch(90, 9, 5),
        switch(115, 5, 9),
        wakeup.into(),
        switch(140, 9, 5),
        ContextSwitch {
            ticks: 160,
            cpu: 0,
            outgoing_state: ThreadState::RUNNING,
            outgoing_thread: 5,
            incoming_thread: 9,
            arguments: Arguments::NONE,
        }
        .into(),
        switch(175, 9, 5),
        switch(200, 5, 9),
    ];
    let expected = [
        "100-110 0 request on 5",
        "110-130 0 request waits",
        "130-140 0 request is ready",
        "140-150 0 request waits",
        "150-160 0 request on 5",
        "160-175 0 request is preempted",
        "175-190 0 request on 5",
    ];
    assert_eq!(followed(&records, &Choice::default()).1, expected);
}
