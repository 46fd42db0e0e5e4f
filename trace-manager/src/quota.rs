//! Counts the use of a resource by processes and users, within a bound.

use std::collections::HashMap;
use std::fmt;

use trace_protocol::socket::PeerCredentials;

use crate::limits::Bound;

/// The use of one resource.
#[derive(Debug)]
pub(crate) struct Quota {
    /// The resource with its unit, such as "bytes of buffers".
    resource: &'static str,
    bound: Bound,
    /// The use by process and user: a process that changes its user has several entries. The use by
    /// a user is the sum over the user's processes.
    processes: HashMap<(u32, u32), u64>,
    users: HashMap<u32, u64>,
    total: u64,
}

/// An exceeded bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Excess {
    resource: &'static str,
    pub(crate) owner: Owner,
    limit: u64,
    /// The amount above the limit.
    pub(crate) missing: u64,
}

/// Whose use a limit bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    Process,
    User,
    All,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Process => "a process",
            Self::User => "a user",
            Self::All => "all programs",
        })
    }
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, owner, limit, .. } = self;
        write!(f, "the limit of {limit} {resource} for {owner} is reached")
    }
}

impl Quota {
    pub(crate) fn new(resource: &'static str, bound: Bound) -> Self {
        Self { resource, bound, processes: HashMap::new(), users: HashMap::new(), total: 0 }
    }

    /// Changes the bound. The use stays as it is.
    pub(crate) fn set_bound(&mut self, bound: Bound) {
        self.bound = bound;
    }

    /// Raises each limit to at least `amount`.
    pub(crate) fn raise_bound(&mut self, amount: u64) {
        let Bound { process, user, total } = self.bound;
        let (process, user, total) = (process.max(amount), user.max(amount), total.max(amount));
        self.bound = Bound { process, user, total };
    }

    /// Returns an error if `amount`, added to the use of a process, exceeds the bound.
    pub(crate) fn check(&self, peer: PeerCredentials, amount: u64) -> Result<(), Excess> {
        let Bound { process, user, total } = self.bound;
        let limits = [(Owner::Process, process), (Owner::User, user), (Owner::All, total)];
        for (owner, limit) in limits {
            let missing = self.used(owner, peer).saturating_add(amount).saturating_sub(limit);
            if missing != 0 {
                return Err(Excess { resource: self.resource, owner, limit, missing });
            }
        }
        Ok(())
    }

    /// Adds `amount` to the use of a process, unless that exceeds the bound.
    pub(crate) fn take(&mut self, peer: PeerCredentials, amount: u64) -> Result<(), Excess> {
        self.check(peer, amount)?;
        *self.processes.entry((peer.pid, peer.uid)).or_default() += amount;
        *self.users.entry(peer.uid).or_default() += amount;
        self.total += amount;
        Ok(())
    }

    /// Returns the use that a limit of this process, its user or all programs bounds.
    pub(crate) fn used(&self, owner: Owner, peer: PeerCredentials) -> u64 {
        match owner {
            Owner::Process => self.processes.get(&(peer.pid, peer.uid)).copied().unwrap_or(0),
            Owner::User => self.users.get(&peer.uid).copied().unwrap_or(0),
            Owner::All => self.total,
        }
    }

    /// Returns the use by all processes.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Subtracts `amount` from the use of a process.
    pub(crate) fn release(&mut self, peer: PeerCredentials, amount: u64) {
        let process = (peer.pid, peer.uid);
        if let Some(taken) = self.processes.get_mut(&process) {
            let amount = amount.min(*taken);
            *taken -= amount;
            if *taken == 0 {
                self.processes.remove(&process);
            }
            self.reduce(peer.uid, amount);
        }
    }

    fn reduce(&mut self, uid: u32, amount: u64) {
        self.total -= amount;
        if let Some(taken) = self.users.get_mut(&uid) {
            *taken -= amount;
            if *taken == 0 {
                self.users.remove(&uid);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(pid: u32, uid: u32) -> PeerCredentials {
        PeerCredentials { pid, uid, gid: 0 }
    }

    fn quota() -> Quota {
        Quota::new("things", Bound { process: 2, user: 3, total: 5 })
    }

    #[test]
    fn an_exceeded_bound_is_named() {
        let mut quota = quota();
        let text = |excess: Result<(), Excess>| excess.unwrap_err().to_string();
        assert_eq!(quota.take(peer(1, 1), 2), Ok(()));
        let process = "the limit of 2 things for a process is reached";
        assert_eq!(text(quota.take(peer(1, 1), 1)), process);
        assert_eq!(quota.take(peer(2, 1), 1), Ok(()));
        let user = "the limit of 3 things for a user is reached";
        assert_eq!(text(quota.take(peer(3, 1), 1)), user);
        assert_eq!(quota.take(peer(4, 2), 2), Ok(()));
        let all = "the limit of 5 things for all programs is reached";
        assert_eq!(text(quota.take(peer(5, 2), 1)), all);
        assert_eq!(text(quota.take(peer(5, 9), u64::MAX)), process);
    }

    #[test]
    fn released_amounts_can_be_taken_again() {
        let mut quota = quota();
        quota.take(peer(1, 1), 2).unwrap();
        quota.release(peer(1, 1), 1);
        quota.take(peer(2, 1), 2).unwrap();
        quota.release(peer(2, 1), 9);
        quota.release(peer(7, 7), 1);
        assert_eq!((quota.total, quota.users[&1]), (1, 1));
        quota.release(peer(1, 1), 1);
        assert_eq!((quota.total, quota.users.len(), quota.processes.len()), (0, 0, 0));
    }

    /// A daemon of root connects, drops its privileges and connects again: one process, two users.
    #[test]
    fn a_process_that_changes_its_user_counts_for_both() {
        let mut quota = Quota::new("things", Bound { process: 9, user: 3, total: 9 });
        quota.take(peer(1, 0), 1).unwrap();
        quota.take(peer(1, 1000), 3).unwrap();
        quota.release(peer(1, 1000), 3);
        assert_eq!((quota.users.get(&0), quota.users.get(&1000)), (Some(&1), None));
        quota.take(peer(2, 1000), 3).unwrap();
        quota.release(peer(1, 0), 1);
        quota.release(peer(2, 1000), 3);
        assert_eq!((quota.total, quota.users.len(), quota.processes.len()), (0, 0, 0));
    }

    #[test]
    fn a_lowered_bound_leaves_a_quarter_to_other_users() {
        let bound = Bound { process: 64, user: 1000, total: 1000 }.within(100);
        assert_eq!(bound, Bound { process: 64, user: 75, total: 100 });
        let one = Bound { process: 64, user: 1000, total: 1000 }.within(0);
        assert_eq!(one, Bound { process: 1, user: 1, total: 1 });
    }
}
