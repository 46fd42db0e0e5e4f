//! Providers that leave while copies of their rolling buffers are not checked yet.

use super::*;

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;

use crate::archive::ArchiveSink;
use crate::collection::Departure;
use crate::fixture::provider;
use crate::foreign::Closer;
use crate::guard::state::GuardedProvider;
use crate::ledger::messages::{Message, MAX_MESSAGE};
use crate::machine::{End, SaveRequest, Violation};
use crate::records::{Records, Spares};
use crate::sink::{Ending, Opening, Sink};

const COPIES: u32 = 3;

/// Lets a provider leave after several copies. Returns whether each slot is free when the archive
/// is written.
fn free_slots_after(end: End) -> Vec<bool> {
    let directory = tempfile::tempdir().unwrap();
    let output =
        ArchiveOutput::open(ArchiveTarget::File(directory.path().join("out.fxt"))).unwrap();
    let (guard, _theirs) = Guard::pair().unwrap();
    let handle = GuardHandle::begin(guard, &output, &[]).unwrap();
    let (layout, spares) = (layout(BufferingMode::Streaming), Spares::default());
    let discarded = Arc::new(AtomicBool::new(false));
    let sink = ArchiveSink::begin(output, Some(handle.clone()), None, discarded, spares.clone());
    let mut sink = Box::new(sink.unwrap());
    let (mut provider, buffer) = provider(layout);
    let (packets, _provider) = Socket::packet_pair().unwrap();
    let (identity, policy) = (identity(), IdentityPolicy::Own(4711));
    let (identity, packets) = (&identity, packets.as_fd());
    let joined = JoinedProvider {
        identity,
        policy,
        joined_at: 5,
        dropped_before: None,
        overwritten_reports: 0,
        streams_from: None,
        reported_before: 0,
        layout,
        buffer: &buffer,
        packets,
    };
    sink.open(&Opening { joined, now: ClockSample::now(), counter_rate: 1 });
    let copy = |wrapped_count| {
        let slot = sink.allocate_slot(identity.id, &layout, 1).unwrap();
        provider.copy(SaveRequest { wrapped_count, durable_data_end: 0 }, vec![(1, slot.clone())]);
        slot
    };
    let slots: Vec<SaveSlot> = (0..COPIES).map(copy).collect();
    let elapsed = BTreeMap::new();
    let departure = Departure { end, answered_start: true, answered_stop: false, elapsed };
    let last = provider.finish(1, &departure, &spares);
    let slots_of_records = last.slots.into_iter().map(|(_, slot)| slot).collect();
    sink.take(&Records {
        provider: last.id,
        words: spares.share(last.words),
        slots: slots_of_records,
        reported: last.reported,
        is_copy: true,
        is_last: true,
    });
    sink.finish(Ending { counter_rate: 1, is_discarded: false }).wait().unwrap();
    slots.iter().map(|slot| slot.is_free(handle.archived_bytes())).collect()
}

#[test]
fn slots_of_a_departed_provider_are_free_once_its_records_are_written() {
    let another_version = End::CutOff(Violation::PacketVersion(9));
    for end in [End::Terminated, End::TimedOut, End::Disconnected, another_version] {
        let free = free_slots_after(end.clone());
        assert_eq!(free, [true; COPIES as usize], "{end:?}");
    }
}

/// The guard replaces the estimated rate in an archive that it completes.
#[test]
fn the_guard_finds_the_rate_of_an_open_provider() {
    let directory = tempfile::tempdir().unwrap();
    let target = ArchiveTarget::File(directory.path().join("out.fxt"));
    let output = ArchiveOutput::open(target).unwrap();
    let archive = File::from(output.as_fd().try_clone_to_owned().unwrap());
    let (guard, theirs) = Guard::pair().unwrap();
    let handle = GuardHandle::begin(guard, &output, &[]).unwrap();
    let sink = ArchiveSink::begin(output, Some(handle), None, Arc::default(), Spares::default());
    let mut sink = Box::new(sink.unwrap());
    let layout = layout(BufferingMode::Streaming);
    let (buffer, identity) = (buffer(&layout), identity());
    let (packets, _provider) = Socket::packet_pair().unwrap();
    let (policy, packets) = (IdentityPolicy::Own(4711), packets.as_fd());
    let joined = JoinedProvider {
        identity: &identity,
        policy,
        joined_at: 5,
        dropped_before: None,
        overwritten_reports: 0,
        streams_from: None,
        reported_before: 0,
        layout,
        buffer: &buffer,
        packets,
    };
    sink.open(&Opening { joined, now: ClockSample::now(), counter_rate: 0x1234_5678 });
    let length = 8 + sink.take_bytes(identity.id);
    // The rate is the same, so that the word is unchanged in the finished archive.
    sink.finish(Ending { counter_rate: 0x1234_5678, is_discarded: false }).wait().unwrap();
    let (theirs, mut bytes) = (Socket::from(theirs), vec![0; MAX_MESSAGE]);
    let mut receive = || {
        let mut handles = Vec::new();
        let length = theirs.recv_with_fds(&mut bytes, &mut handles).unwrap();
        (Message::decode(&bytes[..length]).unwrap(), handles)
    };
    assert!(matches!(receive().0, Message::Session(Some(_))));
    assert!(matches!(receive().0, Message::Categories(_)));
    let (Message::Join(provider), handles) = receive() else { panic!("no provider") };
    let guarded = GuardedProvider::new(provider, handles, &Closer::default()).unwrap();
    let offset = guarded.rate_offset(&(0..=length)).unwrap();
    let mut rate = [0; 8];
    archive.read_exact_at(&mut rate, offset).unwrap();
    assert_eq!(u64::from_le_bytes(rate), 0x1234_5678);
}

/// The last close of a socket with unsent bytes would wait for an hour.
#[test]
fn a_descriptor_that_cannot_be_closed_does_not_keep_the_guard_from_completing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut lingering = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let _other = listener.accept().unwrap().0;
    set_socket_linger(&lingering, Some(Duration::from_secs(3600))).unwrap();
    lingering.set_nonblocking(true).unwrap();
    while lingering.write(&[0; 1 << 16]).is_ok() {}
    let mut manager = Manager::start(BufferingMode::Streaming);
    manager.open();
    manager.record(0, 100);
    let (outcome, path, _directory) = manager.die_beside(|socket| {
        socket.send(&[], &[lingering.as_fd()]).unwrap();
        // The packet has the last one.
        drop(lingering);
    });
    assert!(matches!(outcome, GuardOutcome::Completed { .. }), "{outcome:?}");
    assert_eq!(read(&path).0, [100]);
}
