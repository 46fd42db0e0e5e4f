//! Buffers that providers still have after a session, because they did not reply to Stop in time.
//!
//! Such a provider may still record. It has left its buffer when its packet socket closes, as
//! usual.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::event::epoll::{self, EventFlags};
use rustix::event::{poll, PollFd, PollFlags};

use super::source::{unwatch, Source};
use crate::buffers::SharedBuffer;
use crate::foreign::ForeignSocket;
use crate::machine::ProviderId;

/// A buffer and the packet socket of its session.
#[derive(Debug)]
pub(crate) struct RetainedBuffer {
    buffer: Arc<SharedBuffer>,
    packets: ForeignSocket,
}

impl RetainedBuffer {
    /// Retains a buffer. From now on, only the end of its packet socket is watched for, and late
    /// packets are not read.
    pub(super) fn new(
        epoll: &OwnedFd,
        id: ProviderId,
        buffer: Arc<SharedBuffer>,
        packets: ForeignSocket,
    ) -> Self {
        let (data, flags) = (Source::Retained(id).data(), EventFlags::empty());
        // That of a paused connection is not watched.
        let _ = epoll::modify(epoll, &packets, data, flags)
            .or_else(|_| epoll::add(epoll, &packets, data, flags));
        Self { buffer, packets }
    }

    /// Returns whether the provider has left the buffer.
    pub(super) fn is_left(&self) -> bool {
        // No event is requested: poll always reports the end of the peer.
        let mut fds = [PollFd::new(&self.packets, PollFlags::empty())];
        poll(&mut fds, 0).is_ok_and(|ready| ready != 0)
    }

    /// Closes the packet socket. Returns the buffer to free.
    pub(super) fn close(self, epoll: &OwnedFd) -> Arc<SharedBuffer> {
        unwatch(epoll, Some(self.packets));
        self.buffer.begin_release();
        self.buffer
    }
}
