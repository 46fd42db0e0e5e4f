//! What a controller sees: its own sessions, and the programs that it may record.
//!
//! Root sees all sessions. Root, and the members of the group of the control socket, see the
//! programs of all users.

use trace_protocol::control::GeneralError;
use trace_protocol::socket::PeerCredentials;

use super::requests::{general, Refused};
use super::session::ControlledSession;
use super::{ControlMachine, SessionId, Ticket};

impl ControlMachine {
    /// Returns the controller of a request, if it is still connected.
    pub(super) fn peer(&self, ticket: Ticket) -> Option<PeerCredentials> {
        self.clients.get(&ticket.client).map(|caller| caller.peer)
    }

    /// Returns the user whose programs a controller sees; `None` for all.
    pub(super) fn programs_of(&self, ticket: Ticket) -> Option<u32> {
        // Nobody has this id: a client that is gone sees nothing.
        self.clients.get(&ticket.client).map_or(Some(u32::MAX), |caller| caller.programs_of())
    }

    /// Returns the user whose sessions a controller may use; `None` for all.
    fn sessions_of(&self, ticket: Ticket) -> Option<u32> {
        let uid = self.peer(ticket).map_or(u32::MAX, |peer| peer.uid);
        (uid != 0).then_some(uid)
    }

    /// Returns the sessions that a controller may use.
    pub(super) fn visible(
        &self,
        ticket: Ticket,
    ) -> impl Iterator<Item = (SessionId, &ControlledSession)> {
        let user = self.sessions_of(ticket);
        let sessions = self.sessions.iter().map(|(id, session)| (*id, session));
        sessions.filter(move |(_, session)| user.is_none_or(|uid| uid == session.uid()))
    }

    /// Finds a session by its name. An empty name is the only one that has not ended, or else the
    /// only one that has, and whose results nobody has taken. Root's own session comes before those
    /// of other users.
    pub(super) fn find(&self, ticket: Ticket, name: &str) -> Result<SessionId, Refused> {
        let missing = |reason: String| Err(general(GeneralError::NoSession, reason));
        let own = self.peer(ticket).map(|peer| peer.uid);
        let mut found: Vec<_> = self.visible(ticket).collect();
        match name.is_empty() {
            true if found.iter().any(|(_, session)| session.is_active()) => {
                found.retain(|(_, session)| session.is_active());
            }
            true => {}
            false => found.retain(|(_, session)| session.config.name == name),
        }
        let mine = found.iter().filter(|(_, session)| Some(session.uid()) == own);
        let mine: Vec<SessionId> = mine.map(|(id, _)| *id).collect();
        let names = || found.iter().map(|(_, it)| it.config.name.as_str()).collect::<Vec<_>>();
        match (mine.as_slice(), found.as_slice()) {
            ([id], _) => Ok(*id),
            ([], [(id, _)]) => Ok(*id),
            ([], []) if name.is_empty() => missing("there is no session".to_owned()),
            ([], []) => missing(format!("there is no session '{name}'")),
            _ => missing(format!("several sessions match: {}", names().join(", "))),
        }
    }
}
