//! Trace points that are made at run time.

use std::sync::atomic::AtomicU64;

use trace_format::layout::EventType;

use super::Value;
use crate::point::arguments::Arguments;
use crate::point::names::{Literal, NameAtRunTime};
use crate::point::object;
use crate::point::place::At;
use crate::point::registry;
use crate::point::site::{Key, Name, Site};
use crate::point::write;
use crate::timestamp::Timestamp;
use crate::value::sealed::Encode;
use crate::value::Limit;
use crate::{DurationScope, ENGINE};

/// The most arguments of an event.
const MAX_ARGUMENTS: usize = 15;

/// A trace point: one kind of event with one category, name and list of keys.
///
/// A copy is the same trace point.
#[derive(Clone, Copy, Debug)]
pub struct TracePoint(&'static Site);

impl TracePoint {
    /// Makes a trace point for events of this type, with up to 15 keys; further ones are left out.
    ///
    /// If its category is being recorded it is on at once. Takes a lock, allocates what is never
    /// freed, and is not for signal handlers. Where the string table of the recording under way has
    /// no room for its strings it stays off until the next one, which the trace tells.
    pub fn new(
        event_type: EventType,
        category: &'static str,
        name: &'static str,
        keys: &[&'static str],
    ) -> Self {
        let keys: Vec<Key> = keys.iter().take(MAX_ARGUMENTS).map(|key| Key::new(key)).collect();
        let site = Box::leak(Box::new(Site::event(
            event_type,
            category,
            Name::Text(name),
            Vec::leak(keys),
        )));
        registry::add(site);
        if let Some(table) = ENGINE.table().as_mut() {
            table.turn(site);
        }
        Self(site)
    }

    /// Whether its events are being recorded. Costs one load.
    #[inline(always)]
    pub fn is_on(self) -> bool {
        self.0.is_on()
    }

    /// Records an event now, on this thread, if the trace point is on.
    ///
    /// `values` belong to the keys in their order; those beyond the keys are left out. `tail` is
    /// what the type of event needs: the id of a counter, an async or a flow event;
    /// [`scope`](super::scope) of an instant. Where it is missing it is 0; an instant of scope 0 is
    /// global.
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

    /// Records an event of this thread at a time that is known, like [`TracePoint::write`]. For a
    /// type of event that has a tail.
    pub fn write_at(self, time: Timestamp, values: &[Value<'_>], tail: &[u64]) {
        if self.is_on() {
            let id = tail.first().copied().unwrap_or(0);
            write::event_at(self.0, self.0.keys(), At(time), Literal, self.arguments(values), [id]);
        }
    }

    /// Records an event now, like [`TracePoint::write`], under a name that is known at run time
    /// only. For a trace point whose own name is empty, and a type of event that has a tail.
    pub fn write_named(self, name: &str, values: &[Value<'_>], tail: &[u64]) {
        if self.is_on() {
            let id = tail.first().copied().unwrap_or(0);
            write::event(self.0, self.0.keys(), NameAtRunTime(name), self.arguments(values), [id]);
        }
    }

    /// Writes to the log in the trace, up to 32,000 bytes, if the trace point is on: the log keeps
    /// its category only.
    pub fn write_log(self, text: &str) {
        if self.is_on() {
            object::log_text(self.0, text);
        }
    }

    /// Begins a duration that ends when the guard is dropped. For a trace point of
    /// [`EventType::DurationBegin`].
    #[inline]
    pub fn begin(self, values: &[Value<'_>]) -> DurationScope {
        if self.is_on() && self.0.event_type() == Some(EventType::DurationBegin) {
            write::begin(self.0, self.0.keys(), Literal, self.arguments(values))
        } else {
            DurationScope::NOT_RECORDED
        }
    }

    fn arguments<'a>(self, values: &'a [Value<'a>]) -> Values<'a> {
        Values(values.get(..self.0.keys().len()).unwrap_or(values))
    }
}

/// Arguments whose types are known at run time only; no more than there are keys.
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
            value.encode(key.bits(), own, limit);
            words = rest;
        }
    }
}
