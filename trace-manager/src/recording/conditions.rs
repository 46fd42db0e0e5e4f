//! The conditions of a session's triggers.

use std::time::{Duration, SystemTime};

use trace_protocol::archive::ClockSample;

use super::Recording;
use crate::collection::Collection;
use crate::machine::End;
use crate::trigger::Condition;
use crate::trigger::DurationWatch;

/// The time between two checks of the conditions that depend on time and losses: they take time
/// for each provider.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

impl Recording {
    /// Returns the conditions that began to hold since the last call, and counts them. Those that
    /// depend on time and losses are evaluated at intervals.
    pub(crate) fn held_conditions(&mut self, collection: &mut Collection) -> Vec<String> {
        if self.conditions.is_empty() {
            return Vec::new();
        }
        if self.elapsed().saturating_sub(self.checked_at) >= CHECK_INTERVAL {
            self.check_conditions(collection);
        }
        self.take_conditions()
    }

    fn check_conditions(&mut self, collection: &mut Collection) {
        self.checked_at = self.elapsed();
        // A sum over all providers, also those that have left.
        let lost = if self.conditions.needs_losses() { self.heeded_losses(collection) } else { 0 };
        let now = ClockSample::now();
        self.conditions.tick(now.since(&self.start_clocks), SystemTime::now(), lost);
        for provider in collection.of_session_mut(self.number) {
            let (id, clock) = (provider.id(), provider.identity().clock);
            if self.conditions.waits_for(id) {
                // The time of conditions does not pass while a session is stopped.
                let end = self.ends.get(&id).copied();
                let end = end.or_else(|| self.stopped_at.map(|it| it.ticks(clock)));
                let until = provider.complete_until(now.ticks(clock));
                let until = end.map_or(until, |end| until.min(end));
                self.conditions.advance(id, until);
            }
        }
    }

    /// Returns the number of records dropped so far by programs that may cause actions of triggers.
    fn heeded_losses(&self, collection: &Collection) -> u64 {
        let connected = collection.of_session(self.number);
        let heeded = connected.filter(|it| self.config.may_trigger(it.identity().uid));
        let dropped = heeded.map(|it| it.dropped(self.number));
        dropped.fold(self.departed.heeded_losses, u64::saturating_add)
    }

    pub(super) fn take_conditions(&mut self) -> Vec<String> {
        let held = self.conditions.take();
        for (condition, times) in &held {
            *self.held.entry(condition.clone()).or_default() += times;
        }
        held.into_iter().map(|(cause, _)| cause).collect()
    }

    /// Returns the conditions that began to hold since the last call, at the end of the session.
    pub(crate) fn last_conditions(&mut self, collection: &mut Collection) -> Vec<String> {
        if self.conditions.is_empty() {
            return Vec::new();
        }
        self.check_conditions(collection);
        self.take_conditions()
    }

    /// Evaluates the conditions on the counters of a provider that left at `left`, in its ticks.
    pub(super) fn close_conditions(&mut self, provider: u32, end: &End, left: u64) {
        if matches!(end, End::Terminated | End::Disconnected) {
            self.conditions.advance(provider, left);
        }
        self.conditions.close(provider);
    }

    /// Numbers the conditions from `first`. Returns those that providers compare, and the number
    /// after the last.
    pub(crate) fn number_conditions(&mut self, first: u32) -> (Vec<DurationWatch>, u32) {
        self.conditions.number(first, self.estimated_rate)
    }

    /// Notes that a provider compares the condition of this number from its next records on.
    pub(crate) fn watch(&mut self, number: u32, provider: u32) {
        self.conditions.watch(number, provider);
    }

    /// Notes that the condition of this number held. Returns whether the session has it.
    pub(crate) fn hold_watched(&mut self, number: u32, times: u64) -> bool {
        self.conditions.hold_watched(number, times)
    }

    /// Notes that a condition holds which is evaluated elsewhere. Does nothing if no trigger has
    /// it.
    pub(crate) fn hold(&mut self, condition: &Condition) {
        self.conditions.hold(condition);
    }
}
