//! The share of one provider in a turn of the loop.

use std::os::fd::OwnedFd;
use std::path::Path;

use trace_protocol::buffer::header::{BufferingMode, Layout};
use trace_protocol::message::Features;
use trace_protocol::packet::{Packet, PACKET_SIZE};

use super::*;
use crate::fixture::{write_event, write_wrapped_count};

/// Returns the provider's end of its packet socket.
pub(super) fn packets(peer: &Peer) -> Socket {
    let (mut bytes, mut descriptors) = ([0; 4096], Vec::<OwnedFd>::new());
    while let Ok(1..) = peer.socket.recv_with_fds(&mut bytes, &mut descriptors) {}
    let packets = Socket::from(descriptors.pop().unwrap());
    packets.set_nonblocking(true);
    packets
}

/// Returns the number of replies to saves.
pub(super) fn saved(packets: &Socket) -> usize {
    let mut bytes = [0; PACKET_SIZE];
    std::iter::from_fn(|| packets.recv(&mut bytes).ok()).count()
}

/// Returns a scene with a streaming provider that records and has no time to stop.
pub(super) fn recording() -> (Scene, Started, Peer, Socket) {
    let mut scene = Scene::new(Limits::default());
    let timeouts = Timeouts { stop: Duration::ZERO, ..Timeouts::default() };
    let mode = BufferingMode::Streaming;
    let config = SessionConfig { mode, timeouts, ..SessionConfig::default() };
    let session = scene.start_config(config).unwrap();
    let (peer, packets) = stream(&mut scene);
    (scene, session, peer, packets)
}

/// Returns a streaming provider that records.
pub(super) fn stream(scene: &mut Scene) -> (Peer, Socket) {
    let peer = scene.connect();
    let supports = ToManager::Supports(Features::SET_CATEGORIES);
    for message in [supports, ToManager::Register(Register::default())] {
        peer.socket.send(&message.encode(), &[]).unwrap();
    }
    scene.event_loop.read_messages(peer.id);
    let packets = packets(&peer);
    send(&packets, Packet::Started { version: 1 });
    scene.event_loop.read_packets(peer.id);
    (peer, packets)
}

pub(super) fn send(packets: &Socket, packet: Packet) {
    packets.send(&packet.encode(), &[]).unwrap();
}

pub(super) fn save(packets: &Socket, wrapped_count: u32) {
    send(packets, Packet::SaveBuffer { wrapped_count, durable_data_end: 0 });
}

/// The manager copies one rolling buffer of a provider in a turn. All of them may wait.
#[test]
fn a_reply_behind_saves_is_read_before_its_wait_ends() {
    let all = Layout::MAX_ROLLING_BUFFERS as u32;
    for (number, read_before) in [(2, true), (all, false)] {
        let (mut scene, (session, ..), peer, packets) = recording();
        scene.command(Command::Pause { session });
        (0..number).for_each(|wrapped_count| save(&packets, wrapped_count));
        send(&packets, Packet::Stopped);
        if read_before {
            scene.event_loop.read_packets(peer.id);
        }
        assert!(matches!(scene.state(&peer), TraceeState::Stopping { .. }));
        scene.event_loop.housekeeping(Duration::ZERO);
        let replies = scene.event_loop.coordinator.tracee(peer.id).unwrap().replies();
        assert_eq!((scene.state(&peer), replies.stop), (TraceeState::Stopped, true));
        assert_eq!(saved(&packets) as u32, number);
    }
}

/// Else a provider that requests saves all the time would delay the others.
#[test]
fn the_end_of_a_wait_ends_with_the_first_copy_after_all_rolling_buffers_of_a_provider() {
    let (mut scene, (session, ..), peer, packets) = recording();
    scene.command(Command::Pause { session });
    (0..20).for_each(|wrapped_count| save(&packets, wrapped_count));
    scene.event_loop.housekeeping(Duration::ZERO);
    assert_eq!((scene.state(&peer), saved(&packets)), (TraceeState::Stopped, 9));
}

/// Else the others would wait for all copies of a provider that fills its buffers all the time.
#[test]
fn a_turn_copies_one_rolling_buffer_of_a_provider() {
    let (mut scene, _session, peer, packets) = recording();
    (0..2).for_each(|wrapped_count| save(&packets, wrapped_count));
    for _ in 0..2 {
        scene.event_loop.read_packets(peer.id);
        assert_eq!(saved(&packets), 1);
    }
}

/// Else programs that end would delay the others by requests that no correct program makes.
#[test]
fn the_end_of_a_provider_ends_with_the_first_copy_after_all_of_its_rolling_buffers() {
    let (mut scene, _session, peer, packets) = recording();
    (0..20).for_each(|wrapped_count| save(&packets, wrapped_count));
    scene.event_loop.drain_packets(peer.id);
    assert_eq!(saved(&packets), 9);
}

#[test]
fn records_of_a_provider_whose_requests_are_unread_at_its_end_are_in_the_archive() {
    let (mut scene, (session, ended, _), peer, packets) = recording();
    let provider = scene.event_loop.collection.as_ref().unwrap().provider(peer.id).unwrap();
    let layout = provider.layout();
    let buffer = scene.event_loop.connections[&peer.id].buffer.clone().unwrap();
    (0..9).for_each(|wrapped_count| save(&packets, wrapped_count));
    write_wrapped_count(&buffer, &layout, 9);
    write_event(&buffer, &layout, 9, MARK);
    save(&packets, 9);
    drop((buffer, peer.socket, packets));
    scene.event_loop.read_messages(peer.id);
    scene.command(Command::Stop { session });
    scene.run_until(|it| it.event_loop.active.is_empty());
    ended.try_recv().unwrap().archive.wait().unwrap();
    assert_eq!(marks(&scene.directory.path().join("out.fxt")), 1);
}

/// Else the others would wait for the checks of the copies of such a provider.
#[test]
fn saves_wait_while_a_copy_of_each_rolling_buffer_is_not_checked() {
    let (mut scene, _session, peer, packets) = recording();
    let layout = scene.event_loop.collection.as_ref().unwrap().provider(peer.id).unwrap().layout();
    let number = layout.rolling_buffers() as u32;
    (0..number + 1).for_each(|wrapped_count| save(&packets, wrapped_count));
    let turns = (0..number + 5).map(|_| {
        scene.event_loop.read_packets(peer.id);
        saved(&packets)
    });
    assert_eq!(turns.sum::<usize>() as u32, number);
    scene.event_loop.housekeeping(Duration::ZERO);
    scene.event_loop.read_packets(peer.id);
    assert_eq!(saved(&packets), 1);
}

/// Its guard does not have them, and does not know what they report.
#[test]
fn a_session_that_joins_gets_no_copies_from_before() {
    let (mut scene, _session, peer, packets) = recording();
    (0..2).for_each(|wrapped_count| save(&packets, wrapped_count));
    (0..2).for_each(|_| scene.event_loop.read_packets(peer.id));
    let waiting = |scene: &Scene| {
        let collection = scene.event_loop.collection.as_ref().unwrap();
        (collection.sessions(peer.id).len(), collection.provider(peer.id).unwrap().waiting())
    };
    assert_eq!(waiting(&scene), (1, 2));
    let config = SessionConfig { mode: BufferingMode::Streaming, ..SessionConfig::default() };
    let _joined = scene.start_config(config).unwrap();
    assert_eq!(waiting(&scene), (2, 0));
}

/// A program may compare thousands of conditions.
#[test]
fn a_condition_that_a_program_compares_delays_no_checks_of_the_copies_of_others() {
    let mut scene = Scene::new(Limits::default());
    let mode = BufferingMode::Streaming;
    let trigger_users = Some(vec![1]);
    let config = SessionConfig { mode, trigger_users, ..SessionConfig::default() };
    let _session = scene.start_config(config).unwrap();
    let (first, second) = (stream(&mut scene), stream(&mut scene));
    for (peer, packets) in [&first, &second] {
        save(packets, 0);
        scene.event_loop.read_packets(peer.id);
    }
    let waiting = |scene: &Scene| {
        let collection = scene.event_loop.collection.as_ref().unwrap();
        [&first, &second].map(|(peer, _)| collection.provider(peer.id).unwrap().waiting())
    };
    for (uid, expected) in [(2, [1, 1]), (1, [0, 1])] {
        scene.event_loop.connections.get_mut(&first.0.id).unwrap().peer.uid = uid;
        scene.event_loop.watch(first.0.id, 1);
        assert_eq!(waiting(&scene), expected, "user {uid}");
    }
}

/// A user may have thousands of connections.
#[test]
fn a_program_of_a_user_with_too_many_packets_is_cut_off() {
    let (mut scene, _session, first, _packets) = recording();
    let (second, packets) = stream(&mut scene);
    save(&packets, 0);
    scene.event_loop.read_packets(second.id);
    assert_eq!(saved(&packets), 1);
    scene.event_loop.admission.limits.packets = 0;
    save(&packets, 1);
    scene.event_loop.read_packets(second.id);
    let is_connected = |peer: &Peer| scene.event_loop.connections.contains_key(&peer.id);
    assert_eq!([&first, &second].map(is_connected), [true, false]);
}

/// Else all providers would wait for the copies of the buffers of all others.
#[test]
fn a_turn_copies_the_buffer_of_one_provider_for_a_snapshot() {
    let (mut scene, (session, ..), _peer, _packets) = recording();
    let (_second, (third, packets)) = (stream(&mut scene), stream(&mut scene));
    let provider = scene.event_loop.collection.as_ref().unwrap().provider(third.id).unwrap();
    let buffer = scene.event_loop.connections[&third.id].buffer.clone().unwrap();
    write_event(&buffer, &provider.layout(), 0, MARK);
    let (reply, replies) = crossbeam_channel::bounded(1);
    let path = scene.directory.path().join("snapshot.fxt");
    scene.command(Command::Snapshot { session, path: path.clone(), reply });
    scene.event_loop.housekeeping(Duration::ZERO);
    assert_eq!(scene.event_loop.next_uncopied(), Some(2), "one is copied");
    assert_eq!(scene.event_loop.timeout(), 0, "the next turn follows at once");
    save(&packets, 0);
    scene.event_loop.read_packets(third.id);
    assert_eq!((saved(&packets), scene.event_loop.next_uncopied()), (1, Some(2)), "it is served");
    scene.event_loop.housekeeping(Duration::ZERO);
    assert_eq!(scene.event_loop.next_uncopied(), None, "the third was copied before its save");
    replies.recv_timeout(LONG).unwrap().unwrap();
    assert_eq!(marks(&path), 1, "a saved record is in the snapshot once");
}

/// Returns the number of marks in an archive.
fn marks(path: &Path) -> usize {
    let archive = std::fs::read(path).unwrap();
    archive.chunks_exact(8).filter(|word| **word == MARK.to_ne_bytes()).count()
}

/// The time of an event, which no other word of an archive has.
const MARK: u64 = 0x1234_5678_9abc;
