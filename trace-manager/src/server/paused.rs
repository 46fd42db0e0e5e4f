//! Connections whose packets are not read for a while: the programs of their user have sent too
//! many in this second.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use crate::machine::ProviderId;

/// Connections whose packets are not read for a while.
#[derive(Debug, Default)]
pub(super) struct PausedPackets {
    /// Those of each user, and the time until then.
    users: BTreeMap<u32, (Instant, BTreeSet<ProviderId>)>,
}

impl PausedPackets {
    pub(super) fn contains(&self, uid: u32, id: ProviderId) -> bool {
        self.users.get(&uid).is_some_and(|(_, connections)| connections.contains(&id))
    }

    /// Returns the time from which on the packets of a user are read again.
    pub(super) fn first_end(&self) -> Option<Instant> {
        self.users.values().map(|(until, _)| *until).min()
    }

    pub(super) fn add(&mut self, uid: u32, id: ProviderId, until: Instant) {
        self.users.entry(uid).or_insert((until, BTreeSet::new())).1.insert(id);
    }

    /// Removes a connection whose packet socket is closed. A later socket is watched.
    pub(super) fn remove(&mut self, id: ProviderId) {
        self.users.retain(|_, (_, connections)| {
            connections.remove(&id);
            !connections.is_empty()
        });
    }

    /// Removes the connections whose time is over.
    pub(super) fn take(&mut self, now: Instant) -> Vec<ProviderId> {
        let mut over = Vec::new();
        self.users.retain(|_, (until, connections)| {
            let is_over = *until <= now;
            if is_over {
                over.extend(std::mem::take(connections));
            }
            !is_over
        });
        over
    }

    /// Ends the time of all.
    #[cfg(test)]
    pub(super) fn expire(&mut self) {
        self.users.values_mut().for_each(|(until, _)| *until = Instant::now());
    }
}
