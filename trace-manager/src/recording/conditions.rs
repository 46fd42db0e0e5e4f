//! The conditions of a session's triggers.

use std::time::SystemTime;

use trace_protocol::archive::ClockSample;

use super::Recording;
use crate::collection::Collection;
use crate::trigger::Condition;

impl Recording {
    /// Evaluates the conditions that depend on time and losses. Returns those that began to hold
    /// since the last call, and counts them.
    pub(crate) fn held_conditions(&mut self, collection: &Collection) -> Vec<String> {
        if self.conditions.is_empty() {
            return Vec::new();
        }
        let (elapsed, lost) = (self.elapsed(), self.lost(collection));
        self.conditions.tick(elapsed, SystemTime::now(), lost);
        if self.conditions.needs_records() {
            self.conditions.advance(&ClockSample::now());
        }
        let held = self.conditions.take();
        for (condition, times) in &held {
            *self.held.entry(condition.clone()).or_default() += times;
        }
        held.into_iter().map(|(cause, _)| cause).collect()
    }

    /// Notes that a condition holds which is evaluated elsewhere. Does nothing if no trigger has
    /// it.
    pub(crate) fn hold(&mut self, condition: &Condition) {
        self.conditions.hold(condition);
    }
}
