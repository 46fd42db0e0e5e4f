//! What the guard learns of a provider.

use std::fs::File;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;

use trace_format::notes::Omission;
use trace_format::record::Record;
use trace_format::Reader;
use trace_protocol::buffer::header::field;
use trace_protocol::packet::Packet;

use super::*;
use crate::guard::{run_guard, GuardOutcome};

/// Returns the provider's buffer and its end of the packet socket.
fn memory(peer: &Peer) -> (File, Socket) {
    let (mut bytes, mut descriptors) = ([0; 4096], Vec::<OwnedFd>::new());
    while let Ok(1..) = peer.socket.recv_with_fds(&mut bytes, &mut descriptors) {}
    let [memory, packets] = <[OwnedFd; 2]>::try_from(descriptors).unwrap();
    (File::from(memory), Socket::from(packets))
}

/// Pauses a session with one provider, which reports the time of its stop in its buffer, and
/// replies if `replies`. Returns whether the guard reports that it read the buffer before the stop,
/// if it completes the archive then.
fn is_reported(replies: bool) -> bool {
    let mut scene = Scene::new(Limits::default());
    let (guard, theirs) = Guard::pair().unwrap();
    let (session, ..) = scene.start_guarded(SessionConfig::default(), Some(guard)).unwrap();
    let peer = scene.register();
    let (memory, packets) = memory(&peer);
    let send = |packet: Packet| packets.send(&packet.encode(), &[]).unwrap();
    send(Packet::Started { version: 1 });
    scene.event_loop.read_packets(peer.id);
    scene.command(Command::Pause { session });
    memory.write_all_at(&1u64.to_ne_bytes(), field::STOPPED_AT as u64 * 8).unwrap();
    if replies {
        send(Packet::Stopped);
        scene.event_loop.read_packets(peer.id);
        assert_eq!(scene.state(&peer), TraceeState::Stopped);
    }
    // The opening is behind the first word, which is written by itself.
    scene.run_until(|scene| {
        let guard = scene.event_loop.active[&session].guard.as_ref();
        guard.is_some_and(|guard| guard.archived_bytes() > 8)
    });
    // The guard reads the messages so far, and continues as if the manager had been killed.
    let theirs = UnixStream::from(theirs);
    theirs.shutdown(Shutdown::Read).unwrap();
    let outcome = run_guard(theirs.into());
    let GuardOutcome::Completed { archive, .. } = outcome else { panic!("{outcome:?}") };
    has_omission(&mut Reader::new(File::open(archive).unwrap()))
}

fn has_omission(reader: &mut Reader<File>) -> bool {
    while let Some(item) = reader.next().unwrap() {
        if let Record::Event(event) = &item.record {
            if *item.text(event.name) == *Omission::Unfinished.event() {
                return true;
            }
        }
    }
    false
}

/// The time in the buffer is published before the last records.
#[test]
fn the_guard_takes_a_buffer_for_complete_once_its_provider_has_replied() {
    assert!(is_reported(false) && !is_reported(true));
}
