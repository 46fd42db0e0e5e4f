//! Counts of the last seconds.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use trace_analyze::stats::Distribution;
use trace_convert::visible;
use trace_format::{Event, EventKind, Item, Record};

use super::open::Open;
use crate::cli::Filter;
use crate::live::{self, Threads};

/// The number of parts of the window. Old counts leave it one part at a time.
const PARTS: u32 = 10;

/// The most names of scopes. Further ones are counted together.
const MAX_NAMES: usize = 4096;

/// The most counters and providers.
const MAX_ENTRIES: usize = 1024;

const OTHER: &str = "(other scopes)";

/// The counts of the last seconds. Times are those of arrival, since the start.
#[derive(Debug)]
pub(super) struct Window {
    length: Duration,
    filter: Filter,
    threads: Threads,
    numbers: HashMap<(String, String, Kind), usize>,
    /// Escaped names of scopes, by number.
    names: Vec<String>,
    parts: VecDeque<Part>,
    open: Open,
    /// The last values of the counters.
    pub(super) counters: BTreeMap<String, f64>,
    /// The names of the providers.
    pub(super) providers: BTreeMap<u32, String>,
    /// Dropped records so far.
    pub(super) lost: u64,
    /// Reads with malformed records so far.
    pub(super) malformed: u64,
    now: Duration,
}

/// What has a begin and an end. An operation and its polls can have one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Duration,
    Operation,
}

/// The counts of a part of the window.
#[derive(Debug)]
struct Part {
    begun: Duration,
    events: u64,
    scopes: HashMap<usize, Distribution>,
}

/// A scope in the window.
#[derive(Debug, Clone)]
pub(super) struct Scope {
    pub(super) name: String,
    pub(super) durations: Distribution,
}

impl Window {
    pub(super) fn new(length: Duration, filter: Filter, threads: Threads) -> Self {
        Self {
            length,
            filter,
            threads,
            numbers: HashMap::new(),
            names: vec![OTHER.to_owned()],
            parts: VecDeque::new(),
            open: Open::default(),
            counters: BTreeMap::new(),
            providers: BTreeMap::new(),
            lost: 0,
            malformed: 0,
            now: Duration::ZERO,
        }
    }

    /// Removes what is older than the window.
    pub(super) fn advance(&mut self, now: Duration) {
        self.now = now;
        while self.parts.front().is_some_and(|part| now - part.begun.min(now) > self.length) {
            self.parts.pop_front();
        }
    }

    pub(super) fn add_malformed(&mut self) {
        self.malformed += 1;
    }

    /// Counts a record that arrived at `now`.
    pub(super) fn add(&mut self, item: &Item<'_>, now: Duration) {
        self.now = now;
        self.note_provider(item);
        self.threads.note(item);
        if let Some(dropped) = live::dropped(item) {
            self.lost += dropped;
            self.open.clear(item.provider.id());
        }
        if let Record::Event(event) = &item.record {
            self.part().events += 1;
            self.add_event(item, event);
        }
    }

    fn note_provider(&mut self, item: &Item<'_>) {
        let Some(id) = item.provider.id() else { return };
        if !self.providers.contains_key(&id) && self.providers.len() < MAX_ENTRIES {
            self.providers.insert(id, visible(item.provider.name()).into_owned());
        }
    }

    fn add_event(&mut self, item: &Item<'_>, event: &Event<'_>) {
        let (provider, thread) = (item.provider.id(), item.thread(event.thread));
        if !self.threads.includes(thread.thread) {
            return;
        }
        let at = item.nanos(event.ticks);
        match event.kind {
            EventKind::DurationComplete { end } => {
                let duration = item.nanos(end).saturating_sub(at);
                let number = self.number(item, event, Kind::Duration);
                self.count(number, duration);
            }
            EventKind::DurationBegin => {
                let number = self.number(item, event, Kind::Duration);
                self.open.begin(provider, thread, number, at);
            }
            EventKind::DurationEnd => {
                // An end without a category or a name ends any scope.
                let is_any =
                    item.text(event.category).is_empty() || item.text(event.name).is_empty();
                let number = if is_any { None } else { self.number(item, event, Kind::Duration) };
                let ended = self.open.end(provider, thread, |name| is_any || name == number, at);
                ended.into_iter().for_each(|(number, duration)| self.count(Some(number), duration));
            }
            EventKind::AsyncBegin { id } => {
                let Some(number) = self.number(item, event, Kind::Operation) else { return };
                self.open.begin_operation((thread.process, number, id), at);
            }
            EventKind::AsyncEnd { id } => {
                let Some(number) = self.number(item, event, Kind::Operation) else { return };
                let duration = self.open.end_operation((thread.process, number, id), at);
                duration.into_iter().for_each(|duration| self.count(Some(number), duration));
            }
            EventKind::Counter { .. } => self.add_counter(item, event),
            _ => {}
        }
    }

    fn add_counter(&mut self, item: &Item<'_>, event: &Event<'_>) {
        let (category, name) = (item.text(event.category), item.text(event.name));
        if !self.filter.matches(&category, &name) {
            return;
        }
        for argument in event.arguments.iter() {
            let Some(value) = argument.value.number() else { continue };
            let key = format!("{category}:{name} {}", item.text(argument.name));
            let key = visible(&key).into_owned();
            if self.counters.len() < MAX_ENTRIES || self.counters.contains_key(&key) {
                self.counters.insert(key, value);
            }
        }
    }

    /// Returns the number of a scope's name, or `None` if it is not selected.
    fn number(&mut self, item: &Item<'_>, event: &Event<'_>, kind: Kind) -> Option<usize> {
        let (category, name) = (item.text(event.category), item.text(event.name));
        let key = (category.into_owned(), name.into_owned(), kind);
        if let Some(number) = self.numbers.get(&key) {
            return Some(*number);
        }
        if !self.filter.matches(&key.0, &key.1) {
            return None;
        }
        if self.names.len() > MAX_NAMES {
            return Some(0);
        }
        let number = self.names.len();
        let of = match kind {
            Kind::Duration => "",
            Kind::Operation => " (operations)",
        };
        self.names.push(visible(&format!("{}:{}", key.0, key.1)).into_owned() + of);
        self.numbers.insert(key, number);
        Some(number)
    }

    fn count(&mut self, number: Option<usize>, duration: u64) {
        if let Some(number) = number {
            self.part().scopes.entry(number).or_default().add(duration);
        }
    }

    /// Returns the present part.
    fn part(&mut self) -> &mut Part {
        let (now, length) = (self.now, self.length / PARTS);
        let is_over = self.parts.back().is_none_or(|part| now >= part.begun + length);
        if is_over {
            self.parts.push_back(Part { begun: now, events: 0, scopes: HashMap::new() });
        }
        let last = self.parts.len() - 1;
        &mut self.parts[last]
    }

    /// Returns the time that the counts cover, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.now.min(self.length).as_secs_f64().max(0.001)
    }

    /// Returns the number of events in a second.
    pub(super) fn events_per_second(&self) -> f64 {
        self.parts.iter().map(|part| part.events).sum::<u64>() as f64 / self.seconds()
    }

    /// Returns the scopes in the window.
    pub(super) fn scopes(&self) -> Vec<Scope> {
        let mut all: BTreeMap<usize, Distribution> = BTreeMap::new();
        for (number, durations) in self.parts.iter().flat_map(|part| &part.scopes) {
            all.entry(*number).or_default().extend(durations);
        }
        let name = |number: usize| self.names.get(number).cloned().unwrap_or_default();
        all.into_iter().map(|(number, durations)| Scope { name: name(number), durations }).collect()
    }
}
