//! The open spans of a track.
//!
//! # Events of one time
//!
//! A clock can have one time for several events. Their order is then that of their records, as in
//! Perfetto. A pair has a record for its begin and one for its end. A complete event has one for
//! both, which can be where the event begins or where it ends, after those in it:
//!
//! - Of two complete events that take time, the longer one is around the other.
//! - A complete event that takes time is around a pair if its record is before the begin of the
//!   pair, or if it ends later than a pair that takes time.
//! - It is around a point, and around a complete event that takes no time, if its record is
//!   earlier.

use std::cmp::Reverse;

/// What the place of an event depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Event {
    pub(crate) track: i64,
    pub(crate) start: i64,
    /// The end, or `i64::MAX` if it is missing.
    pub(crate) end: i64,
    /// The number of its record, or of its begin.
    pub(crate) id: i64,
    /// The number of the record of its end, or `i64::MAX` if that is missing. That of its only
    /// record otherwise.
    pub(crate) last_id: i64,
    /// Whether events can be in it: it is a span or an operation.
    pub(crate) is_span: bool,
}

impl Event {
    /// Returns whether its begin has a record of its own.
    fn is_pair(&self) -> bool {
        self.id != self.last_id
    }

    /// Returns whether it is a complete event that takes time.
    fn is_complete(&self) -> bool {
        self.is_span && !self.is_pair() && self.end > self.start
    }

    /// Returns the number of the record before which events at its end are in it. A complete event
    /// has no record for its end: no event at its end is in it.
    fn closing(&self) -> Option<i64> {
        self.is_pair().then_some(self.last_id)
    }
}

/// Returns the order, by place, in which a [`Stack`] gets events of one track and time. They are
/// sorted by id.
pub(crate) fn order(events: &[Event]) -> Vec<usize> {
    let all = 0..events.len();
    let (mut completes, others): (Vec<usize>, Vec<usize>) =
        all.partition(|place| events[*place].is_complete());
    completes.sort_by_key(|place| Reverse(events[*place].end));
    let ranks = ranks(events, &completes, &others);
    let mut completes = completes.into_iter().zip(ranks).peekable();
    let mut order = Vec::with_capacity(events.len());
    for (rank, other) in others.into_iter().enumerate() {
        while let Some((complete, _)) = completes.next_if(|(_, before)| *before <= rank) {
            order.push(complete);
        }
        order.push(other);
    }
    order.extend(completes.map(|(complete, _)| complete));
    order
}

/// Returns the number of `others` before each complete event. A longer one is before a shorter one.
fn ranks(events: &[Event], completes: &[usize], others: &[usize]) -> Vec<usize> {
    let mut earliest = i64::MAX;
    // The earliest end of the pairs up to each of the others.
    let ends: Vec<i64> = others
        .iter()
        .map(|place| {
            let other = &events[*place];
            if other.is_pair() && other.end > other.start {
                earliest = earliest.min(other.end);
            }
            earliest
        })
        .collect();
    let mut least = others.len();
    let mut rank = |place: &usize| {
        let complete = &events[*place];
        let by_record = others.partition_point(|other| events[*other].id < complete.id);
        let by_end = ends.partition_point(|end| *end >= complete.end);
        least = least.min(by_record).min(by_end);
        least
    };
    let mut ranks: Vec<usize> = completes.iter().rev().map(&mut rank).collect();
    ranks.reverse();
    ranks
}

/// A span that is open.
#[derive(Debug, Clone, Copy)]
struct Open {
    id: i64,
    /// The earliest end of it and of those around it.
    limit: i64,
    /// The number of the record before which events at `limit` are in it. `None` if none is.
    closing: Option<i64>,
}

impl Open {
    fn new(event: &Event, around: Option<&Self>) -> Self {
        let own = Self { id: event.id, limit: event.end, closing: event.closing() };
        let Some(around) = around.filter(|around| around.limit <= own.limit) else { return own };
        let closing = match (around.closing, own.closing) {
            // The end of a pair ends those in it.
            (Some(around), Some(own)) => Some(around.min(own)),
            // The end of a complete event has no record that would end a pair in it.
            (None, own) => own,
            (Some(_), None) if around.limit == own.limit => None,
            (around, None) => around,
        };
        Self { id: event.id, limit: around.limit, closing }
    }

    /// Returns whether it has ended when `event` begins. At its end, it holds what is recorded
    /// before that if it takes no time, or has a record for its end, too.
    fn has_ended(&self, event: &Event) -> bool {
        let may_hold = event.start == event.end || event.is_pair();
        let is_before = self.closing.is_some_and(|closing| event.id < closing);
        self.limit < event.start || (self.limit == event.start && !(may_hold && is_before))
    }
}

/// The open spans of the track of the last event.
#[derive(Debug, Default)]
pub(crate) struct Stack {
    track: Option<i64>,
    open: Vec<Open>,
}

impl Stack {
    /// Returns the parent and the depth of the next event. Events come by track and time, those of
    /// one time in their [`order`].
    pub(crate) fn event(&mut self, event: &Event) -> (Option<i64>, i64) {
        if self.track != Some(event.track) {
            self.track = Some(event.track);
            self.open.clear();
        }
        while self.open.last().is_some_and(|last| last.has_ended(event)) {
            self.open.pop();
        }
        let around = self.open.last().copied();
        let depth = self.open.len() as i64;
        if event.is_span {
            self.open.push(Open::new(event, around.as_ref()));
        }
        (around.map(|around| around.id), depth)
    }
}

#[cfg(test)]
mod tests;
