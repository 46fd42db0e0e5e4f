//! The connections that have not registered.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use crate::machine::ProviderId;

/// The connections that have not registered. All have the same time for it, and their numbers grow,
/// so that the oldest is the first to register.
#[derive(Debug, Default)]
pub(super) struct Unregistered {
    /// Their users, and the times until which they must register.
    connections: BTreeMap<ProviderId, (u32, Instant)>,
    /// Those of each user.
    users: BTreeMap<u32, BTreeSet<ProviderId>>,
}

impl Unregistered {
    pub(super) fn add(&mut self, id: ProviderId, uid: u32, deadline: Instant) {
        self.connections.insert(id, (uid, deadline));
        self.users.entry(uid).or_default().insert(id);
    }

    /// Notes that a connection has registered, or has ended.
    pub(super) fn remove(&mut self, id: ProviderId) {
        let Some((uid, _)) = self.connections.remove(&id) else { return };
        let Some(of_user) = self.users.get_mut(&uid) else { return };
        of_user.remove(&id);
        if of_user.is_empty() {
            self.users.remove(&uid);
        }
    }

    /// Returns the number of those of a user.
    pub(super) fn number_of(&self, uid: u32) -> u64 {
        self.users.get(&uid).map_or(0, |it| it.len() as u64)
    }

    /// Returns the oldest one of a user, or of all users.
    pub(super) fn oldest(&self, user: Option<u32>) -> Option<ProviderId> {
        match user {
            Some(uid) => self.users.get(&uid)?.first().copied(),
            None => self.connections.keys().next().copied(),
        }
    }

    /// Returns the earliest deadline, and its connection.
    pub(super) fn first_deadline(&self) -> Option<(Instant, ProviderId)> {
        self.connections.first_key_value().map(|(id, (_, deadline))| (*deadline, *id))
    }

    /// Ends the time of all.
    #[cfg(test)]
    pub(super) fn expire(&mut self) {
        self.connections.values_mut().for_each(|(_, deadline)| *deadline = Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_user_has_connections_from_the_oldest_on() {
        let (mut unregistered, now) = (Unregistered::default(), Instant::now());
        for (id, uid) in [(3, 1), (4, 2), (5, 1)] {
            unregistered.add(id, uid, now);
        }
        assert_eq!([1, 2, 3].map(|uid| unregistered.number_of(uid)), [2, 1, 0]);
        assert_eq!([Some(1), Some(2), None].map(|it| unregistered.oldest(it)), [3, 4, 3].map(Some));
        (3..5).for_each(|id| unregistered.remove(id));
        unregistered.remove(3);
        assert_eq!([1, 2].map(|uid| unregistered.number_of(uid)), [1, 0]);
        assert_eq!(unregistered.first_deadline(), Some((now, 5)));
        unregistered.remove(5);
        assert!(unregistered.connections.is_empty() && unregistered.users.is_empty());
    }
}
