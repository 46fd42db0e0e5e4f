//! Values of the events of durations.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use trace_format::{Event, EventKind, Item, ThreadKoids};

use super::Span;
use crate::catalog::{Catalog, LabelId};

/// The thread, begin and label of a duration, and the end if its begin has one.
type Begin = (ThreadKoids, u64, LabelId, Option<u64>);

/// The thread, time and label of an end. An end without a category or a name has no label.
type End = (ThreadKoids, u64, Option<LabelId>);

/// Keeps a value for each event that begins or ends a duration, until the duration is complete.
#[derive(Debug, Clone)]
pub struct SpanValues<V> {
    max: usize,
    /// Equal durations have a list.
    begins: HashMap<Begin, Vec<V>>,
    ends: HashMap<End, VecDeque<V>>,
    /// The number of values in `begins`, and in `ends`.
    waiting: (usize, usize),
}

impl<V> SpanValues<V> {
    /// Creates a store of at most `max` values of begins, and as many of ends.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self { max, begins: HashMap::new(), ends: HashMap::new(), waiting: (0, 0) }
    }

    /// Adds the value of an event. Returns `false` if it is dropped, because too many wait. Other
    /// events than those of durations have no value.
    ///
    /// Each begin must have a value, so that each of equal durations gets its own.
    pub fn add(
        &mut self,
        catalog: &mut Catalog,
        item: &Item<'_>,
        event: &Event<'_>,
        value: V,
    ) -> bool {
        match event.kind {
            EventKind::DurationBegin => self.begin(catalog, item, event, None, value),
            EventKind::DurationComplete { end } => {
                self.begin(catalog, item, event, Some(end.max(event.ticks)), value)
            }
            EventKind::DurationEnd => self.end(catalog, item, event, value),
            _ => true,
        }
    }

    fn begin(
        &mut self,
        catalog: &mut Catalog,
        item: &Item<'_>,
        event: &Event<'_>,
        end: Option<u64>,
        value: V,
    ) -> bool {
        if self.waiting.0 >= self.max {
            return false;
        }
        let label = catalog.label(item, event.category, event.name);
        let key = (item.thread(event.thread), event.ticks, label, end);
        self.begins.entry(key).or_default().push(value);
        self.waiting.0 += 1;
        true
    }

    fn end(&mut self, catalog: &mut Catalog, item: &Item<'_>, event: &Event<'_>, value: V) -> bool {
        if self.waiting.1 >= self.max {
            return false;
        }
        let is_named = !item.text(event.category).is_empty() && !item.text(event.name).is_empty();
        let label = is_named.then(|| catalog.label(item, event.category, event.name));
        let key = (item.thread(event.thread), event.ticks, label);
        self.ends.entry(key).or_default().push_back(value);
        self.waiting.1 += 1;
        true
    }

    /// Removes and returns the values of a duration's begin and end. Of equal durations, the inner
    /// one must come first, as [`Spans`](super::Spans) returns them.
    pub fn take(&mut self, span: &Span) -> (Option<V>, Option<V>) {
        let keys = [Some(span.end), None].map(|end| (span.koids, span.begin, span.label, end));
        let begin = keys.into_iter().find_map(|key| self.take_begin(key));
        let ends = [Some(span.label), None].map(|label| (span.koids, span.end, label));
        (begin, ends.into_iter().find_map(|key| self.take_end(key)))
    }

    /// The inner one of equal durations begins last.
    fn take_begin(&mut self, key: Begin) -> Option<V> {
        let Entry::Occupied(mut values) = self.begins.entry(key) else { return None };
        let value = values.get_mut().pop();
        if values.get().is_empty() {
            values.remove();
        }
        self.waiting.0 -= usize::from(value.is_some());
        value
    }

    /// The inner one of equal durations ends first.
    fn take_end(&mut self, key: End) -> Option<V> {
        let Entry::Occupied(mut values) = self.ends.entry(key) else { return None };
        let value = values.get_mut().pop_front();
        if values.get().is_empty() {
            values.remove();
        }
        self.waiting.1 -= usize::from(value.is_some());
        value
    }
}

#[cfg(test)]
mod tests {
    use trace_format::{Arguments, Reader, Record, Thread};

    use super::*;
    use crate::spans::Spans;
    use crate::testing::archive;
    use EventKind::{DurationBegin, DurationComplete, DurationEnd};

    /// Returns the names of durations with the numbers of their events in the archive.
    fn values(events: &[(u64, &str, EventKind)], max: usize) -> Vec<(String, [Option<usize>; 2])> {
        let thread = Thread::Inline(ThreadKoids::new(1, 5));
        let records = events.iter().map(|(ticks, name, kind)| {
            let (category, name) = (if name.is_empty() { "" } else { "cat" }, (*name).into());
            let (category, arguments) = (category.into(), Arguments::NONE);
            Event { ticks: *ticks, thread, category, name, kind: *kind, arguments }.into()
        });
        let bytes = archive(&records.collect::<Vec<Record<'_>>>());
        let (mut spans, mut values) = (Spans::default(), SpanValues::new(max));
        let (mut reader, mut number, mut done) = (Reader::new(&*bytes), 0, Vec::new());
        while let Some(item) = reader.next().unwrap() {
            if let Record::Event(event) = &item.record {
                values.add(spans.catalog_mut(), &item, event, number);
                number += 1;
            }
            done.extend(spans.record(&item));
        }
        done.extend(spans.finish());
        let name = |span: &Span| spans.catalog().name(span.label).to_owned();
        done.iter().map(|span| (name(span), values.take(span).into())).collect()
    }

    fn of(name: &str, begin: usize, end: Option<usize>) -> (String, [Option<usize>; 2]) {
        (name.to_owned(), [Some(begin), end])
    }

    #[test]
    fn equal_durations_have_their_own_values() {
        let events = [
            (10, "a", DurationBegin),
            (10, "a", DurationBegin),
            (20, "a", DurationEnd),
            (20, "a", DurationEnd),
        ];
        let expected = [of("a", 1, Some(2)), of("a", 0, Some(3))];
        assert_eq!(values(&events, 9), expected);
        assert_eq!(values(&events, 1), [of("a", 0, Some(2)), ("a".to_owned(), [None, None])]);
    }

    #[test]
    fn ends_without_a_name_and_complete_events() {
        let events = [
            (10, "a", DurationBegin),
            (12, "b", DurationComplete { end: 15 }),
            (20, "", DurationEnd),
            // Ends before its begin.
            (30, "c", DurationComplete { end: 25 }),
        ];
        let mut found = values(&events, 9);
        found.sort();
        assert_eq!(found, [of("a", 0, Some(2)), of("b", 1, None), of("c", 3, None)]);
    }
}
