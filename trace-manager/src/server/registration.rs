//! Accepting connections and registering providers, within limits.

use std::time::Instant;

use trace_protocol::message::ToProvider;
use trace_protocol::socket::PeerCredentials;

use super::connection::Connection;
use super::state::EventLoop;
use crate::machine::{ProviderId, TraceeEvent};

impl EventLoop {
    /// Makes sure that a new connection is within the limits. For this, the oldest connections that
    /// have not registered are read, and then closed. Returns false if the limit is reached.
    pub(super) fn reserve_connection(&mut self, peer: PeerCredentials) -> bool {
        let user = Some(peer.uid);
        let limit = self.admission.limits.unregistered;
        let reason = format!("more than {limit} connections of its user have not registered");
        let unregistered = |it: &Self| it.admission.unregistered.number_of(peer.uid);
        while unregistered(self) >= limit && self.free_oldest(&reason, user) {}
        let is_full = |it: &Self| it.connections.len() as u64 >= it.admission.connections();
        while is_full(self) && self.free_oldest(&self.no_descriptor(), None) {}
        !is_full(self)
    }

    /// Returns the reason for which a connection is refused if there are too many.
    pub(super) fn no_descriptor(&self) -> String {
        let limit = self.admission.connections();
        format!("no file descriptor is left for it: the limit is {limit} connections")
    }

    /// Starts the time in which a connection must register.
    pub(super) fn expect_registration(&mut self, id: ProviderId, uid: u32) {
        let deadline = Instant::now() + self.admission.limits.register_timeout;
        self.admission.unregistered.add(id, uid, deadline);
    }

    /// Returns the earliest deadline of a connection to register.
    pub(super) fn register_deadline(&self) -> Option<Instant> {
        self.admission.unregistered.first_deadline().map(|(deadline, _)| deadline)
    }

    /// Closes the connections that did not register before their deadlines.
    pub(super) fn close_unregistered(&mut self) {
        let now = Instant::now();
        while let Some((deadline, id)) = self.admission.unregistered.first_deadline() {
            if deadline > now {
                return;
            }
            self.admission.unregistered.remove(id);
            if !self.registers_now(id) {
                self.reject(id, "it did not register in time");
            }
        }
    }

    /// Reads the messages of the oldest connection that has not registered, and closes it if they
    /// do not register it: if many programs start at once, connections arrive before the messages
    /// are read. Returns false if the user, or all users, have none.
    fn free_oldest(&mut self, reason: &str, user: Option<u32>) -> bool {
        let Some(id) = self.admission.unregistered.oldest(user) else { return false };
        self.admission.unregistered.remove(id);
        if !self.registers_now(id) {
            self.reject(id, reason);
        }
        true
    }

    /// Reads the messages of a connection. Returns whether it has registered, or is closed.
    fn registers_now(&mut self, id: ProviderId) -> bool {
        self.read_messages(id);
        self.connections.get(&id).is_none_or(|it| it.register.is_some())
    }

    /// Adds a registered provider to the quota. Returns false if it is refused and its connection
    /// closed.
    pub(super) fn admit(&mut self, id: ProviderId) -> bool {
        let Some(connection) = self.connections.get_mut(&id) else { return false };
        let admission = &mut self.admission;
        let bound = admission.limits.providers.within(admission.connections());
        admission.providers.set_bound(bound);
        match admission.providers.take(connection.peer, 1) {
            Ok(()) => {
                connection.admitted = true;
                true
            }
            Err(excess) => {
                self.reject(id, &excess.to_string());
                false
            }
        }
    }

    /// Updates the memory of a connection's messages in the quota. Returns false if the limit is
    /// reached and the connection closed.
    pub(super) fn count_messages(&mut self, id: ProviderId) -> bool {
        let Some(connection) = self.connections.get_mut(&id) else { return false };
        let (before, now) = (connection.counted_memory, connection.memory());
        if before == now {
            return true;
        }
        let messages = &mut self.admission.messages;
        messages.release(connection.peer, before);
        connection.counted_memory = 0;
        match messages.take(connection.peer, now) {
            Ok(()) => {
                connection.counted_memory = now;
                true
            }
            Err(excess) => {
                self.reject(id, &excess.to_string());
                false
            }
        }
    }

    /// Releases the resources of a closed connection in the quotas.
    pub(super) fn release(&mut self, connection: &Connection) {
        self.admission.messages.release(connection.peer, connection.counted_memory);
        if connection.admitted {
            self.admission.providers.release(connection.peer, 1);
        }
    }

    /// Refuses a provider. The reason is sent to it and kept for the summary.
    pub(super) fn refuse_provider(&mut self, id: ProviderId, reason: &str) {
        self.refuse(id, reason.to_owned());
        self.send(id, &ToProvider::Refused { reason: reason.to_owned() });
    }

    /// Refuses a connection that is not in a session, and closes it.
    fn reject(&mut self, id: ProviderId, reason: &str) {
        self.refuse_provider(id, reason);
        self.disconnect(id, TraceeEvent::Disconnected);
    }
}
