//! The memory of buffers, which counts until it is freed.
//!
//! A provider can pass its buffer to other processes, so the memory outlives the provider and the
//! session. The manager frees it once it has the contents. Later writes of another process are
//! charged to that process.

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
    /// Wakes the loop when memory is freed.
    waker: Waker,
}

#[derive(Debug)]
struct Counts {
    quota: Quota,
    /// Buffers whose providers have left, and whose contents are still read.
    releasing: u64,
    /// The memory of shares that will be freed without any action of a provider.
    releasing_memory: Quota,
    /// Shares that were freed so far.
    freed: u64,
}

/// The quota has too little memory for a buffer.
#[derive(Debug)]
pub(crate) struct NoMemory {
    excess: Excess,
    /// Whether enough memory below the exceeded limit will be freed without any action of a
    /// provider.
    pub(crate) is_temporary: bool,
    /// Shares that had been freed at that time.
    pub(crate) freed: u64,
}

impl fmt::Display for NoMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.excess.fmt(f)
    }
}

/// A buffer's share of the quota.
#[derive(Debug)]
pub(crate) struct Share {
    buffers: Buffers,
    peer: PeerCredentials,
    size: u64,
    /// Whether it counts in [`Counts::releasing_memory`].
    is_releasing: AtomicBool,
    /// Whether the memory could not be freed.
    is_lost: bool,
}

/// A provider's buffer. Its memory is freed with the last reference.
#[derive(Debug)]
pub(crate) struct SharedBuffer {
    memory: MemoryFile,
    share: Share,
    /// Whether it counts in [`Counts::releasing`].
    is_releasing: AtomicBool,
}

impl Buffers {
    /// Creates an empty count, with a bound of 0.
    pub(crate) fn new(waker: Waker) -> Self {
        let quota = |limit| {
            let bound = Bound { process: limit, user: limit, total: limit };
            Quota::new("bytes of buffers", bound)
        };
        let (quota, releasing_memory) = (quota(0), quota(u64::MAX));
        let counts = Counts { quota, releasing: 0, releasing_memory, freed: 0 };
        Self { counts: Arc::new(Mutex::new(counts)), waker }
    }

    /// Changes the bound. Memory that is in use stays in use.
    pub(crate) fn set_bound(&self, bound: Bound) {
        self.lock().quota.set_bound(bound);
    }

    /// Raises the bound to `size` bytes at least.
    pub(crate) fn raise_bound(&self, size: u64) {
        self.lock().quota.raise_bound(size);
    }

    /// Reserves memory of this size.
    pub(crate) fn take(&self, peer: PeerCredentials, size: u64) -> Result<Share, NoMemory> {
        self.reserve(peer, size)?;
        Ok(self.share(peer, size))
    }

    /// Reserves memory of this size, and of all the others, or none.
    pub(crate) fn take_with(
        &self,
        peer: PeerCredentials,
        size: u64,
        others: &[u64],
    ) -> Result<(Share, Vec<Share>), NoMemory> {
        self.reserve(peer, others.iter().fold(size, |sum, other| sum.saturating_add(*other)))?;
        let others = others.iter().map(|other| self.share(peer, *other)).collect();
        Ok((self.share(peer, size), others))
    }

    /// Reserves memory of these sizes, or none.
    pub(crate) fn take_all(
        &self,
        peer: PeerCredentials,
        sizes: &[u64],
    ) -> Result<Vec<Share>, NoMemory> {
        self.reserve(peer, sizes.iter().copied().fold(0, u64::saturating_add))?;
        Ok(sizes.iter().map(|size| self.share(peer, *size)).collect())
    }

    /// Returns an error if there is no memory of this size.
    pub(crate) fn check(&self, peer: PeerCredentials, size: u64) -> Result<(), NoMemory> {
        let counts = self.lock();
        counts.quota.check(peer, size).map_err(|excess| counts.no_memory(peer, excess))
    }

    fn reserve(&self, peer: PeerCredentials, size: u64) -> Result<(), NoMemory> {
        let mut counts = self.lock();
        counts.quota.take(peer, size).map_err(|excess| counts.no_memory(peer, excess))
    }

    fn share(&self, peer: PeerCredentials, size: u64) -> Share {
        let (buffers, is_releasing) = (self.clone(), AtomicBool::new(false));
        Share { buffers, peer, size, is_releasing, is_lost: false }
    }

    /// Returns the memory that is reserved.
    #[cfg(test)]
    pub(crate) fn taken(&self) -> u64 {
        self.lock().quota.total()
    }

    /// Returns the number of buffers whose providers have left, and that are not freed.
    pub(crate) fn releasing(&self) -> u64 {
        self.lock().releasing
    }

    /// Returns the number of shares that were freed so far.
    pub(crate) fn freed(&self) -> u64 {
        self.lock().freed
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    fn no_memory(&self, peer: PeerCredentials, excess: Excess) -> NoMemory {
        let releasing = self.releasing_memory.used(excess.owner, peer);
        NoMemory { excess, is_temporary: releasing >= excess.missing, freed: self.freed }
    }
}

impl Share {
    /// Notes that the memory will be freed without any action of a provider.
    pub(crate) fn begin_release(&self) {
        if !self.is_releasing.swap(true, Ordering::Relaxed) {
            // There is no limit.
            let _ = self.buffers.lock().releasing_memory.take(self.peer, self.size);
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut counts = self.buffers.lock();
        if *self.is_releasing.get_mut() {
            counts.releasing_memory.release(self.peer, self.size);
        }
        counts.freed += 1;
        if !self.is_lost {
            counts.quota.release(self.peer, self.size);
        }
        drop(counts);
        self.buffers.waker.wake();
    }
}

impl SharedBuffer {
    /// Creates the buffer of a share. `name` is shown in `/proc/PID/maps`.
    pub(crate) fn new(share: Share, name: &str) -> io::Result<Self> {
        let memory = MemoryFile::new(name, share.size)?;
        Ok(Self { memory, share, is_releasing: AtomicBool::new(false) })
    }

    /// Writes bytes, before the provider gets the buffer.
    pub(crate) fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.memory.write_at(bytes, offset)
    }

    /// Notes that the provider has left the buffer.
    pub(crate) fn begin_release(&self) {
        if !self.is_releasing.swap(true, Ordering::Relaxed) {
            self.share.buffers.lock().releasing += 1;
        }
        self.share.begin_release();
    }
}

impl Drop for SharedBuffer {
    fn drop(&mut self) {
        if *self.is_releasing.get_mut() {
            self.share.buffers.lock().releasing -= 1;
        }
        self.share.is_lost = self.memory.free().is_err();
    }
}

impl AsFd for SharedBuffer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.memory.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: PeerCredentials = PeerCredentials { pid: 1, uid: 1, gid: 1 };

    fn buffers(size: u64) -> Buffers {
        let buffers = Buffers::new(Waker::new().unwrap());
        assert!(buffers.take(PEER, 1).is_err(), "the first bound is 0");
        buffers.set_bound(Bound { process: size, user: size, total: size });
        buffers
    }

    fn buffer(buffers: &Buffers, size: u64) -> SharedBuffer {
        SharedBuffer::new(buffers.take(PEER, size).unwrap(), "test").unwrap()
    }

    #[test]
    fn a_freed_buffer_can_be_taken_again() {
        let buffers = buffers(8192);
        let first = buffer(&buffers, 4096);
        let refused = buffers.take(PEER, 4097).unwrap_err();
        assert_eq!((refused.is_temporary, refused.freed), (false, 0));
        assert_eq!(
            refused.to_string(),
            "the limit of 8192 bytes of buffers for a process is reached"
        );
        let second = buffer(&buffers, 4096);
        assert_eq!(buffers.freed(), 0);
        drop(first);
        assert_eq!(buffers.freed(), 1);
        drop(second);
        assert_eq!(buffers.freed(), 2);
        assert!(buffers.take(PEER, 8192).is_ok());
    }

    #[test]
    fn a_refusal_is_temporary_while_a_departed_provider_is_read() {
        let buffers = buffers(8192);
        let (first, second) = (buffer(&buffers, 4096), buffer(&buffers, 4096));
        first.begin_release();
        first.begin_release();
        assert_eq!(buffers.releasing(), 1, "each buffer counts once");
        second.begin_release();
        assert_eq!(buffers.releasing(), 2);
        drop(first);
        assert_eq!(buffers.releasing(), 1);
        assert!(buffers.take(PEER, 8192).unwrap_err().is_temporary);
        drop(second);
        assert_eq!(buffers.releasing(), 0);
    }

    /// It has no file.
    #[test]
    fn retained_records_that_are_released_are_no_buffers() {
        let buffers = buffers(8192);
        let retained = buffers.take(PEER, 8192).unwrap();
        retained.begin_release();
        assert_eq!(buffers.releasing(), 0);
        assert!(buffers.take(PEER, 8192).unwrap_err().is_temporary);
        drop(retained);
        assert!(!buffers.take(PEER, 8193).unwrap_err().is_temporary);
    }

    /// It would not help.
    #[test]
    fn a_refusal_is_final_while_another_user_releases_memory() {
        let buffers = Buffers::new(Waker::new().unwrap());
        buffers.set_bound(Bound { process: 4096, user: 4096, total: 10_000 });
        let other = PeerCredentials { pid: 2, uid: 2, gid: 2 };
        let of_other = buffers.take(other, 4096).unwrap();
        of_other.begin_release();
        let own = buffers.take(PEER, 4096).unwrap();
        assert!(!buffers.take(PEER, 4096).unwrap_err().is_temporary);
        own.begin_release();
        assert!(buffers.take(PEER, 4096).unwrap_err().is_temporary);
        assert!(!buffers.take(PEER, 8192).unwrap_err().is_temporary, "it is too little");
        let third = PeerCredentials { pid: 3, uid: 3, gid: 3 };
        assert!(buffers.take(third, 4096).unwrap_err().is_temporary, "of all programs");
    }

    #[test]
    fn the_memory_is_freed_while_another_process_has_it() {
        use std::os::unix::fs::MetadataExt;
        let buffers = buffers(8192);
        let buffer = buffer(&buffers, 8192);
        buffer.write_at(&[1; 8192], 0).unwrap();
        let other = std::fs::File::from(buffer.as_fd().try_clone_to_owned().unwrap());
        assert_ne!(other.metadata().unwrap().blocks(), 0);
        drop(buffer);
        assert_eq!(other.metadata().unwrap().blocks(), 0);
    }
}
