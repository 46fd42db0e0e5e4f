//! The descriptors that controllers pass.
//!
//! Closing one may wait: for a file system in user space that does not answer (FUSE), or for a peer
//! that does not read (`SO_LINGER`). The control thread hands them to another thread, one a user.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The most descriptors of a user that wait to be closed. Beyond, connections of the user end.
const MAX_WAITING: usize = 64;

/// A descriptor of a controller, which another thread closes.
#[derive(Debug)]
pub(super) struct ForeignDescriptor {
    /// `None` only while it is dropped.
    descriptor: Option<OwnedFd>,
    closer: Closer,
}

/// Closes the descriptors of a user on a thread, which runs while there are any.
#[derive(Debug, Clone, Default)]
pub(super) struct Closer(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    descriptors: Vec<OwnedFd>,
    has_thread: bool,
}

impl ForeignDescriptor {
    pub(super) fn new(descriptor: OwnedFd, closer: &Closer) -> Self {
        Self { descriptor: Some(descriptor), closer: closer.clone() }
    }

    /// Returns the descriptor, for a thread that may wait.
    pub(super) fn into_owned(mut self) -> io::Result<OwnedFd> {
        self.descriptor.take().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Drop for ForeignDescriptor {
    fn drop(&mut self) {
        if let Some(descriptor) = self.descriptor.take() {
            self.closer.close(descriptor);
        }
    }
}

impl Closer {
    /// Closes a descriptor, soon. If there can be no thread, the next call tries again.
    pub(super) fn close(&self, descriptor: OwnedFd) {
        let mut waiting = self.waiting();
        waiting.descriptors.push(descriptor);
        self.start(&mut waiting);
    }

    /// Starts the thread if it does not run, and is needed.
    fn start(&self, waiting: &mut Waiting) {
        if !waiting.has_thread && !waiting.descriptors.is_empty() {
            let own = self.clone();
            let thread = thread::Builder::new().name("trace-close".to_owned());
            waiting.has_thread = thread.spawn(move || own.close_all()).is_ok();
        }
    }

    /// Returns whether so many descriptors wait that no further ones may be taken.
    pub(super) fn is_full(&self) -> bool {
        let mut waiting = self.waiting();
        self.start(&mut waiting);
        waiting.descriptors.len() >= MAX_WAITING
    }

    /// Returns whether there is another handle or a thread, or descriptors wait.
    pub(super) fn is_used(&self) -> bool {
        Arc::strong_count(&self.0) > 1 || !self.waiting().descriptors.is_empty()
    }

    fn close_all(&self) {
        while let Some(descriptor) = self.next() {
            drop(descriptor);
        }
    }

    fn next(&self) -> Option<OwnedFd> {
        let mut waiting = self.waiting();
        let next = waiting.descriptors.pop();
        waiting.has_thread = next.is_some();
        next
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_descriptor_is_closed_by_a_thread() {
        let closer = Closer::default();
        for _ in 0..2 {
            let (ours, theirs) = UnixStream::pair().unwrap();
            drop(ForeignDescriptor::new(theirs.into(), &closer));
            assert_eq!((&ours).read(&mut [0]).unwrap(), 0, "the other end is closed");
        }
    }

    #[test]
    fn a_descriptor_that_is_taken_stays_open() {
        let closer = Closer::default();
        let (ours, theirs) = UnixStream::pair().unwrap();
        let taken = ForeignDescriptor::new(theirs.into(), &closer).into_owned();
        ours.set_nonblocking(true).unwrap();
        let read = (&ours).read(&mut [0]);
        assert_eq!(read.unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
        drop(taken);
    }
}
