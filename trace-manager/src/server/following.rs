//! Live streams of sessions.

use super::state::EventLoop;
use crate::error::ManagerError;
use crate::machine::{Input, SessionNumber};
use crate::sink::Follower;

impl EventLoop {
    /// Adds a live stream to a session.
    pub(super) fn follow(
        &mut self,
        session: SessionNumber,
        follower: Follower,
        categories: &[String],
    ) -> Result<(), ManagerError> {
        self.pass_session_on(session);
        match (self.active.get_mut(&session), &self.collection) {
            (Some(active), Some(collection)) => {
                active.recording.follow(collection, follower, categories)
            }
            _ => Err(ManagerError::SessionEnded),
        }
    }

    /// Flushes the providers of the sessions that are followed, or that have conditions over
    /// records.
    pub(super) fn flush_followed(&mut self) {
        for session in self.active.keys().copied().collect::<Vec<_>>() {
            if self.active.get_mut(&session).is_some_and(|it| it.recording.must_flush()) {
                self.dispatch(Input::Flush(session));
            }
        }
    }
}
