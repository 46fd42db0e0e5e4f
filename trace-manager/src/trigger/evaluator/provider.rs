//! The observations of one provider's events.

use std::collections::{BTreeMap, BTreeSet};

use trace_format::layout::InstantScope;
use trace_format::notes;
use trace_format::record::Argument;
use trace_format::{Event, EventKind, Text, Thread, ThreadKoids, TickRate, Value};

use super::evaluated::{Evaluated, State};
use super::groups::Groups;
use super::observation::{Observation, Observed};
use super::observations::Observations;
use crate::trigger::names::Names;
use crate::trigger::scopes::Owner;
use crate::trigger::LogLevel;

/// The argument of an event that has the level of a log message.
pub(super) const LEVEL: &str = "level";

/// The arguments of each poll of an operation, except for an end. Its category and name are those
/// of the operation.
pub(super) const POLL: [&str; 2] = ["task", "poll-count"];

/// The argument that an end of a poll has as its only one.
pub(super) const POLL_STATE: &str = "poll-state";

/// The tables of a provider, and the rate of its clock.
#[derive(Debug)]
pub(super) struct Provider {
    pub(super) names: Names,
    pub(super) threads: BTreeMap<u8, ThreadKoids>,
    pub(super) rate: TickRate,
    /// Whether its records are collected while it records.
    is_live: bool,
    /// The indices of the conditions that its trace points compare.
    pub(super) watched: BTreeSet<usize>,
}

impl Provider {
    pub(super) fn new(rate: TickRate, is_live: bool) -> Self {
        let (names, threads) = (Names::default(), BTreeMap::new());
        Self { names, threads, rate, is_live, watched: BTreeSet::new() }
    }

    /// Notes that its records are collected while it records.
    pub(super) fn stream(&mut self) {
        self.is_live = true;
    }

    #[cfg(test)]
    pub(super) fn is_live(&self) -> bool {
        self.is_live
    }

    /// Adds the observations of an event to `observations`.
    pub(super) fn observe(
        &self,
        conditions: &mut [Evaluated],
        groups: &Groups,
        event: &Event<'_>,
        observations: &mut Observations,
    ) {
        let nanos = self.rate.to_nanos(event.ticks);
        let (category, name) = (self.names.text(event.category), self.names.text(event.name));
        if category == notes::CATEGORY.as_bytes() && name == notes::RECORDS_DROPPED.as_bytes() {
            let observed = self.lost(event);
            return observations.push(Observation { nanos, condition: None, observed });
        }
        for condition in groups.of(category, name).iter().copied() {
            let Some(evaluated) = conditions.get_mut(condition) else { continue };
            let mut add = |observed| {
                evaluated.is_known = true;
                observations.push(Observation { nanos, condition: Some(condition), observed });
            };
            match (&evaluated.state, event.kind) {
                (State::Counter(counter), EventKind::Counter { id }) => {
                    let Some(compared) = counter.condition().series_of(category, name) else {
                        continue;
                    };
                    for Argument { name: series, value } in event.arguments.iter() {
                        let Some(value) = value.number() else { continue };
                        if compared.contains(self.names.text(series)) {
                            add(Observed::Value { key: (id, self.names.hash(series)), value });
                        }
                    }
                }
                (State::Scopes(scopes), kind) if scopes.matches(category, name) => {
                    if self.watched.contains(&condition) && is_compared(event) {
                        continue;
                    }
                    let Some(observed) = self.scope(event, kind) else { continue };
                    let has_ended =
                        matches!(observed, Observed::End(_) | Observed::Complete { .. });
                    add(observed);
                    evaluated.is_late |= has_ended && !self.is_live;
                }
                _ => {}
            }
        }
    }

    fn lost(&self, event: &Event<'_>) -> Observed {
        let is_of_thread = EventKind::Instant { scope: Some(InstantScope::Thread) } == event.kind;
        Observed::Lost(is_of_thread.then(|| self.thread(event.thread)))
    }

    fn scope(&self, event: &Event<'_>, kind: EventKind) -> Option<Observed> {
        let thread = || self.thread(event.thread);
        match kind {
            EventKind::DurationComplete { .. } if self.is_poll(event) => None,
            EventKind::DurationComplete { end } => {
                Some(Observed::Complete { end: self.rate.to_nanos(end) })
            }
            EventKind::DurationBegin if self.is_poll(event) => Some(Observed::BeginPoll(thread())),
            EventKind::DurationBegin => Some(Observed::Begin(thread())),
            EventKind::AsyncBegin { id } => Some(Observed::Begin(Owner::Operation(id))),
            EventKind::DurationEnd => Some(Observed::End(thread())),
            EventKind::AsyncEnd { id } => Some(Observed::End(Owner::Operation(id))),
            EventKind::FlowBegin { id } => Some(Observed::Begin(Owner::Flow(id))),
            EventKind::FlowEnd { id } => Some(Observed::End(Owner::Flow(id))),
            _ => None,
        }
    }

    /// Returns whether a duration is a poll of an operation.
    fn is_poll(&self, event: &Event<'_>) -> bool {
        let has = |key: &str| {
            let mut names = event.arguments.iter().map(|argument| argument.name);
            names.any(|name| self.names.text(name) == key.as_bytes())
        };
        POLL.into_iter().all(has) || (event.arguments.iter().count() == 1 && has(POLL_STATE))
    }

    fn thread(&self, thread: Thread) -> Owner {
        let koids = match thread {
            Thread::Inline(koids) => koids,
            Thread::Indexed(index) => {
                self.threads.get(&index).copied().unwrap_or(ThreadKoids::UNKNOWN)
            }
        };
        Owner::Thread { process: koids.process, thread: koids.thread }
    }

    /// Returns the level of an event that is a log message, as the bridge of `tracing` records it.
    pub(super) fn level_of(&self, event: &Event<'_>) -> Option<LogLevel> {
        if !matches!(event.kind, EventKind::Instant { .. }) {
            return None;
        }
        let mut arguments = event.arguments.iter();
        let is_level = |name| self.names.text(name) == LEVEL.as_bytes();
        let level = arguments.find(|argument| is_level(argument.name))?;
        match level.value {
            Value::String(text) => LogLevel::from_name(self.names.text(text)),
            _ => None,
        }
    }
}

/// Returns whether an event is of a duration that the program compares if it compares those of its
/// category and name: its name is not of run time.
fn is_compared(event: &Event<'_>) -> bool {
    let is_registered = |text| matches!(text, Text::Indexed(_));
    is_registered(event.category) && is_registered(event.name)
}
