//! Which records are durations, and where they are evaluated.

use super::*;

/// The operation of a poll has the same name.
#[test]
fn polls_do_not_count() {
    let poll = [
        Argument::new("task", Value::Uint64(7)),
        Argument::new("poll-count", Value::Uint32(1)),
        Argument::new("poll-state", Value::String("pending".into())),
    ];
    let with = |ticks, kind, arguments: &'static [Argument<'static>]| {
        let (category, name, arguments) = ("web".into(), "request".into(), arguments.into());
        Record::Event(Event { ticks, thread: thread(1), category, name, kind, arguments })
    };
    let poll: &[Argument<'_>] = Box::leak(Box::new(poll));
    let long = EventKind::DurationComplete { end: 60 * MS };
    let mut evaluator = evaluator(&[LIMIT]);
    assert!(!holds(&mut evaluator, &[with(0, long, poll)]));
    assert!(!holds(&mut evaluator, &[with(0, long, &poll[2..])]), "without its begin");
    let late = [with(0, EventKind::DurationBegin, &poll[..2]), end(1, 60 * MS)];
    assert!(!holds(&mut evaluator, &late));
    assert!(holds(&mut evaluator, &[with(0, long, &poll[..1])]), "has another argument");
}

#[test]
fn durations_of_records_that_are_collected_at_the_end_are_late() {
    let mut evaluator = evaluator(&[LIMIT, "duration:web/other>1ms"]);
    assert!(holds(&mut evaluator, &[begin(1, 0), end(1, 60 * MS)]));
    assert!(evaluator.late().is_empty());
    evaluator.open(2, SECOND, false);
    evaluator.records(2, &encode(&[event(thread(1), 0, "request", EventKind::FlowStep { id: 1 })]));
    assert!(evaluator.late().is_empty(), "no duration");
    evaluator.records(2, &encode(&[begin(1, 0)]));
    assert!(evaluator.late().is_empty(), "an open scope does not count");
    evaluator.records(2, &encode(&[end(1, 1)]));
    assert_eq!(evaluator.late(), [LIMIT]);
}

/// A flow that joins the polls of an operation has its category, name and id.
#[test]
fn a_flow_is_compared_from_its_begin_to_its_end() {
    let flow = |on, ticks, kind| event(thread(on), ticks, "request", kind);
    let mut evaluator = evaluator(&[LIMIT]);
    let id = 5;
    let whole = [
        flow(1, 0, EventKind::FlowBegin { id }),
        flow(2, 30 * MS, EventKind::FlowStep { id }),
        flow(3, 60 * MS, EventKind::FlowEnd { id }),
    ];
    assert!(holds(&mut evaluator, &whole));
    assert!(
        !holds(&mut evaluator, &[flow(1, 900 * MS, EventKind::FlowEnd { id })]),
        "it has ended"
    );
    let of_operation = [async_begin(id, 0), whole[0], whole[2]];
    assert!(!holds(&mut evaluator, &of_operation));
    assert!(holds(&mut evaluator, &[async_end(id, 60 * MS)]));
    assert!(evaluator.incomplete(false).is_empty());
}

/// A provider compares the durations of registered names itself.
#[test]
fn watched_durations_are_not_evaluated_again() {
    let mut evaluator = evaluator(&["drop", "duration:web/request>50ms"]);
    let (watches, next) = evaluator.number(10, 3 * SECOND);
    assert_eq!((next, watches.len()), (12, 1));
    assert_eq!((watches[0].number, watches[0].nanos), (11, 50 * MS));
    assert_eq!(watches[0].counter_ticks, 150 * MS);
    let indexed = |ticks: u64, kind: EventKind| {
        let (category, name) = (Text::Indexed(1), Text::Indexed(2));
        Record::Event(Event {
            ticks,
            thread: thread(1),
            category,
            name,
            kind,
            arguments: (&[]).into(),
        })
    };
    let strings = [
        Record::String { index: 1, value: b"web" },
        Record::String { index: 2, value: b"request" },
    ];
    let long = EventKind::DurationComplete { end: 60 * MS };
    evaluator.records(1, &encode(&strings));
    evaluator.records(1, &encode(&[indexed(0, long)]));
    assert_eq!(evaluator.take().len(), 1, "not watched yet");
    evaluator.watch(11, 1);
    let compared = [
        indexed(0, long),
        indexed(0, EventKind::DurationBegin),
        indexed(60 * MS, EventKind::DurationEnd),
        indexed(0, EventKind::AsyncBegin { id: 1 }),
        indexed(60 * MS, EventKind::AsyncEnd { id: 1 }),
    ];
    evaluator.records(1, &encode(&compared));
    assert_eq!(evaluator.take(), []);
    let others = [event(thread(1), 0, "request", long), async_begin(1, 0), async_end(1, 60 * MS)];
    evaluator.records(1, &encode(&others));
    assert_eq!(evaluator.take(), [("duration:web/request>50ms".to_owned(), 2)]);
    assert!(evaluator.hold_watched(11, 3) && !evaluator.hold_watched(12, 1));
    assert_eq!(evaluator.take(), [("duration:web/request>50ms".to_owned(), 3)]);
}
