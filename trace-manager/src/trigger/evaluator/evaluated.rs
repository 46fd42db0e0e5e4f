//! One condition of a session, with its state.

use std::time::SystemTime;

use super::observation::{Observation, Observed};
use crate::trigger::counter::CounterState;
use crate::trigger::names::Names;
use crate::trigger::schedule::Schedule;
use crate::trigger::scopes::{Begin, ScopeState};
use crate::trigger::{Condition, LogLevel, TriggerRule};

/// A condition, with its state.
#[derive(Debug)]
pub(super) struct Evaluated {
    pub(super) condition: Condition,
    pub(super) cause: String,
    pub(super) state: State,
    /// Whether a program has the condition's category and name.
    pub(super) is_known: bool,
    /// The number of times that it began to hold and was not taken.
    pub(super) held: u64,
    /// Whether all its records were compared so far.
    pub(super) is_complete: bool,
    /// Whether records were compared that were collected after the end of the recording.
    pub(super) is_late: bool,
}

/// The state of a condition.
#[derive(Debug)]
pub(super) enum State {
    Counter(CounterState),
    Log(LogLevel),
    Scopes(ScopeState),
    Drop,
    Schedule(Schedule),
    /// Reported by the caller.
    External,
}

impl Evaluated {
    pub(super) fn new(rule: &TriggerRule, now: SystemTime) -> Self {
        let state = match &rule.condition {
            Condition::Counter(counter) => State::Counter(CounterState::new(counter.clone())),
            Condition::Log(level) => State::Log(*level),
            Condition::Duration(limit) => State::Scopes(ScopeState::new(limit.clone())),
            Condition::Drop => State::Drop,
            Condition::Every(interval) => State::Schedule(Schedule::every(*interval)),
            Condition::At(time) => State::Schedule(Schedule::at(*time, now)),
            _ => State::External,
        };
        let (condition, cause) = (rule.condition.clone(), rule.condition.to_string());
        let is_known = condition.texts().is_empty();
        Self { condition, cause, state, is_known, held: 0, is_complete: true, is_late: false }
    }

    pub(super) fn hold_if(&mut self, holds: bool) {
        self.held += u64::from(holds);
    }

    /// Handles an observation of a provider. Those of one provider are in the order of time.
    pub(super) fn apply(&mut self, provider: u32, observation: Observation) {
        let Observation { nanos, observed, .. } = observation;
        let holds = match (&mut self.state, observed) {
            (State::Counter(counter), Observed::Value { key, value }) => {
                counter.sample(provider, key, nanos, value)
            }
            (State::Scopes(scopes), Observed::Begin(owner)) => {
                self.is_complete &= scopes.begin(provider, owner, Begin::of_scope(nanos));
                false
            }
            (State::Scopes(scopes), Observed::BeginPoll(owner)) => {
                self.is_complete &= scopes.begin(provider, owner, Begin::of_poll(nanos));
                false
            }
            (State::Scopes(scopes), Observed::End(owner)) => scopes.end(provider, owner, nanos),
            (State::Scopes(scopes), Observed::Complete { end }) => scopes.holds(nanos, end),
            (state, Observed::Lost(thread)) => {
                if let State::Scopes(scopes) = state {
                    scopes.lose(provider, thread);
                }
                self.is_complete = false;
                false
            }
            _ => false,
        };
        self.hold_if(holds);
    }

    /// Returns whether some of its records were not compared.
    pub(super) fn is_incomplete(&self, has_lost: bool) -> bool {
        let is_limited = matches!(&self.state, State::Counter(counter) if counter.is_limited());
        self.condition.needs_records() && (!self.is_complete || is_limited || has_lost)
    }

    /// Returns whether a provider with these strings may have the condition's category and name.
    pub(super) fn is_known_to(&self, names: &Names) -> bool {
        let dotted = match &self.condition {
            Condition::Counter(counter) => counter.dotted_name().map(|name| (counter, name)),
            _ => None,
        };
        let is_dotted = dotted.is_some_and(|(it, name)| names.has_all(&[&it.category, &name]));
        is_dotted || names.has_all(&self.condition.texts())
    }
}
