use super::*;

/// Returns an event at time 10 with the ids of its first and last record.
fn event(end: i64, id: i64, last_id: i64) -> Event {
    Event { track: 0, start: 10, end, id, last_id, is_span: true }
}

fn pair(end: i64, id: i64, last_id: i64) -> Event {
    event(end, id, last_id)
}

fn open(id: i64) -> Event {
    event(i64::MAX, id, i64::MAX)
}

fn complete(end: i64, id: i64) -> Event {
    event(end, id, id)
}

fn point(id: i64) -> Event {
    Event { is_span: false, ..event(10, id, id) }
}

/// Returns the ids of events with their parents, in the order of ids.
fn parents(events: &[Event]) -> Vec<(i64, Option<i64>)> {
    let mut stack = Stack::default();
    let place = |place: &usize| (events[*place].id, stack.event(&events[*place]).0);
    let mut parents: Vec<_> = order(events).iter().map(place).collect();
    parents.sort_unstable();
    parents
}

#[test]
fn pairs_of_one_begin_are_in_the_order_of_their_records() {
    let siblings = [pair(10, 1, 2), pair(43, 3, 4)];
    assert_eq!(parents(&siblings), [(1, None), (3, None)]);
    let inner = [pair(10, 1, 4), pair(10, 2, 3)];
    assert_eq!(parents(&inner), [(1, None), (2, Some(1))]);
    let never_ended = [pair(20, 1, 3), open(2)];
    assert_eq!(parents(&never_ended), [(1, None), (2, Some(1))]);
    let in_never_ended = [open(1), pair(20, 2, 3)];
    assert_eq!(parents(&in_never_ended), [(1, None), (2, Some(1))]);
}

#[test]
fn of_complete_events_of_one_begin_the_longer_one_is_around() {
    assert_eq!(parents(&[complete(20, 1), complete(30, 2)]), [(1, Some(2)), (2, None)]);
    assert_eq!(parents(&[complete(30, 1), complete(20, 2)]), [(1, None), (2, Some(1))]);
    assert_eq!(parents(&[complete(20, 1), complete(20, 2)]), [(1, None), (2, Some(1))]);
}

#[test]
fn a_complete_event_is_around_a_pair_if_it_is_before_or_longer() {
    assert_eq!(parents(&[complete(30, 1), pair(20, 2, 3)]), [(1, None), (2, Some(1))]);
    assert_eq!(parents(&[pair(20, 1, 2), complete(30, 3)]), [(1, Some(3)), (3, None)]);
    assert_eq!(parents(&[pair(30, 1, 3), complete(20, 2)]), [(1, None), (2, Some(1))]);
    assert_eq!(parents(&[open(1), complete(20, 2)]), [(1, None), (2, Some(1))]);
    assert_eq!(parents(&[complete(20, 1), open(2)]), [(1, None), (2, Some(1))]);
    // The pair has ended when the complete event begins.
    assert_eq!(parents(&[pair(10, 1, 2), complete(30, 3)]), [(1, None), (3, None)]);
}

#[test]
fn a_point_is_in_the_spans_whose_records_are_around_it() {
    let begins = [point(1), pair(20, 2, 5), point(3)];
    assert_eq!(parents(&begins), [(1, None), (2, None), (3, Some(2))]);
    let empty = [point(1), pair(10, 2, 4), point(3), point(5)];
    assert_eq!(parents(&empty), [(1, None), (2, None), (3, Some(2)), (5, None)]);
    let completes = [point(1), complete(20, 2), point(3)];
    assert_eq!(parents(&completes), [(1, None), (2, None), (3, Some(2))]);
    let no_time = [complete(10, 1), complete(20, 2), complete(10, 3), point(4)];
    assert_eq!(parents(&no_time), [(1, None), (2, None), (3, Some(2)), (4, Some(2))]);
}

#[test]
fn at_its_end_a_span_holds_what_is_recorded_before_it() {
    let mut stack = Stack::default();
    let mut parent = |start, end, id, last_id, is_span| {
        let event = Event { track: 0, start, end, id, last_id, is_span };
        stack.event(&event).0
    };
    assert_eq!(parent(1, 10, 1, 7, true), None);
    assert_eq!(parent(5, i64::MAX, 2, i64::MAX, true), Some(1), "a span that does not end");
    assert_eq!(parent(10, 10, 3, 3, false), Some(2));
    assert_eq!(parent(10, 10, 4, 5, true), Some(2), "an empty pair before the end");
    assert_eq!(parent(10, 10, 6, 6, false), Some(2));
    assert_eq!(parent(10, 10, 8, 8, false), None, "the end of a span ends those in it");
    assert_eq!(parent(20, 30, 9, 9, true), None);
    assert_eq!(parent(25, i64::MAX, 10, i64::MAX, true), Some(9));
    assert_eq!(parent(30, 30, 11, 11, false), Some(10), "its own end may come");
    assert_eq!(parent(30, 40, 12, 12, true), None, "a complete event begins after it");
}
