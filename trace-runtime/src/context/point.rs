//! Trace points created at run time.

use std::sync::atomic::{AtomicU64, Ordering};

use trace_format::layout::{EventType, StringRef};

use super::Value;
use crate::point::arguments::Arguments;
use crate::point::names::{Literal, NameAtRunTime};
use crate::point::object;
use crate::point::place::At;
use crate::point::registry;
use crate::point::site::{Key, Name, Site};
use crate::point::write;
use crate::sites;
use crate::task::records::TaskIdentity;
use crate::task::strings;
use crate::timestamp::Timestamp;
use crate::value::sealed::Encode;
use crate::value::Limit;
use crate::{DurationScope, ENGINE};

/// The maximum number of arguments of an event.
const MAX_ARGUMENTS: usize = 15;

/// The maximum number of keys, of which the last ones may be texts of [`Value::Key`].
const MAX_KEYS: usize = 2 * MAX_ARGUMENTS;

/// A trace point: one kind of event with one category, name and list of keys.
///
/// Copies refer to the same trace point.
#[derive(Clone, Copy, Debug)]
pub struct TracePoint(&'static Site);

impl TracePoint {
    /// Creates a trace point for events of this type, with up to 15 keys. Up to 15 further keys are
    /// texts for [`Value::Key`].
    ///
    /// It is on at once if its category is recorded. If the string table of the current recording
    /// is full, the trace point stays off until the next recording, and the trace reports it.
    ///
    /// Takes a lock and allocates memory that is never freed. A signal handler that has interrupted
    /// the creation of another trace point does not wait for the lock: the service thread turns the
    /// trace point on, within a tenth of a second.
    pub fn new(
        event_type: EventType,
        category: &'static str,
        name: &'static str,
        keys: &[&'static str],
    ) -> Self {
        match event_type {
            EventType::DurationBegin => Self::of(Site::scope, category, name, keys),
            event_type => {
                let site = |category, name, keys| Site::event(event_type, category, name, keys);
                Self::of(site, category, name, keys)
            }
        }
    }

    /// Creates a trace point for the begins of asynchronous operations whose durations the caller
    /// compares at their ends: [`TracePoint::compare`]. Otherwise like [`TracePoint::new`].
    ///
    /// Write them by [`TracePoint::write_in`].
    pub fn operation(category: &'static str, name: &'static str, keys: &[&'static str]) -> Self {
        Self::of(Site::operation, category, name, keys)
    }

    /// Creates a trace point for the durations of polls of an [operation](TracePoint::operation)
    /// with the same category and name. Conditions count the operation only. Begin them by
    /// [`TracePoint::begin_poll`]. Otherwise like [`TracePoint::new`].
    pub fn poll(category: &'static str, name: &'static str, keys: &[&'static str]) -> Self {
        Self::of(Site::poll, category, name, keys)
    }

    fn of(
        site: impl FnOnce(&'static str, Name, &'static [Key]) -> Site,
        category: &'static str,
        name: &'static str,
        keys: &[&'static str],
    ) -> Self {
        let keys: Vec<Key> = keys.iter().take(MAX_KEYS).map(|key| Key::new(key)).collect();
        let site = Box::leak(Box::new(site(category, Name::Text(name), Vec::leak(keys))));
        registry::add(site);
        match ENGINE.table_unless_nested() {
            Some(mut table) => table.iter_mut().for_each(|table| table.turn(site)),
            None => sites::turn_later(),
        }
        Self(site)
    }

    /// Returns whether its events are recorded. Costs one load.
    #[inline(always)]
    pub fn is_on(self) -> bool {
        self.0.is_on()
    }

    /// Records an event of this thread with the current time, if the trace point is on.
    ///
    /// `values` are in the order of the keys. Extra values are ignored.
    ///
    /// `tail` is the trailing word of the event type: the id of a counter, an async or a flow
    /// event, or the [`scope`](super::scope) of an instant. If it is missing, it is 0; an instant
    /// with scope 0 is global.
    ///
    /// Costs one clock read while the trace point is on, else one load and a branch.
    pub fn write(self, values: &[Value<'_>], tail: &[u64]) {
        if !self.is_on() {
            return;
        }
        let arguments = self.arguments(values);
        let id = tail.first().copied().unwrap_or(0);
        match self.0.event_type() {
            Some(EventType::DurationBegin | EventType::DurationEnd) | None => {
                write::event(self.0, self.0.keys(), Literal, arguments, []);
            }
            Some(_) => write::event(self.0, self.0.keys(), Literal, arguments, [id]),
        }
    }

    /// Records an event of this thread at `time`. Otherwise like [`TracePoint::write`].
    ///
    /// Only for event types that have a trailing word.
    pub fn write_at(self, time: Timestamp, values: &[Value<'_>], tail: &[u64]) {
        if self.is_on() {
            let id = tail.first().copied().unwrap_or(0);
            write::event_at(self.0, self.0.keys(), At(time), Literal, self.arguments(values), [id]);
        }
    }

    /// Records an event with an id at `time`, in the recording with this
    /// [number](super::spans::recording) only. Returns whether it was recorded.
    pub fn write_in(self, recording: u64, time: Timestamp, values: &[Value<'_>], id: u64) -> bool {
        let Some(kind) = self.0.event_type().filter(|_| self.is_on()) else { return false };
        let identity = TaskIdentity { site: self.0, id, recording };
        identity.event(kind, &Literal, self.0.keys(), &self.arguments(values), time.ticks())
    }

    /// Compares the duration of an operation with the conditions of the session in which it began,
    /// the recording with this [number](super::spans::recording). `start` and `end` are the times
    /// of its begin and its end.
    ///
    /// Only for a trace point of [`TracePoint::operation`]. Costs one load and a branch if there is
    /// no condition.
    #[inline]
    pub fn compare(self, recording: u64, start: Timestamp, end: Timestamp) {
        write::compare_operation(self.0, recording, start.ticks(), || end.ticks());
    }

    /// Records an event with a name that is known only at run time. Otherwise like
    /// [`TracePoint::write`].
    ///
    /// Only for a trace point with an empty name and an event type that has a trailing word. The
    /// name is written into the record.
    pub fn write_named(self, name: &str, values: &[Value<'_>], tail: &[u64]) {
        if self.is_on() {
            let id = tail.first().copied().unwrap_or(0);
            write::event(self.0, self.0.keys(), NameAtRunTime(name), self.arguments(values), [id]);
        }
    }

    /// Writes a log record if the trace point is on. Up to 32,000 bytes of `text` are recorded.
    ///
    /// The category decides whether the message is recorded. Category, name and keys are not in the
    /// record.
    pub fn write_log(self, text: &str) {
        if self.is_on() {
            object::log_text(self.0, text);
        }
    }

    /// Begins a duration that ends when the guard is dropped.
    ///
    /// Only for a trace point of [`EventType::DurationBegin`]: others record nothing. Costs two
    /// clock reads while the trace point is on.
    #[inline]
    pub fn begin(self, values: &[Value<'_>]) -> DurationScope {
        if self.is_on() && self.0.event_type() == Some(EventType::DurationBegin) {
            write::begin(self.0, self.0.keys(), Literal, self.arguments(values))
        } else {
            DurationScope::NOT_RECORDED
        }
    }

    /// Begins a duration like [`TracePoint::begin`].
    ///
    /// Only for a trace point of [`TracePoint::poll`].
    #[inline]
    pub fn begin_poll(self, values: &[Value<'_>]) -> DurationScope {
        match self.is_on() {
            true => write::begin_poll(self.0, self.0.keys(), self.arguments(values)),
            false => DurationScope::NOT_RECORDED,
        }
    }

    fn arguments<'a>(self, values: &'a [Value<'a>]) -> Values<'a> {
        let most = self.0.keys().len().min(MAX_ARGUMENTS);
        Values(values.get(..most).unwrap_or(values))
    }
}

/// Arguments whose types are known only at run time, at most as many as the site has keys.
#[derive(Debug)]
struct Values<'a>(&'a [Value<'a>]);

impl Arguments for Values<'_> {
    fn count(&self) -> usize {
        self.0.iter().map(Encode::count).sum()
    }

    fn words(&self, limit: Limit) -> usize {
        self.0.iter().map(|value| value.words(limit)).sum()
    }

    fn encode(&self, keys: &[Key], mut words: &[AtomicU64], limit: Limit) {
        for (value, key) in self.0.iter().zip(keys) {
            let Some((own, rest)) = words.split_at_checked(value.words(limit)) else { return };
            match value {
                Value::Key(place) => encode_text(keys.get(usize::from(*place)), key, own),
                value => value.encode(key.bits(), own, limit),
            }
            words = rest;
        }
    }
}

/// Stores an argument whose value is the text of a key.
fn encode_text(text: Option<&Key>, key: &Key, words: &[AtomicU64]) {
    let text = text.map_or(StringRef::EMPTY, Key::reference);
    if let Some(word) = words.first() {
        word.store(strings::argument(key.bits(), text), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no memfd")]
    fn a_trace_point_is_on_soon_if_its_thread_holds_the_table() {
        let directory = tempfile::tempdir().unwrap();
        let _trace = crate::builder().output(directory.path().join("late.fxt")).init();
        let held = ENGINE.table();
        assert!(held.as_ref().is_some_and(|table| table.is_recording()));
        // As in a signal handler that interrupts the thread here.
        let point = TracePoint::new(EventType::Instant, "late", "point", &[]);
        assert!(!point.is_on());
        drop(held);
        while !point.is_on() {
            std::thread::yield_now();
        }
    }
}
