//! The connections that a session has recorded, until they have ended and their last records are
//! taken. Programs may connect and end without a limit.

use std::collections::BTreeMap;

use super::Recording;
use crate::machine::ProviderId;

/// The connections that a session has recorded.
#[derive(Debug, Default)]
pub(super) struct Joined {
    connections: BTreeMap<ProviderId, Connection>,
    /// The number of programs so far, without helpers of sessions.
    programs: usize,
}

#[derive(Debug)]
struct Connection {
    is_helper: bool,
    is_connected: bool,
    /// The buffers that it has left, whose last records are outstanding.
    outstanding: usize,
}

impl Joined {
    /// Adds a connection, which may have joined before.
    pub(super) fn join(&mut self, id: ProviderId, is_helper: bool) {
        self.connections.entry(id).or_insert_with(|| {
            self.programs += usize::from(!is_helper);
            Connection { is_helper, is_connected: true, outstanding: 0 }
        });
    }

    /// Returns the number of programs so far.
    pub(super) fn programs(&self) -> usize {
        self.programs
    }

    /// Returns whether a connection is that of a program.
    pub(super) fn is_program(&self, id: ProviderId) -> bool {
        self.connections.get(&id).is_some_and(|it| !it.is_helper)
    }

    /// Notes that a connection has left a buffer.
    pub(super) fn expect_last(&mut self, id: ProviderId) {
        self.connections.entry(id).and_modify(|it| it.outstanding += 1);
    }

    /// Notes that the last records of such a buffer are taken. Returns whether the connection is
    /// forgotten.
    #[must_use]
    pub(super) fn take_outstanding(&mut self, id: ProviderId) -> bool {
        let taken = |it: &mut Connection| it.outstanding = it.outstanding.saturating_sub(1);
        self.connections.entry(id).and_modify(taken);
        self.forget(id)
    }

    /// Notes that a connection has ended. Returns whether it is forgotten.
    #[must_use]
    pub(super) fn disconnected(&mut self, id: ProviderId) -> bool {
        self.connections.entry(id).and_modify(|it| it.is_connected = false);
        self.forget(id)
    }

    fn forget(&mut self, id: ProviderId) -> bool {
        let has_ended = |it: &Connection| !it.is_connected && it.outstanding == 0;
        let forgets = self.connections.get(&id).is_some_and(has_ended);
        forgets && self.connections.remove(&id).is_some()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.connections.len()
    }
}

impl Recording {
    /// Forgets a connection that has ended, and whose records are all taken.
    pub(super) fn forget(&mut self, id: ProviderId) {
        self.earlier.remove(&id);
        self.retention.forget(id);
    }
}
