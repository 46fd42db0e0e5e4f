//! The longest durations and async operations, with their arguments.
//!
//! An archive is read twice: first for the longest ones, then for their arguments, which are
//! those of the begin and then those of the end. Memory grows with the number of names and threads,
//! and with the number of durations that are shown.

mod instance;
mod reading;
mod scheduled;
mod states;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::io::Read;

use trace_format::{Event, EventKind, Item, ReadError, Reader, Record, ThreadKoids};

use crate::arguments::{Condition, Met};
use crate::catalog::Catalog;
use crate::pairing::{Edge, Outcome, Pairing, Track, Unpaired};
use crate::spans::{Oddities, Role, Span, Spans};
use crate::stats::{Grouping, Groups};
use crate::Damage;
pub use instance::Instance;
use instance::{Found, Key};
use reading::Reading;
pub use scheduled::add_states;
pub use states::States;

/// The most begins and ends of operations that wait for each other.
const MAX_WAITING: usize = 1 << 20;

/// The longest instances.
#[derive(Debug, Default)]
pub struct Slowest {
    /// The longest one first.
    pub instances: Vec<Instance>,
    /// Durations that last at the time, beyond the number.
    pub durations_left_out: u64,
    /// The same of operations.
    pub operations_left_out: u64,
    /// The number of unpaired and malformed durations.
    pub oddities: Oddities,
    /// Operations of which one half is missing.
    pub unpaired: Unpaired,
    /// The number of context switches.
    pub context_switches: u64,
    /// The missing and unreadable data.
    pub damage: Damage,
}

/// Finds the `number` longest durations and operations whose category and name `is_selected`
/// accepts, which meet all conditions of `groups` by the arguments of their begin or end, and which
/// take longer than `over` nanoseconds, if that is given. Polls also meet conditions by the
/// arguments of their operation, which [`Groups::read`] finds. Calls `open` twice.
///
/// With a time `at` in nanoseconds, finds those that last at it: the `number` longest durations and
/// as many operations. Those without an end last from their begin on; they are found only with
/// `at`, and count as the longest.
///
/// # Errors
///
/// The input is not an archive, or reading it failed, or `open` failed.
pub fn slowest<R: Read, E: From<ReadError>>(
    open: impl Fn() -> Result<Reader<R>, E>,
    groups: Groups<'_>,
    number: usize,
    at: Option<u64>,
    over: Option<u64>,
    is_selected: impl Fn(&str, &str) -> bool,
) -> Result<Slowest, E> {
    let is_selected = |catalog: &Catalog, found: &Found| {
        over.is_none_or(|over| found.nanos > over)
            && is_selected(catalog.category(found.label), catalog.name(found.label))
    };
    let search = Search::new(number, at, groups, is_selected);
    search.read(open)
}

/// Finds the async operations that instances poll and that last at a time, without those that are
/// among the instances. An operation can have begun on another thread than its polls. Calls `open`
/// twice, or not at all if nothing is polled.
///
/// # Errors
///
/// The input is not an archive, or reading it failed, or `open` failed.
pub fn polled<R: Read, E: From<ReadError>>(
    open: impl Fn() -> Result<Reader<R>, E>,
    at: u64,
    instances: &[Instance],
) -> Result<Vec<Instance>, E> {
    let of = |id: fn(&Instance) -> Option<u64>| -> HashSet<(u64, u64)> {
        let ids = instances.iter().filter_map(|it| Some((it.thread.process, id(it)?)));
        ids.collect()
    };
    let known = of(|instance| instance.operation);
    let ids: HashSet<_> = of(|instance| instance.polled).difference(&known).copied().collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let is_selected = |_: &Catalog, found: &Found| match found.key {
        Key::Operation { process, id, .. } => ids.contains(&(process, id)),
        Key::Duration { .. } => false,
    };
    let groups = Grouping::Together.into();
    let search = Search::new(usize::MAX, Some(at), groups, is_selected);
    Ok(search.read(open)?.instances)
}

/// The first pass.
struct Search<'a, F> {
    /// The value of an event is its group.
    spans: Spans<u32>,
    /// The conditions that durations meet.
    groups: Groups<'a>,
    operations: Pairing<(ThreadKoids, Met)>,
    longest: Longest<'a, F>,
    context_switches: u64,
    /// Complete durations, empty between records.
    done: Vec<Span<u32>>,
}

/// The longest instances so far.
struct Longest<'a, F> {
    number: usize,
    at: Option<u64>,
    conditions: &'a [Condition],
    /// Without a time, the first list has operations, too.
    durations: List,
    operations: List,
    is_selected: F,
    unpaired: Unpaired,
}

/// The longest instances of a kind, the shortest of them on top.
#[derive(Debug, Default)]
struct List {
    heap: BinaryHeap<Reverse<Found>>,
    left_out: u64,
}

impl<F: Fn(&Catalog, &Found) -> bool> Longest<'_, F> {
    fn add(&mut self, catalog: &Catalog, found: Found) {
        if self.at.is_some_and(|at| !found.lasts_at(at)) {
            return;
        }
        let list = match (self.at, found.key) {
            (Some(_), Key::Operation { .. }) => &mut self.operations,
            _ => &mut self.durations,
        };
        let is_longer = list.heap.peek().is_none_or(|Reverse(least)| found > *least);
        // Those that are left out are counted only with a time.
        if list.heap.len() >= self.number && !is_longer && self.at.is_none() {
            return;
        }
        if (self.is_selected)(catalog, &found) {
            list.heap.push(Reverse(found));
            if list.heap.len() > self.number {
                list.heap.pop();
                list.left_out += 1;
            }
        }
    }

    fn pair(&mut self, catalog: &Catalog, outcome: &Outcome<(ThreadKoids, Met)>) {
        let (begin, end) = match outcome {
            Outcome::Pair { begin, end } => (begin, end),
            Outcome::Cut { begin: edge, .. } | Outcome::Unpaired(edge) => {
                self.unpaired.count(edge);
                return self.open(catalog, edge);
            }
        };
        let Track::Operation { process, id } = begin.track else { return };
        if !begin.value.1.or(end.value.1).is_all(self.conditions) {
            return;
        }
        let key = Key::Operation { process, id, nanos: begin.nanos };
        let nanos = end.nanos - begin.nanos;
        let (label, thread) = (begin.label, begin.value.0);
        let role = Role::Duration;
        self.add(catalog, Found { nanos, key, end: end.nanos, label, thread, role });
    }

    /// Adds an operation without an end.
    fn open(&mut self, catalog: &Catalog, begin: &Edge<(ThreadKoids, Met)>) {
        let Track::Operation { process, id } = begin.track else { return };
        let is_selected = begin.value.1.is_all(self.conditions);
        if self.at.is_some() && !begin.is_end && is_selected {
            let key = Key::Operation { process, id, nanos: begin.nanos };
            self.add(catalog, Found::open(key, begin.label, begin.value.0, Role::Duration));
        }
    }
}

impl<'a, F: Fn(&Catalog, &Found) -> bool> Search<'a, F> {
    fn new(number: usize, at: Option<u64>, groups: Groups<'a>, is_selected: F) -> Self {
        let conditions = groups.conditions();
        let (durations, operations) = (List::default(), List::default());
        let unpaired = Unpaired::default();
        let longest =
            Longest { number, at, conditions, durations, operations, is_selected, unpaired };
        Self {
            spans: Spans::with_values(),
            groups,
            operations: Pairing::new(MAX_WAITING),
            longest,
            context_switches: 0,
            done: Vec::new(),
        }
    }

    /// Finds the instances and reads their arguments.
    fn read<R: Read, E: From<ReadError>>(
        mut self,
        open: impl Fn() -> Result<Reader<R>, E>,
    ) -> Result<Slowest, E> {
        let damage = Damage::of_all(open()?, |item| self.record(item))?;
        let (found, mut slowest) = self.finish();
        let mut reading = Reading::new(&found, &mut slowest.instances);
        Damage::of_all(open()?, |item| reading.record(item))?;
        Ok(Slowest { damage, ..slowest })
    }

    fn record(&mut self, item: &Item<'_>) {
        let group = self.groups.of_edge(item);
        self.done.extend(self.spans.record_with(item, group));
        self.add_done();
        match &item.record {
            Record::Event(event) => self.edge(item, event),
            Record::ContextSwitch(_) | Record::LegacyContextSwitch(_) => self.context_switches += 1,
            _ => {}
        }
    }

    /// Adds the begin or the end of an operation.
    fn edge(&mut self, item: &Item<'_>, event: &Event<'_>) {
        if !matches!(event.kind, EventKind::AsyncBegin { .. } | EventKind::AsyncEnd { .. }) {
            return;
        }
        let catalog = self.spans.catalog_mut();
        let value = (item.thread(event.thread), Met::new(self.longest.conditions, item, event));
        let Some(edge) = Edge::of(catalog, item, event, value) else { return };
        let outcomes = self.operations.push(catalog, edge);
        outcomes.for_each(|outcome| self.longest.pair(catalog, &outcome));
    }

    fn add_done(&mut self) {
        let catalog = self.spans.catalog();
        for span in self.done.drain(..) {
            let group = self.groups.of_span(&span);
            if !self.groups.selects(group) {
                continue;
            }
            let (begin, end) = (span.rate.to_nanos(span.begin), span.rate.to_nanos(span.end));
            let (label, thread) = (span.label, span.koids);
            let key = Key::Duration { thread, nanos: begin };
            let (nanos, role) = (span.nanos(), span.role);
            self.longest.add(catalog, Found { nanos, key, end, label, thread, role });
        }
    }

    /// Adds the durations without an end.
    fn add_open(&mut self) {
        let open = self.spans.take_open();
        let catalog = self.spans.catalog();
        for span in open {
            let group = self.groups.of_span(&span);
            if self.longest.at.is_some() && self.groups.selects(group) {
                let (thread, nanos) = (span.koids, span.rate.to_nanos(span.begin));
                let key = Key::Duration { thread, nanos };
                self.longest.add(catalog, Found::open(key, span.label, thread, span.role));
            }
        }
    }

    /// Returns the instances without their arguments, the longest one first.
    fn finish(mut self) -> (Vec<Found>, Slowest) {
        self.done.extend(self.spans.finish());
        self.add_done();
        self.add_open();
        let catalog = self.spans.catalog();
        let outcomes = self.operations.finish(catalog);
        outcomes.for_each(|outcome| self.longest.pair(catalog, &outcome));
        let Longest { durations, operations, unpaired, .. } = self.longest;
        let mut found: Vec<_> = durations.heap.into_iter().chain(operations.heap).collect();
        found.sort_unstable();
        let found: Vec<Found> = found.into_iter().map(|Reverse(found)| found).collect();
        let slowest = Slowest {
            durations_left_out: durations.left_out,
            operations_left_out: operations.left_out,
            instances: found.iter().map(|found| found.instance(catalog)).collect(),
            oddities: self.spans.oddities(),
            unpaired,
            context_switches: self.context_switches,
            damage: Damage::default(),
        };
        (found, slowest)
    }
}

#[cfg(test)]
mod tests;
