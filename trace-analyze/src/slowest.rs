//! The longest durations and async operations, with their arguments.
//!
//! An archive is read twice: first for the longest ones, then for their arguments, which are
//! those of the begin and then those of the end. Memory grows with the number of names and threads,
//! and with the number of durations that are shown.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::Read;

use serde_json::{json, Map, Value as Json};
use trace_format::{Event, EventKind, Item, ReadError, Reader, Record, ThreadKoids};

use crate::catalog::{Catalog, LabelId};
use crate::pairing::{Edge, Outcome, Pairing, Track};
use crate::spans::{Span, Spans};
use crate::{arguments, exact, Damage};

/// The most begins and ends of operations that wait for each other.
const MAX_WAITING: usize = 1 << 20;

/// A duration or an async operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Instance {
    /// The category.
    pub category: String,
    /// The name.
    pub name: String,
    /// The id of an async operation, `None` for a duration.
    pub operation: Option<u64>,
    /// The thread of the begin.
    pub thread: ThreadKoids,
    /// The name of the process, empty if the archive has none.
    pub process_name: String,
    /// The name of the thread, empty if the archive has none.
    pub thread_name: String,
    /// The time of the begin, in nanoseconds of the provider's clock.
    pub begin_nanos: u64,
    /// The length, in nanoseconds.
    pub nanos: u64,
    /// The arguments by name, in the order of the archive.
    pub arguments: Vec<(String, Json)>,
}

impl Instance {
    /// Returns the instance as a JSON object.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let arguments: Map<String, Json> = self.arguments.iter().cloned().collect();
        json!({
            "kind": if self.operation.is_some() { "async" } else { "duration" },
            "category": self.category,
            "name": self.name,
            "id": self.operation.map(exact),
            "process": exact(self.thread.process),
            "process_name": self.process_name,
            "thread": exact(self.thread.thread),
            "thread_name": self.thread_name,
            "begin_ns": self.begin_nanos,
            "length_ns": self.nanos,
            "arguments": arguments,
        })
    }
}

/// The longest instances.
#[derive(Debug, Default)]
pub struct Slowest {
    /// The longest one first.
    pub instances: Vec<Instance>,
    /// The missing and unreadable data.
    pub damage: Damage,
}

/// Finds the `number` longest durations and operations whose category and name `is_selected`
/// accepts. Calls `open` twice.
///
/// # Errors
///
/// The input is not an archive, or reading it failed, or `open` failed.
pub fn slowest<R: Read, E: From<ReadError>>(
    open: impl Fn() -> Result<Reader<R>, E>,
    number: usize,
    is_selected: impl Fn(&str, &str) -> bool,
) -> Result<Slowest, E> {
    let mut search = Search::new(number, is_selected);
    let damage = Damage::of_all(open()?, |item| search.record(item))?;
    let (found, mut instances) = search.finish();
    let mut places: HashMap<Key, Vec<usize>> = HashMap::new();
    for (place, Found { key, end, .. }) in found.iter().enumerate() {
        places.entry(*key).or_default().push(place);
        let key = key.at(*end);
        places.entry(key).or_default().push(place);
    }
    Damage::of_all(open()?, |item| read_arguments(item, &found, &places, &mut instances))?;
    Ok(Slowest { instances, damage })
}

/// The thread or the operation of an event, and its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Key {
    Duration { thread: ThreadKoids, nanos: u64 },
    Operation { process: u64, id: u64, nanos: u64 },
}

impl Key {
    /// Returns the key of a begin or an end.
    fn of(item: &Item<'_>, event: &Event<'_>) -> Option<Self> {
        let (thread, nanos) = (item.thread(event.thread), item.nanos(event.ticks));
        match event.kind {
            EventKind::DurationComplete { .. }
            | EventKind::DurationBegin
            | EventKind::DurationEnd => Some(Self::Duration { thread, nanos }),
            EventKind::AsyncBegin { id } | EventKind::AsyncEnd { id } => {
                Some(Self::Operation { process: thread.process, id, nanos })
            }
            _ => None,
        }
    }

    fn at(self, time: u64) -> Self {
        match self {
            Self::Duration { thread, .. } => Self::Duration { thread, nanos: time },
            Self::Operation { process, id, .. } => Self::Operation { process, id, nanos: time },
        }
    }
}

/// An instance without its arguments. The order is by length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    nanos: u64,
    key: Key,
    end: u64,
    label: LabelId,
    thread: ThreadKoids,
}

/// The first pass.
struct Search<F> {
    spans: Spans,
    operations: Pairing<ThreadKoids>,
    longest: Longest<F>,
    /// Complete durations, empty between records.
    done: Vec<Span>,
}

/// The longest instances so far, the shortest of them on top.
struct Longest<F> {
    number: usize,
    heap: BinaryHeap<Reverse<Found>>,
    is_selected: F,
}

impl<F: Fn(&str, &str) -> bool> Longest<F> {
    fn add(&mut self, catalog: &Catalog, found: Found) {
        let is_longer = self.heap.peek().is_none_or(|Reverse(least)| found > *least);
        if self.heap.len() >= self.number && !is_longer {
            return;
        }
        if (self.is_selected)(catalog.category(found.label), catalog.name(found.label)) {
            self.heap.push(Reverse(found));
            if self.heap.len() > self.number {
                self.heap.pop();
            }
        }
    }

    fn pair(&mut self, catalog: &Catalog, outcome: &Outcome<ThreadKoids>) {
        let Outcome::Pair { begin, end } = outcome else { return };
        let Track::Operation { process, id } = begin.track else { return };
        let key = Key::Operation { process, id, nanos: begin.nanos };
        let nanos = end.nanos - begin.nanos;
        let (label, thread) = (begin.label, begin.value);
        self.add(catalog, Found { nanos, key, end: end.nanos, label, thread });
    }
}

impl<F: Fn(&str, &str) -> bool> Search<F> {
    fn new(number: usize, is_selected: F) -> Self {
        let longest = Longest { number, heap: BinaryHeap::new(), is_selected };
        Self {
            spans: Spans::default(),
            operations: Pairing::new(MAX_WAITING),
            longest,
            done: Vec::new(),
        }
    }

    fn record(&mut self, item: &Item<'_>) {
        self.done.extend(self.spans.record(item));
        self.add_done();
        let Record::Event(event) = &item.record else { return };
        if !matches!(event.kind, EventKind::AsyncBegin { .. } | EventKind::AsyncEnd { .. }) {
            return;
        }
        let catalog = self.spans.catalog_mut();
        let Some(edge) = Edge::of(catalog, item, event, item.thread(event.thread)) else { return };
        let outcomes = self.operations.push(catalog, edge);
        outcomes.for_each(|outcome| self.longest.pair(catalog, &outcome));
    }

    fn add_done(&mut self) {
        let catalog = self.spans.catalog();
        for span in self.done.drain(..) {
            let (begin, end) = (span.rate.to_nanos(span.begin), span.rate.to_nanos(span.end));
            let (label, thread) = (span.label, span.koids);
            let key = Key::Duration { thread, nanos: begin };
            self.longest.add(catalog, Found { nanos: span.nanos(), key, end, label, thread });
        }
    }

    /// Returns the instances without their arguments, the longest one first.
    fn finish(mut self) -> (Vec<Found>, Vec<Instance>) {
        self.done.extend(self.spans.finish());
        self.add_done();
        let catalog = self.spans.catalog();
        let outcomes = self.operations.finish(catalog);
        outcomes.for_each(|outcome| self.longest.pair(catalog, &outcome));
        let found = self.longest.heap.into_sorted_vec();
        let found: Vec<Found> = found.into_iter().map(|Reverse(found)| found).collect();
        let instances = found.iter().map(|found| found.instance(catalog)).collect();
        (found, instances)
    }
}

impl Found {
    /// Returns whether an event is at the begin or at the end, as its kind requires.
    fn has_time_of(&self, item: &Item<'_>, event: &Event<'_>) -> bool {
        let (Key::Duration { nanos: begin, .. } | Key::Operation { nanos: begin, .. }) = self.key;
        let nanos = item.nanos(event.ticks);
        match event.kind {
            EventKind::DurationComplete { end } => nanos == begin && item.nanos(end) == self.end,
            EventKind::DurationEnd | EventKind::AsyncEnd { .. } => nanos == self.end,
            _ => nanos == begin,
        }
    }

    fn instance(&self, catalog: &Catalog) -> Instance {
        let (operation, begin_nanos) = match self.key {
            Key::Duration { nanos, .. } => (None, nanos),
            Key::Operation { id, nanos, .. } => (Some(id), nanos),
        };
        Instance {
            category: catalog.category(self.label).to_owned(),
            name: catalog.name(self.label).to_owned(),
            operation,
            thread: self.thread,
            process_name: catalog.process_name(self.thread.process).to_owned(),
            thread_name: catalog.thread_name(self.thread).to_owned(),
            begin_nanos,
            nanos: self.nanos,
            arguments: Vec::new(),
        }
    }
}

/// The second pass: adds the arguments of an event to the instances that it begins or ends.
fn read_arguments(
    item: &Item<'_>,
    found: &[Found],
    places: &HashMap<Key, Vec<usize>>,
    instances: &mut [Instance],
) {
    let Record::Event(event) = &item.record else { return };
    if event.arguments.iter().next().is_none() {
        return;
    }
    let places = Key::of(item, event).and_then(|key| places.get(&key));
    for &place in places.into_iter().flatten() {
        let (Some(found), Some(instance)) = (found.get(place), instances.get_mut(place)) else {
            continue;
        };
        if !found.has_time_of(item, event) || !has_name_of(item, event, instance) {
            continue;
        }
        let arguments = event.arguments.iter().map(|argument| {
            (item.text(argument.name).into_owned(), arguments::to_json(item, argument.value))
        });
        instance.arguments.extend(arguments);
    }
}

/// Returns whether an event has the category and the name of an instance. An end may have empty
/// ones.
fn has_name_of(item: &Item<'_>, event: &Event<'_>, instance: &Instance) -> bool {
    let is_end = matches!(event.kind, EventKind::DurationEnd | EventKind::AsyncEnd { .. });
    let is_same = |text: &str, other: &str| text == other || (is_end && text.is_empty());
    is_same(&item.text(event.category), &instance.category)
        && is_same(&item.text(event.name), &instance.name)
}

#[cfg(test)]
mod tests;
