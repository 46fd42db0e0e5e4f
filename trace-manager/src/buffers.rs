//! The memory of buffers, which is counted until it is free again.
//!
//! A provider can pass its buffer on to other processes, so neither its end nor that of the session
//! frees the memory. The manager does, once it has the contents. What another process writes
//! afterwards takes memory of that process.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use trace_protocol::socket::{MemoryFile, PeerCredentials};

use crate::limits::Bound;
use crate::quota::{Excess, Quota};
use crate::waker::Waker;

/// The memory of all buffers.
#[derive(Debug, Clone)]
pub(crate) struct Buffers {
    counts: Arc<Mutex<Counts>>,
    /// Wakes the loop when memory is free again.
    waker: Waker,
}

#[derive(Debug)]
struct Counts {
    quota: Quota,
    /// Buffers whose providers have left, and whose contents are still needed.
    releasing: u64,
    /// Buffers that were freed.
    freed: u64,
}

/// There is too little memory for a buffer.
#[derive(Debug)]
pub(crate) struct NoMemory {
    excess: Excess,
    /// Whether buffers are going to be freed without anything that providers do.
    pub(crate) is_temporary: bool,
    /// How many had been freed.
    pub(crate) freed: u64,
}

impl fmt::Display for NoMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.excess.fmt(f)
    }
}

/// A part of the quota.
#[derive(Debug)]
pub(crate) struct Share {
    buffers: Buffers,
    peer: PeerCredentials,
    size: u64,
    /// Whether it is one of [`Counts::leaving`].
    is_releasing: AtomicBool,
    /// Whether the memory could not be freed.
    is_lost: bool,
}

/// A provider's buffer. With the last user of its contents, its memory is freed.
#[derive(Debug)]
pub(crate) struct SharedBuffer {
    memory: MemoryFile,
    share: Share,
}

impl Buffers {
    /// Begins to count.
    pub(crate) fn new(waker: Waker) -> Self {
        let nothing = Bound { process: 0, user: 0, total: 0 };
        let quota = Quota::new("bytes of buffers", nothing);
        Self { counts: Arc::new(Mutex::new(Counts { quota, releasing: 0, freed: 0 })), waker }
    }

    /// Changes the bound. What is taken stays taken.
    pub(crate) fn set_bound(&self, bound: Bound) {
        self.lock().quota.set_bound(bound);
    }

    /// Takes the memory of a buffer.
    pub(crate) fn take(&self, peer: PeerCredentials, size: u64) -> Result<Share, NoMemory> {
        let mut counts = self.lock();
        if let Err(excess) = counts.quota.take(peer, size) {
            let Counts { releasing, freed, .. } = *counts;
            return Err(NoMemory { excess, is_temporary: releasing != 0, freed });
        }
        drop(counts);
        let (buffers, is_releasing) = (self.clone(), AtomicBool::new(false));
        Ok(Share { buffers, peer, size, is_releasing, is_lost: false })
    }

    /// Returns how many buffers have been left and are not freed.
    pub(crate) fn releasing(&self) -> u64 {
        self.lock().releasing
    }

    /// Returns how many buffers were freed.
    pub(crate) fn freed(&self) -> u64 {
        self.lock().freed
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut counts = self.buffers.lock();
        counts.releasing -= u64::from(*self.is_releasing.get_mut());
        counts.freed += 1;
        if !self.is_lost {
            counts.quota.release(self.peer, self.size);
        }
        drop(counts);
        self.buffers.waker.wake();
    }
}

impl SharedBuffer {
    /// Makes the buffer that the share is for. `name` is for `/proc/PID/maps`.
    pub(crate) fn new(share: Share, name: &str) -> io::Result<Self> {
        Ok(Self { memory: MemoryFile::new(name, share.size)?, share })
    }

    /// Writes bytes, before anybody else has the buffer.
    pub(crate) fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.memory.write_at(bytes, offset)
    }

    /// Says that the provider has left it.
    pub(crate) fn begin_release(&self) {
        if !self.share.is_releasing.swap(true, Ordering::Relaxed) {
            self.share.buffers.lock().releasing += 1;
        }
    }
}

impl Drop for SharedBuffer {
    fn drop(&mut self) {
        self.share.is_lost = self.memory.free().is_err();
    }
}

impl AsFd for SharedBuffer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.memory.as_fd()
    }
}
