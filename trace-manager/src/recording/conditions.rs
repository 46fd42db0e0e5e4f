//! The conditions of a session's triggers.

use std::time::{Duration, SystemTime};

use trace_protocol::archive::ClockSample;

use super::Recording;
use crate::collection::Collection;
use crate::trigger::Condition;

/// The time between two checks of the conditions that depend on time and losses: they take time
/// for each provider.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

impl Recording {
    /// Returns the conditions that began to hold since the last call, and counts them. Those that
    /// depend on time and losses are evaluated at intervals.
    pub(crate) fn held_conditions(&mut self, collection: &Collection) -> Vec<String> {
        if self.conditions.is_empty() {
            return Vec::new();
        }
        if self.elapsed().saturating_sub(self.checked_at) >= CHECK_INTERVAL {
            self.check_conditions(collection);
        }
        self.take_conditions()
    }

    fn check_conditions(&mut self, collection: &Collection) {
        self.checked_at = self.elapsed();
        let lost = self.lost(collection);
        self.conditions.tick(self.checked_at, SystemTime::now(), lost);
        if self.conditions.needs_records() {
            self.conditions.advance(&ClockSample::now());
        }
    }

    fn take_conditions(&mut self) -> Vec<String> {
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
