//! What providers take, against [`Limits`].

use std::collections::VecDeque;
use std::path::Path;
use std::time::Instant;

use rustix::process::{getrlimit, Resource};
use trace_protocol::socket::PeerCredentials;

use crate::limits::{Bound, Limits};
use crate::machine::ProviderId;
use crate::memory::available_memory;
use crate::quota::{Excess, Quota};

/// What providers take, and may take.
#[derive(Debug)]
pub(super) struct Admission {
    pub(super) limits: Limits,
    /// File descriptors of the process that are none of providers.
    own_descriptors: u64,
    /// Connections that have not registered, the oldest first, with the ends of their time. Those
    /// that have registered since, or are gone, are in it too.
    pub(super) unregistered: VecDeque<(Instant, ProviderId)>,
    pub(super) providers: Quota,
    pub(super) messages: Quota,
    buffers: Quota,
}

impl Admission {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            own_descriptors: open_descriptors(),
            unregistered: VecDeque::new(),
            providers: Quota::new("connections", limits.providers),
            messages: Quota::new("bytes of messages and categories", limits.messages),
            buffers: Quota::new("bytes of buffers", limits.providers),
        }
    }

    /// Begins to count the buffers of a session whose usual buffer has `size` bytes.
    pub(super) fn begin_session(&mut self, size: u64) {
        let usual = || Bound::of_buffers(available_memory(), size);
        self.buffers = Quota::new("bytes of buffers", self.limits.buffers.unwrap_or_else(usual));
    }

    /// How many connections there are file descriptors for; one at least.
    pub(super) fn connections(&self) -> u64 {
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let free = limit.saturating_sub(self.own_descriptors + self.limits.reserve);
        (free / Limits::DESCRIPTORS).max(1)
    }

    /// Takes the buffer of a provider. What ended processes had is free again.
    pub(super) fn buffer(&mut self, peer: PeerCredentials, size: u64) -> Result<(), Excess> {
        self.buffers.take(peer, size).or_else(|_| {
            self.buffers.sweep(|pid| Path::new(&format!("/proc/{pid}")).exists());
            self.buffers.take(peer, size)
        })
    }
}

/// How many file descriptors this process has open.
fn open_descriptors() -> u64 {
    std::fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64)
}
