//! Buffers that providers have kept after a session, since they did not answer in time.
//!
//! Such a provider may still record. It has left its buffer when its packet socket closes, as a
//! provider that answers does.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread;

use rustix::event::epoll::{self, EventFlags};
use rustix::event::{poll, PollFd, PollFlags};
use trace_protocol::socket::Socket;

use super::perform::unwatch;
use super::state::{EventLoop, Source};
use crate::buffers::SharedBuffer;
use crate::machine::ProviderId;

/// A buffer and the packet socket of its session.
#[derive(Debug)]
pub(crate) struct KeptBuffer {
    buffer: Arc<SharedBuffer>,
    packets: Socket,
}

impl KeptBuffer {
    /// Keeps a buffer. From now on only the end of its packet socket is watched for: packets that
    /// arrive late are not read.
    pub(super) fn new(
        epoll: &OwnedFd,
        id: ProviderId,
        buffer: Arc<SharedBuffer>,
        packets: Socket,
    ) -> Self {
        // Fails only for a socket that is not watched, and this one is.
        let _ = epoll::modify(epoll, &packets, Source::Kept(id).data(), EventFlags::empty());
        Self { buffer, packets }
    }

    fn is_left(&self) -> bool {
        // No event is asked for: the end of the peer is always reported.
        let mut fds = [PollFd::new(&self.packets, PollFlags::empty())];
        poll(&mut fds, 0).is_ok_and(|ready| ready != 0)
    }
}

impl EventLoop {
    /// Frees the buffers that a provider has left since.
    pub(super) fn free_left(&mut self, id: ProviderId) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let kept = std::mem::take(&mut connection.kept);
        let (left, kept) = kept.into_iter().partition(KeptBuffer::is_left);
        connection.kept = kept;
        self.free(left);
    }

    /// Frees buffers that a provider kept. That takes a while, which the others do not wait for.
    pub(super) fn free(&self, kept: Vec<KeptBuffer>) {
        let leave = |KeptBuffer { buffer, packets }: KeptBuffer| {
            unwatch(&self.epoll, Some(packets));
            buffer.leave();
            buffer
        };
        let buffers: Vec<_> = kept.into_iter().map(leave).collect();
        if !buffers.is_empty() {
            // Without a thread it is done here.
            let _freed =
                thread::Builder::new().name("trace-free".to_owned()).spawn(|| drop(buffers));
        }
    }
}
