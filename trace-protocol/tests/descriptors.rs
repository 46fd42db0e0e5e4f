//! File descriptors that arrive incomplete. Alone in its process, whose descriptors it counts and
//! limits.

use std::fs::File;
use std::io::IoSlice;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::net::{send, sendmsg, SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
use trace_protocol::socket::{Socket, MAX_FDS};

/// More than a receiver has room for.
const MANY: usize = MAX_FDS + 3;

fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Sends bytes with any number of descriptors.
fn send_with(socket: &impl AsFd, bytes: &[u8], fds: &[BorrowedFd<'_>]) {
    let mut space = [0; rustix::cmsg_space!(ScmRights(MANY))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(fds)));
    let sent = sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::empty());
    assert_eq!(sent, Ok(bytes.len()));
}

/// Receives bytes, and returns the descriptors that came along.
fn receive(socket: &Socket, expected: &[u8]) -> Vec<OwnedFd> {
    let (mut bytes, mut fds) = ([0; 8], Vec::new());
    let length = socket.recv_with_fds(&mut bytes, &mut fds).unwrap();
    assert_eq!(&bytes[..length], expected);
    fds
}

fn limit(descriptors: u64) {
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: Some(descriptors), maximum }).unwrap();
}

/// The limit at which so many descriptors can still be opened.
fn limit_that_leaves(number: usize) -> u64 {
    let open = || File::open("/dev/null").unwrap();
    let next: Vec<File> = (0..=number).map(|_| open()).collect();
    next[number].as_raw_fd() as u64
}

/// The bytes of the message are kept, and no descriptor of it stays open.
#[test]
fn descriptors_arrive_all_or_none() {
    let (ours, theirs) = Socket::packet_pair().unwrap();
    let before = open_descriptors();

    send_with(&theirs, b"many", &[ours.as_fd(); MANY]);
    assert_eq!(receive(&ours, b"many").len(), 0, "more than there is room for");
    assert_eq!(open_descriptors(), before);

    let usual = getrlimit(Resource::Nofile).current.unwrap();
    for free in 0..MAX_FDS {
        limit(limit_that_leaves(free));
        send_with(&theirs, b"some", &[ours.as_fd(); MAX_FDS]);
        assert_eq!(receive(&ours, b"some").len(), 0, "{free} of {MAX_FDS} are possible");
        limit(usual);
        assert_eq!(open_descriptors(), before);
    }

    limit(limit_that_leaves(2));
    send_with(&theirs, b"few", &[ours.as_fd(); MAX_FDS]);
    let mut fds = Vec::new();
    let received = ours.recv_with_all_fds(&mut [0; 8], &mut fds).unwrap();
    limit(usual);
    assert_eq!((received, fds.len()), ((3, true), 2), "the receiver closes those that arrive");
    drop(fds);

    send_with(&theirs, b"all", &[ours.as_fd(); MAX_FDS]);
    assert_eq!(receive(&ours, b"all").len(), MAX_FDS);
    send(&theirs, b"none", SendFlags::empty()).unwrap();
    assert_eq!(receive(&ours, b"none").len(), 0);
}
