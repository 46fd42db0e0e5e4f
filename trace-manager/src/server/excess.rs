//! Sessions that ask for more memory than a provider can have.

use trace_protocol::socket::PeerCredentials;

use super::active::Active;
use super::provision::NoBuffer;
use super::state::EventLoop;
use crate::machine::{Input, ProviderId, SessionNumber};
use crate::summary::Refusal;

impl EventLoop {
    /// Has a provider that waits for its buffer leave the sessions for which there is no memory. An
    /// earlier session comes first: a later one takes no provider from it. Does nothing if there is
    /// memory for all sessions, or for none.
    pub(super) fn refuse_excess_sessions(&mut self, id: ProviderId, is_last_try: bool) {
        let sessions = self.coordinator.sessions_of(id);
        let fit = |sessions: &[SessionNumber]| self.check_memory(id, sessions, is_last_try);
        if sessions.len() < 2 || fit(&sessions).is_ok() {
            return;
        }
        let (mut served, mut refused) = (Vec::new(), Vec::new());
        for session in sessions {
            served.push(session);
            if let Err(reason) = fit(&served) {
                served.pop();
                refused.push((session, reason));
            }
        }
        if !served.is_empty() {
            let refused = refused.into_iter();
            refused.for_each(|(session, reason)| self.refuse_session(id, session, &reason));
        }
    }

    /// Returns an error if there is no memory for a provider that serves these sessions. Memory
    /// that will be released counts, except at the last try.
    fn check_memory(
        &self,
        id: ProviderId,
        sessions: &[SessionNumber],
        is_last_try: bool,
    ) -> Result<(), NoBuffer> {
        let Some(connection) = self.connections.get(&id) else { return Ok(()) };
        let config = self.coordinator.config_for(id, sessions);
        let retained: u64 =
            self.retained_sizes(sessions, config.mode).iter().map(|(_, size)| size).sum();
        let layout = config.layout(0).map_err(|error| NoBuffer::Failed(error.to_string()))?;
        let size = (layout.total_size() as u64).saturating_add(retained);
        match self.admission.buffers.check(connection.peer, size) {
            Err(no_memory) if no_memory.is_temporary && !is_last_try => Ok(()),
            checked => checked.map_err(NoBuffer::NoMemory),
        }
    }

    /// Notes that a session does not record a provider, which serves others.
    fn refuse_session(&mut self, id: ProviderId, session: SessionNumber, reason: &NoBuffer) {
        let (Some(Active { recording, .. }), Some(connection)) =
            (self.active.get_mut(&session), self.connections.get(&id))
        else {
            return;
        };
        let PeerCredentials { pid, uid, .. } = connection.peer;
        let (name, reason) = (connection.name(), reason.to_string());
        recording.refuse_finally(id, uid, Refusal { pid, name, reason });
        self.dispatch(Input::Unserved(id, session));
    }
}
