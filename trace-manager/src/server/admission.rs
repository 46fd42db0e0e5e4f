//! The resources that providers use, within [`Limits`].

use std::collections::{BTreeSet, VecDeque};
use std::time::Instant;

use rustix::process::{getrlimit, Resource};

use super::rate::UserRates;
use super::shares::PendingStream;
use super::unregistered::Unregistered;
use crate::buffers::{Buffers, NoMemory};
use crate::limits::{Bound, Limits};
use crate::machine::{ProviderId, SessionNumber};
use crate::memory::available_memory;
use crate::quota::Quota;
use crate::waker::Waker;

/// A provider whose buffer waits for memory that others will release.
#[derive(Debug)]
pub(super) struct PendingBuffer {
    pub(super) id: ProviderId,
    /// The sessions for which it waits.
    pub(super) sessions: Vec<SessionNumber>,
    pub(super) deadline: Instant,
    pub(super) no_memory: NoMemory,
}

/// The resources that providers use, and their limits.
#[derive(Debug)]
pub(super) struct Admission {
    pub(super) limits: Limits,
    /// File descriptors of the process that do not belong to providers.
    own_descriptors: u64,
    pub(super) unregistered: Unregistered,
    pub(super) providers: Quota,
    pub(super) messages: Quota,
    /// The packets of users in a second.
    pub(super) packets: UserRates,
    pub(super) buffers: Buffers,
    /// Providers that wait for their buffers, in order.
    pub(super) pending: VecDeque<PendingBuffer>,
    /// Providers that wait for memory to stream, in order.
    pub(super) streams: VecDeque<PendingStream>,
    /// Providers that stream, and whose rolling buffers from before may not all be checked.
    pub(super) changing: BTreeSet<ProviderId>,
}

impl Admission {
    pub(super) fn new(limits: Limits, waker: Waker) -> Self {
        Self {
            limits,
            own_descriptors: open_descriptors(),
            unregistered: Unregistered::default(),
            providers: Quota::new("connections", limits.providers),
            messages: Quota::new("bytes of messages and categories", limits.messages),
            packets: UserRates::default(),
            buffers: Buffers::new(waker),
            pending: VecDeque::new(),
            streams: VecDeque::new(),
            changing: BTreeSet::new(),
        }
    }

    /// Sets the bound for the buffers of a session whose default buffer has `size` bytes. The bound
    /// for the first session holds for those that join it, but one buffer is always allowed.
    pub(super) fn begin_session(&self, size: u64, is_first: bool) {
        match self.limits.buffers {
            Some(bound) => self.buffers.set_bound(bound),
            None if is_first => {
                self.buffers.set_bound(Bound::of_buffers(available_memory(), size));
            }
            None => self.buffers.raise_bound(size),
        }
    }

    /// Counts a packet of a program of this user. Returns false if there are too many in this
    /// second.
    pub(super) fn count_packet(&mut self, uid: u32) -> bool {
        self.packets.count(uid, Instant::now(), self.limits.packets)
    }

    /// Returns when the second of a user ends.
    pub(super) fn next_packets(&self, uid: u32) -> Instant {
        self.packets.end(uid, Instant::now())
    }

    /// Returns the number of connections for which file descriptors suffice, at least one.
    pub(super) fn connections(&self) -> u64 {
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let others = self.own_descriptors + self.limits.reserve + self.buffers.releasing();
        let free = limit.saturating_sub(others);
        (free / Limits::DESCRIPTORS).max(1)
    }
}

/// Returns the number of open file descriptors of this process.
fn open_descriptors() -> u64 {
    std::fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_bound_connections() {
        let limit = getrlimit(Resource::Nofile).current.unwrap();
        let admission = |reserve| {
            Admission::new(Limits { reserve, ..Limits::default() }, Waker::new().unwrap())
        };
        assert_eq!(admission(limit).connections(), 1, "the minimum is one");
        let (few, many) = (admission(limit - 200).connections(), admission(0).connections());
        assert!(few <= 200 / Limits::DESCRIPTORS, "{few}");
        assert!(many > few && many <= limit / Limits::DESCRIPTORS, "{many}");
        assert!(admission(0).own_descriptors >= 3);
    }

    #[test]
    fn own_and_reserved_descriptors_are_not_for_connections() {
        let limit = getrlimit(Resource::Nofile).current.unwrap();
        let reserve = limit / 2;
        let limits = Limits { reserve, ..Limits::default() };
        let admission = Admission::new(limits, Waker::new().unwrap());
        let free = limit - reserve - admission.own_descriptors;
        assert_eq!(admission.connections(), free / Limits::DESCRIPTORS);
    }
}
