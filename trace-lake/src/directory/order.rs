//! The order of a thread's spans in the archive.

use trace_format::{Event, EventKind, Item, TickRate};

use crate::times::signed;

/// Whether each span of a thread has one record, and is around or after those recorded before it.
/// The spans around it are known, then, when it is read.
#[derive(Debug)]
pub(super) struct Order {
    /// The provider of the last span, and its clock.
    clock: Option<(Option<u32>, TickRate)>,
    ticks: u64,
    /// The begin of the last span in nanoseconds.
    start: i64,
    /// The least end of the spans with this begin that take time.
    end: i64,
    has_spans: bool,
    is_ordered: bool,
}

impl Default for Order {
    fn default() -> Self {
        let (start, end) = (i64::MIN, i64::MAX);
        Self { clock: None, ticks: 0, start, end, has_spans: false, is_ordered: true }
    }
}

impl Order {
    pub(super) fn has_spans(&self) -> bool {
        self.has_spans
    }

    pub(super) fn is_ordered(&self) -> bool {
        self.is_ordered
    }

    /// Notes an event of the thread.
    #[inline]
    pub(super) fn event(&mut self, item: &Item<'_>, event: &Event<'_>) {
        match event.kind {
            EventKind::DurationComplete { end } => self.span(item, event.ticks, end),
            EventKind::DurationBegin | EventKind::DurationEnd => {
                (self.has_spans, self.is_ordered) = (true, false);
            }
            _ => {}
        }
    }

    #[inline]
    fn span(&mut self, item: &Item<'_>, begin: u64, end: u64) {
        let clock = (item.provider.id(), item.provider.tick_rate());
        if !self.has_spans {
            (self.has_spans, self.clock) = (true, Some(clock));
        } else if self.clock != Some(clock) || begin < self.ticks {
            self.is_ordered = false;
        }
        if self.is_ordered {
            self.ticks = begin;
            self.nanos(signed(clock.1.to_nanos(begin)), signed(clock.1.to_nanos(end.max(begin))));
        }
    }

    /// Notes the times of a span that does not begin before the last one. Different ticks can be
    /// one nanosecond, in which a longer span is around a shorter one.
    #[inline]
    fn nanos(&mut self, start: i64, end: i64) {
        if start > self.start {
            (self.start, self.end) = (start, i64::MAX);
        }
        if end > start {
            self.is_ordered = end <= self.end;
            self.end = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use trace_format::{EventKind, Record};

    use crate::testing::{archive, complete, event, opened};

    /// Returns whether threads are in order, and whether one with spans is.
    fn order(records: &[Record<'static>]) -> (bool, bool) {
        let (_file, archive) = opened(&archive(records)).unwrap();
        let directory = archive.directory().unwrap();
        (directory.are_all_ordered(), directory.has_ordered())
    }

    #[test]
    fn spans_are_in_order_if_each_is_in_or_after_those_before() {
        let spans = |times: &[(u64, u64)]| {
            order(&times.iter().map(|(begin, end)| complete("x", *begin, *end)).collect::<Vec<_>>())
        };
        let ordered = (true, true);
        assert_eq!(spans(&[(10, 100), (20, 30), (20, 25), (30, 40), (200, 210)]), ordered);
        assert_eq!(spans(&[(10, 50), (20, 90)]), ordered, "one that ends later begins later");
        assert_eq!(spans(&[(10, 10), (10, 30), (10, 10)]), ordered, "points take no time");
        let unordered = (false, false);
        assert_eq!(spans(&[(20, 30), (10, 100)]), unordered, "the inner one first");
        assert_eq!(spans(&[(10, 20), (10, 30)]), unordered, "the shorter of one begin first");
        assert_eq!(spans(&[(10, 30), (10, 10), (10, 40)]), unordered, "a point between them");
    }

    #[test]
    fn threads_without_spans_and_with_pairs_have_none_in_order() {
        let instant = event("i", 10, EventKind::Instant { scope: None }, &[]);
        assert_eq!(order(&[]), (true, false));
        assert_eq!(order(&[instant]), (true, false));
        let begin = event("a", 10, EventKind::DurationBegin, &[]);
        assert_eq!(order(&[begin, complete("b", 20, 30)]), (false, false));
    }
}
