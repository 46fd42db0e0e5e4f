//! Stopping a session that may start again.

use trace_protocol::archive::ClockSample;
use trace_protocol::message::{BufferDisposition, StartOptions};

use super::state::EventLoop;
use crate::error::ManagerError;
use crate::machine::{Input, ProviderId, SessionNumber, SessionState};
use crate::notice::Notice;

impl EventLoop {
    /// Notes in its sessions that a provider has replied to Stop, or has stopped by itself. It did
    /// so before the reply is read; one of an earlier version does not report when.
    pub(super) fn note_stop(&mut self, id: ProviderId) {
        let Some(collection) = &self.collection else { return };
        let Some(provider) = collection.provider(id) else { return };
        let now = ClockSample::now().ticks(provider.identity().clock);
        for session in provider.sessions() {
            if let Some(active) = self.active.get_mut(&session) {
                let at = provider.stopped_at(session, now).unwrap_or(now);
                active.recording.reported_stop(provider.id(), at);
            }
        }
    }

    /// Starts a stopped session again. `categories` replaces its category patterns.
    pub(super) fn start_again(
        &mut self,
        session: SessionNumber,
        disposition: BufferDisposition,
        categories: Option<&[String]>,
    ) -> Result<(), ManagerError> {
        match self.coordinator.session_state(session) {
            Some(SessionState::Stopped) => {}
            Some(_) => return Err(ManagerError::NotStopped),
            None => return Err(ManagerError::SessionEnded),
        }
        if let Some(categories) = categories {
            self.set_categories(session, categories)?;
        }
        self.pass_all_on();
        if let (Some(active), Some(collection)) = (self.active.get_mut(&session), &self.collection)
        {
            active.recording.start_again(disposition, collection.of_session(session));
            active.alerts.notices.send(Notice::StartedAgain);
        }
        self.dispatch(Input::Start(session, StartOptions::default()));
        Ok(())
    }
}
