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

/// Keeps the values of events that begin or end a duration, until the duration is complete.
#[derive(Debug, Clone)]
pub struct SpanValues<V> {
    max: usize,
    begins: HashMap<Begin, V>,
    /// The later ones of equal begins, of which the first one has a value.
    more_begins: HashMap<Begin, Vec<Option<V>>>,
    ends: HashMap<End, Option<V>>,
    /// The later ones of equal ends.
    more_ends: HashMap<End, VecDeque<Option<V>>>,
    /// The number of values in `more_begins`, and in `more_ends`.
    more: (usize, usize),
}

impl<V> SpanValues<V> {
    /// Creates a store of at most `max` values of begins, and as many of ends.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self {
            max,
            begins: HashMap::new(),
            more_begins: HashMap::new(),
            ends: HashMap::new(),
            more_ends: HashMap::new(),
            more: (0, 0),
        }
    }

    /// Adds the value of an event, or `None` if it has none, so that each of equal durations gets
    /// its own. Returns `false` if the value is dropped, because too many wait. Other events than
    /// those of durations are ignored.
    pub fn add(
        &mut self,
        catalog: &mut Catalog,
        item: &Item<'_>,
        event: &Event<'_>,
        value: Option<V>,
    ) -> bool {
        let mut label = || catalog.label(item, event.category, event.name);
        let end = match event.kind {
            EventKind::DurationBegin => None,
            EventKind::DurationComplete { end } => Some(end.max(event.ticks)),
            EventKind::DurationEnd => {
                let is_named =
                    !item.text(event.category).is_empty() && !item.text(event.name).is_empty();
                let label = is_named.then(label);
                return self.add_end((item.thread(event.thread), event.ticks, label), value);
            }
            _ => return true,
        };
        if value.is_none() && self.begins.is_empty() {
            return true;
        }
        self.add_begin((item.thread(event.thread), event.ticks, label(), end), value)
    }

    fn add_begin(&mut self, key: Begin, value: Option<V>) -> bool {
        match (self.begins.contains_key(&key), value) {
            // Without a value, only a begin inside an equal one makes a difference.
            (false, None) => {}
            _ if self.begins.len() + self.more.0 >= self.max => return false,
            (false, Some(value)) => drop(self.begins.insert(key, value)),
            (true, value) => {
                self.more_begins.entry(key).or_default().push(value);
                self.more.0 += 1;
            }
        }
        true
    }

    fn add_end(&mut self, key: End, value: Option<V>) -> bool {
        if self.ends.len() + self.more.1 >= self.max {
            return false;
        }
        match self.ends.entry(key) {
            Entry::Vacant(entry) => drop(entry.insert(value)),
            Entry::Occupied(_) => {
                self.more_ends.entry(key).or_default().push_back(value);
                self.more.1 += 1;
            }
        }
        true
    }

    /// Removes and returns the values of a duration's begin and end. Of equal durations, the inner
    /// one must come first, as [`Spans`](super::Spans) returns them.
    pub fn take(&mut self, span: &Span) -> (Option<V>, Option<V>) {
        let keys = [Some(span.end), None].map(|end| (span.koids, span.begin, span.label, end));
        let begin = keys.into_iter().find_map(|key| self.take_begin(key)).flatten();
        let ends = [Some(span.label), None].map(|label| (span.koids, span.end, label));
        (begin, ends.into_iter().find_map(|key| self.take_end(key)).flatten())
    }

    /// The inner one of equal durations begins last.
    fn take_begin(&mut self, key: Begin) -> Option<Option<V>> {
        if self.begins.is_empty() {
            return None;
        }
        if !self.more_begins.is_empty() {
            if let Entry::Occupied(mut values) = self.more_begins.entry(key) {
                let value = values.get_mut().pop();
                if values.get().is_empty() {
                    values.remove();
                }
                self.more.0 -= 1;
                return value;
            }
        }
        self.begins.remove(&key).map(Some)
    }

    /// The inner one of equal durations ends first.
    fn take_end(&mut self, key: End) -> Option<Option<V>> {
        if self.ends.is_empty() {
            return None;
        }
        let first = self.ends.remove(&key)?;
        if !self.more_ends.is_empty() {
            if let Entry::Occupied(mut values) = self.more_ends.entry(key) {
                self.ends.extend(values.get_mut().pop_front().map(|next| (key, next)));
                if values.get().is_empty() {
                    values.remove();
                }
                self.more.1 -= 1;
            }
        }
        Some(first)
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
                let value = (event.ticks % 2 == 0).then_some(number);
                values.add(spans.catalog_mut(), &item, event, value);
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
        let triple = [&events[..1], &events, &events[3..]].concat();
        let expected = [of("a", 2, Some(3)), of("a", 1, Some(4)), of("a", 0, Some(5))];
        assert_eq!(values(&triple, 9), expected);
    }

    #[test]
    fn ends_without_a_name_and_complete_events() {
        let events = [
            (10, "a", DurationBegin),
            (12, "b", DurationComplete { end: 16 }),
            // Events at an odd time have no value.
            (13, "b", DurationComplete { end: 14 }),
            (20, "", DurationEnd),
            // Ends before its begin.
            (30, "c", DurationComplete { end: 25 }),
        ];
        let mut found = values(&events, 9);
        found.sort();
        let without = found.remove(1);
        assert_eq!(without, ("b".to_owned(), [None, None]));
        assert_eq!(found, [of("a", 0, Some(3)), of("b", 1, None), of("c", 4, None)]);
    }
}
