//! The resources of users, and their limits.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::machine::Time;

/// The resources that the controllers of one user may use. The refusal of a request names the
/// limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlLimits {
    /// Connections of a user; default 64.
    pub clients: usize,
    /// Sessions of a user that have not stopped; default 16.
    pub sessions: usize,
    /// Sessions of a user that have stopped, and whose results nobody has taken; default 16. The
    /// one that ended first is forgotten.
    pub results: usize,
    /// The sum of the buffer sizes of a user's sessions, in bytes; default 1 GiB. Each provider of
    /// a session has a buffer, which [`Limits::buffers`](crate::Limits::buffers) bounds.
    pub buffers: u64,
    /// Bytes of memory that the sessions and streams of a user may take beside their programs'
    /// records; default 6 GiB. Counted are the buffer size of each session, twice if it is
    /// [`shared`](crate::SessionConfig::shared); the records that wait for its output,
    /// [`unwritten`](Self::unwritten) for a descriptor and 256 MiB for a file in a directory; and
    /// 16 MiB for each live stream.
    pub memory: u64,
    /// Requests of a user in a second; default 1000.
    pub requests: u32,
    /// Snapshots on request of a user in a minute; default 60.
    pub snapshots: u32,
    /// Changes of the categories of a user's sessions, starts of stopped ones, and starts of live
    /// streams, in a minute; default 60.
    pub category_changes: u32,
    /// First starts of a user's sessions in a minute; default 1200.
    pub starts: u32,
    /// Flushes of a user's sessions in a second; default 100.
    pub flushes: u32,
    /// Snapshots on request of a user at a time; default 4.
    pub running_snapshots: usize,
    /// Live streams of a user at a time; default 32.
    pub streams: usize,
    /// Bytes of a file in the scratch folder for another user than the daemon's: an archive whose
    /// transfer is deferred, or a snapshot; default 1 GiB.
    pub scratch: u64,
    /// Bytes of a session's archive that wait for an output that is not read; default 64 MiB.
    /// Beyond, the archive fails.
    pub unwritten: usize,
    /// The time without progress after which the copy of a snapshot or an archive to its output
    /// fails; default 60 s.
    pub patience: Duration,
    /// Bytes of replies and events that a controller has not read; default 8 MiB. Beyond, it is
    /// disconnected.
    pub unread: usize,
    /// Bytes of replies and events that all controllers of a user have not read; default 64 MiB.
    /// Beyond, the one with the last of them is disconnected.
    pub unread_of_user: usize,
}

impl Default for ControlLimits {
    fn default() -> Self {
        Self {
            clients: 64,
            sessions: 16,
            results: 16,
            buffers: 1 << 30,
            memory: 6 << 30,
            requests: 1000,
            snapshots: 60,
            category_changes: 60,
            starts: 1200,
            flushes: 100,
            running_snapshots: 4,
            streams: 32,
            scratch: 1 << 30,
            unwritten: 64 << 20,
            patience: Duration::from_secs(60),
            unread: 8 << 20,
            unread_of_user: 64 << 20,
        }
    }
}

/// The numbers of events of each user in the current interval.
#[derive(Debug)]
pub(super) struct Rates {
    interval: Duration,
    limit: u32,
    /// The start of a user's interval, and the number of events in it.
    users: BTreeMap<u32, (Time, u32)>,
}

impl Rates {
    pub(super) fn new(limit: u32, interval: Duration) -> Self {
        Self { interval, limit, users: BTreeMap::new() }
    }

    /// Counts an event. Returns whether it is within the limit.
    pub(super) fn take(&mut self, uid: u32, now: Time) -> bool {
        let (interval, limit) = (self.interval, self.limit);
        // Users whose interval is over need no entry.
        self.users.retain(|_, (start, _)| now.saturating_sub(*start) < interval);
        let (_, count) = self.users.entry(uid).or_insert((now, 0));
        *count = count.saturating_add(1);
        *count <= limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_user_has_a_rate() {
        let mut rates = Rates::new(2, Duration::from_secs(1));
        let at = |millis| Duration::from_millis(millis);
        assert!(rates.take(1, at(0)) && rates.take(1, at(0)) && !rates.take(1, at(999)));
        assert!(rates.take(2, at(999)));
        assert!(rates.take(1, at(1000)), "the next interval");
        assert_eq!(rates.users.len(), 2);
        assert!(rates.take(3, at(5000)));
        assert_eq!(rates.users.len(), 1, "earlier users need no memory");
    }
}
