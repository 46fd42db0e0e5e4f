//! Conditions of triggers that hold.

use super::state::EventLoop;
use crate::machine::SessionNumber;
use crate::trigger::Condition;

impl EventLoop {
    /// Performs the actions of the conditions that began to hold.
    pub(super) fn react_to_conditions(&mut self) {
        let now = self.now();
        for session in self.active.keys().copied().collect::<Vec<_>>() {
            let (Some(active), Some(collection)) =
                (self.active.get_mut(&session), &mut self.collection)
            else {
                continue;
            };
            for cause in active.recording.held_conditions(collection) {
                let Some(active) = self.active.get_mut(&session) else { continue };
                for reaction in active.alerts.triggers.condition(&cause, now) {
                    self.react(session, reaction);
                }
            }
        }
    }

    /// Notes that a condition of a session holds, which the caller has evaluated.
    pub(super) fn hold(&mut self, session: SessionNumber, condition: &Condition) {
        if let Some(active) = self.active.get_mut(&session) {
            active.recording.hold(condition);
        }
    }
}
