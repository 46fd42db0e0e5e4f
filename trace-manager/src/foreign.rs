//! The descriptors that programs and controllers pass, and the sockets on which these arrive.
//!
//! Closing one may wait: for a file system in user space that does not answer (FUSE), or for a peer
//! that does not read (`SO_LINGER`). The kernel closes those that a receiver does not take, and
//! those of unread messages, in the thread that receives or closes the socket. So the threads that
//! must not wait take all descriptors, and hand them, and sockets with unread messages, to another
//! thread, one a user.

use std::io;
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::io::ioctl_fionread;
use rustix::net::sockopt::set_socket_oobinline;
use rustix::net::{shutdown, Shutdown};
use trace_protocol::socket::Socket;

/// The most descriptors of a user that wait to be closed. Beyond, connections of the user end, or
/// are refused.
const MAX_WAITING: usize = 64;

/// The most sockets of connections of a user that wait to be closed. Beyond, new connections are
/// refused. Many programs may end at once, whose sockets wait for a moment only.
const MAX_SOCKETS: usize = 256;

/// The time until a thread that could not be started is tried again.
const RETRY: Duration = Duration::from_millis(100);

/// A descriptor of a controller, which another thread closes.
#[derive(Debug)]
pub(crate) struct ForeignDescriptor {
    /// `None` only while it is dropped.
    descriptor: Option<OwnedFd>,
    closer: Closer,
}

/// Closes the descriptors of a user on a thread, which runs while there are any.
#[derive(Debug, Clone, Default)]
pub(crate) struct Closer(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    /// Those that programs or controllers passed.
    descriptors: Vec<OwnedFd>,
    /// Our ends of connections, in which others may be.
    sockets: Vec<OwnedFd>,
    has_thread: bool,
}

impl ForeignDescriptor {
    pub(crate) fn new(descriptor: OwnedFd, closer: &Closer) -> Self {
        Self { descriptor: Some(descriptor), closer: closer.clone() }
    }

    /// Returns one without a descriptor, for tests.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn none() -> Self {
        Self { descriptor: None, closer: Closer::default() }
    }

    /// Returns the descriptor, for a thread that may wait.
    pub(crate) fn into_owned(mut self) -> io::Result<OwnedFd> {
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

/// A socket whose other end is a program or a controller. Neither reading nor dropping it waits.
#[derive(Debug)]
pub(crate) struct ForeignSocket {
    /// `None` only while it is dropped.
    socket: Option<Socket>,
    closer: Closer,
    is_stream: bool,
}

impl ForeignSocket {
    /// Wraps a stream socket from which nothing is received yet.
    ///
    /// Urgent bytes (`MSG_OOB`, Linux 5.15) arrive in order from now on: the kernel would discard
    /// them otherwise, with their descriptors, in a thread that receives the bytes behind them.
    pub(crate) fn stream(socket: Socket, closer: Closer) -> io::Result<Self> {
        set_socket_oobinline(&socket, true)?;
        Ok(Self { socket: Some(socket), closer, is_stream: true })
    }

    /// Wraps a packet socket.
    pub(crate) fn packets(socket: Socket, closer: Closer) -> Self {
        Self { socket: Some(socket), closer, is_stream: false }
    }

    /// Receives into `buffer`. Returns the number of bytes, and whether there were descriptors,
    /// which are closed.
    pub(crate) fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, bool)> {
        let mut descriptors = Vec::new();
        let read = self.recv_with_all_fds(buffer, &mut descriptors);
        let has_descriptors = !descriptors.is_empty();
        descriptors.into_iter().for_each(|descriptor| self.closer.close(descriptor));
        read.map(|(read, are_missing)| (read, has_descriptors || are_missing))
    }

    /// Closes it, or has it closed: in a packet socket, descriptors can arrive in empty packets,
    /// and until it is closed. A stream has none if no byte waits, and its other end cannot send.
    fn close(&self, socket: Socket) {
        if self.is_stream {
            // It fails if the other end has closed it. Nothing arrives afterwards.
            let _ = shutdown(&socket, Shutdown::ReadWrite);
            if ioctl_fionread(&socket) == Ok(0) {
                return;
            }
        }
        self.closer.close_socket(socket);
    }
}

impl Deref for ForeignSocket {
    type Target = Socket;

    fn deref(&self) -> &Socket {
        self.socket.as_ref().expect("it is taken in drop only")
    }
}

impl AsFd for ForeignSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        Socket::as_fd(self)
    }
}

impl Drop for ForeignSocket {
    fn drop(&mut self) {
        if let Some(socket) = self.socket.take() {
            self.close(socket);
        }
    }
}

impl Closer {
    /// Returns one for which as many descriptors wait as may.
    #[cfg(test)]
    pub(crate) fn full() -> Self {
        let null = || std::fs::File::open("/dev/null").unwrap().into();
        let descriptors = (0..MAX_WAITING).map(|_| null()).collect();
        Self(Arc::new(Mutex::new(Waiting { descriptors, has_thread: true, ..Waiting::default() })))
    }

    /// Closes a descriptor, soon. If there can be no thread, the next call tries again, and so does
    /// [`retry`].
    pub(crate) fn close(&self, descriptor: OwnedFd) {
        let mut waiting = self.waiting();
        waiting.descriptors.push(descriptor);
        self.start(&mut waiting);
    }

    /// Closes a socket as [`close`](Self::close) does.
    fn close_socket(&self, socket: Socket) {
        let mut waiting = self.waiting();
        waiting.sockets.push(socket.into());
        self.start(&mut waiting);
    }

    /// Starts the thread if it does not run, and is needed.
    fn start(&self, waiting: &mut Waiting) {
        if !waiting.has_thread && !waiting.is_empty() {
            let own = self.clone();
            let thread = thread::Builder::new().name("trace-close".to_owned());
            waiting.has_thread = thread.spawn(move || own.close_all()).is_ok();
        }
    }

    /// Starts the thread if it is needed and there could be none. Returns whether there is none
    /// yet.
    fn lacks_thread(&self) -> bool {
        let mut waiting = self.waiting();
        self.start(&mut waiting);
        !waiting.has_thread && !waiting.is_empty()
    }

    /// Returns whether so many descriptors wait that no further ones may be taken.
    pub(crate) fn is_full(&self) -> bool {
        let mut waiting = self.waiting();
        self.start(&mut waiting);
        waiting.descriptors.len() >= MAX_WAITING
    }

    /// Returns whether there may be further connections of the user.
    pub(crate) fn accepts(&self) -> bool {
        !self.is_full() && self.waiting().sockets.len() < MAX_SOCKETS
    }

    /// Returns whether there is another handle or a thread, or descriptors wait.
    pub(crate) fn is_used(&self) -> bool {
        Arc::strong_count(&self.0) > 1 || !self.waiting().is_empty()
    }

    fn close_all(&self) {
        while let Some(descriptor) = self.next() {
            drop(descriptor);
        }
    }

    fn next(&self) -> Option<OwnedFd> {
        let mut waiting = self.waiting();
        let next = waiting.descriptors.pop().or_else(|| waiting.sockets.pop());
        waiting.has_thread = next.is_some();
        next
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts the threads that are needed and could not be started. Returns the time after which to
/// call it again, if one is still missing.
pub(crate) fn retry<'a>(closers: impl Iterator<Item = &'a Closer>) -> Option<Duration> {
    let lacking = closers.filter(|closer| closer.lacks_thread()).count();
    (lacking > 0).then_some(RETRY)
}

impl Waiting {
    fn is_empty(&self) -> bool {
        self.descriptors.is_empty() && self.sockets.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{IoSlice, Read, Write};
    use std::os::unix::net::UnixStream;

    use rustix::io::Errno;
    use rustix::net::{sendmsg, SendAncillaryBuffer, SendAncillaryMessage, SendFlags};

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

    /// Returns whether the other end of a socket is closed. Waits for that.
    fn is_closed(mut other: UnixStream) -> bool {
        other.read(&mut [0]).unwrap() == 0
    }

    #[test]
    fn descriptors_of_messages_are_closed_and_reported() {
        let (ours, theirs) = Socket::packet_pair().unwrap();
        let ours = ForeignSocket::packets(ours, Closer::default());
        for (bytes, number) in [(&b"x"[..], 1), (&[], 2), (b"xy", 0)] {
            let (one, other) = UnixStream::pair().unwrap();
            theirs.send(bytes, &vec![one.as_fd(); number]).unwrap();
            drop(one);
            assert_eq!(ours.receive(&mut [0; 8]).unwrap(), (bytes.len(), number != 0));
            assert!(is_closed(other));
        }
    }

    /// Also those in empty packets, of which there may be any number.
    #[test]
    fn descriptors_of_unread_messages_are_closed() {
        for bytes in [&b"x"[..], &[]] {
            let (ours, theirs) = Socket::packet_pair().unwrap();
            let ours = ForeignSocket::packets(ours, Closer::default());
            let (one, other) = UnixStream::pair().unwrap();
            theirs.send(&[], &[]).unwrap();
            theirs.send(bytes, &[one.as_fd()]).unwrap();
            drop((one, ours));
            assert!(is_closed(other));
        }
        let (ours, theirs) = UnixStream::pair().unwrap();
        let ours = ForeignSocket::stream(OwnedFd::from(ours).into(), Closer::default()).unwrap();
        let (one, other) = UnixStream::pair().unwrap();
        Socket::from(OwnedFd::from(theirs)).send(b"x", &[one.as_fd()]).unwrap();
        drop((one, ours));
        assert!(is_closed(other));
    }

    /// The kernel neither discards urgent bytes nor closes their descriptors.
    #[test]
    fn descriptors_of_urgent_bytes_are_received() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let ours = ForeignSocket::stream(OwnedFd::from(ours).into(), Closer::default()).unwrap();
        let (one, other) = UnixStream::pair().unwrap();
        let mut space = [0; rustix::cmsg_space!(ScmRights(1))];
        let mut descriptors = SendAncillaryBuffer::new(&mut space);
        let fds = [one.as_fd()];
        assert!(descriptors.push(SendAncillaryMessage::ScmRights(&fds)));
        let bytes = [IoSlice::new(b"x")];
        match sendmsg(&theirs, &bytes, &mut descriptors, SendFlags::OOB) {
            Err(Errno::OPNOTSUPP) => return eprintln!("skipped: the kernel has no urgent bytes"),
            sent => assert_eq!(sent, Ok(1)),
        }
        (&theirs).write_all(b"yz").unwrap();
        drop(one);
        let mut received = Vec::new();
        while received.iter().map(|(read, _)| read).sum::<usize>() < 3 {
            received.push(ours.receive(&mut [0; 8]).unwrap());
        }
        assert!(received[0].1, "{received:?}");
        assert!(is_closed(other));
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

    /// Many programs may end at once.
    #[test]
    fn sockets_of_connections_do_not_count_as_descriptors() {
        let closer = Closer::full();
        closer.waiting().descriptors.clear();
        for number in 0..MAX_SOCKETS {
            assert!(closer.accepts() && !closer.is_full(), "{number}");
            let (ours, _) = Socket::packet_pair().unwrap();
            drop(ForeignSocket::packets(ours, closer.clone()));
        }
        assert!(!closer.accepts() && !closer.is_full());
    }
}
