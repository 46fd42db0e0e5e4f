//! Circular buffers that begin to stream when another session joins.

use trace_protocol::buffer::header::BufferingMode;
use trace_protocol::message::Features;
use trace_protocol::packet::Packet;

use super::turns::{packets, save, send};
use super::*;

/// Bytes of a provider's buffer, and of the records that a circular session retains of it.
const BUFFER: u64 = 61440;
const RETAINED: u64 = 64 << 10;

/// Returns a circular session with a provider that records. There are `free` bytes of memory more.
fn circular(free: u64) -> (Scene, Peer, Socket) {
    circular_with(free, SessionConfig::default())
}

fn circular_with(free: u64, config: SessionConfig) -> (Scene, Peer, Socket) {
    let bound = BUFFER + free;
    let buffers = Some(Bound { process: bound, user: bound, total: bound });
    let mut scene = Scene::new(Limits { buffers, ..Limits::default() });
    scene.start_config(SessionConfig { mode: BufferingMode::Circular, ..config }).unwrap();
    let peer = scene.connect();
    let supports = ToManager::Supports(Features::SET_CATEGORIES.with(Features::STREAM));
    for message in [supports, ToManager::Register(Register::default())] {
        peer.socket.send(&message.encode(), &[]).unwrap();
    }
    scene.event_loop.read_messages(peer.id);
    let packets = packets(&peer);
    send(&packets, Packet::Started { version: 1 });
    scene.event_loop.read_packets(peer.id);
    assert_eq!(scene.event_loop.admission.buffers.taken(), BUFFER);
    (scene, peer, packets)
}

fn join(scene: &mut Scene, mode: BufferingMode) {
    scene.start_config(SessionConfig { mode, ..SessionConfig::default() }).unwrap();
}

impl Peer {
    /// Returns the messages so far that change the mode or stop the provider.
    fn changes(&mut self) -> Vec<ToProvider> {
        let (mut bytes, mut messages) = ([0; 4096], Vec::new());
        while let Ok(length @ 1..) = self.socket.recv(&mut bytes) {
            self.decoder.feed(&bytes[..length]);
        }
        while let Some(message) = self.decoder.next_message() {
            messages.push(message.unwrap());
        }
        messages.retain(|it| matches!(it, ToProvider::Stream | ToProvider::Stop));
        messages
    }
}

fn sessions(scene: &Scene, peer: &Peer) -> usize {
    scene.event_loop.collection.as_ref().unwrap().sessions(peer.id).len()
}

#[test]
fn all_sessions_have_their_memory_before_the_change() {
    let (mut scene, mut peer, packets) = circular(2 * RETAINED);
    join(&mut scene, BufferingMode::Circular);
    assert_eq!(peer.changes(), [ToProvider::Stream]);
    assert_eq!(scene.event_loop.admission.buffers.taken(), BUFFER + 2 * RETAINED);
    send(&packets, Packet::Streaming { first: 4, current: 5 });
    scene.event_loop.read_packets(peer.id);
    assert_eq!(sessions(&scene, &peer), 1, "its records from before are not saved");
    save(&packets, 4);
    scene.event_loop.read_packets(peer.id);
    scene.event_loop.housekeeping(Duration::ZERO);
    assert_eq!(sessions(&scene, &peer), 2);
    assert_eq!(scene.event_loop.admission.buffers.taken(), BUFFER + 2 * RETAINED);
    assert!(scene.event_loop.connections[&peer.id].shares.is_empty());
}

/// A copy may have megabytes, and many programs may change at once.
#[test]
fn a_session_does_not_join_before_the_copies_from_before_are_checked() {
    let (mut scene, peer, packets) = circular(2 * RETAINED);
    join(&mut scene, BufferingMode::Circular);
    send(&packets, Packet::Streaming { first: 4, current: 5 });
    scene.event_loop.read_packets(peer.id);
    let waiting = |scene: &Scene| {
        let provider = scene.event_loop.collection.as_ref().unwrap().provider(peer.id);
        (sessions(scene, &peer), provider.unwrap().waiting())
    };
    save(&packets, 4);
    scene.event_loop.read_packets(peer.id);
    assert_eq!(waiting(&scene), (1, 1));
    // The program goes on, and waits for a check.
    save(&packets, 5);
    scene.event_loop.read_packets(peer.id);
    assert_eq!(waiting(&scene), (1, 1));
    // That of the current rolling buffer, and those behind it, are checked with the join.
    scene.event_loop.report_checked();
    assert_eq!(waiting(&scene), (2, 0));
    assert!(scene.event_loop.admission.changing.is_empty());
}

/// The memory suffices for one of the sessions.
#[test]
fn without_memory_for_all_sessions_none_is_taken() {
    let (mut scene, mut peer, _packets) = circular(RETAINED);
    join(&mut scene, BufferingMode::Circular);
    assert_eq!(peer.changes(), [ToProvider::Stop]);
    assert_eq!(scene.event_loop.admission.buffers.taken(), BUFFER);
}

#[test]
fn the_change_waits_for_memory_that_is_about_to_be_freed() {
    for is_freed in [true, false] {
        let (mut scene, mut peer, _packets) = circular(RETAINED);
        let buffers = scene.event_loop.admission.buffers.clone();
        let credentials = scene.event_loop.connections[&peer.id].peer;
        let other = buffers.take(credentials, RETAINED).unwrap();
        other.begin_release();
        join(&mut scene, BufferingMode::Streaming);
        assert_eq!((peer.changes(), scene.event_loop.admission.streams.len()), (vec![], 1));
        assert!((1..=101).contains(&scene.event_loop.timeout()));
        scene.event_loop.housekeeping(Duration::ZERO);
        assert_eq!((peer.changes(), scene.event_loop.admission.streams.len()), (vec![], 1));
        let expected = match is_freed {
            true => {
                drop(other);
                ToProvider::Stream
            }
            false => {
                scene.event_loop.admission.streams[0].deadline = Instant::now();
                ToProvider::Stop
            }
        };
        scene.event_loop.housekeeping(Duration::ZERO);
        assert_eq!((peer.changes(), scene.event_loop.admission.streams.len()), (vec![expected], 0));
    }
}

/// A session that begins during the wait joins with the others, and has its memory by then.
#[test]
fn memory_is_reserved_for_sessions_that_begin_while_the_change_waits() {
    let (mut scene, mut peer, _packets) = circular(3 * RETAINED);
    let buffers = scene.event_loop.admission.buffers.clone();
    let credentials = scene.event_loop.connections[&peer.id].peer;
    let other = buffers.take(credentials, 2 * RETAINED).unwrap();
    other.begin_release();
    (0..2).for_each(|_| join(&mut scene, BufferingMode::Circular));
    assert_eq!((peer.changes(), scene.event_loop.admission.streams.len()), (vec![], 1));
    drop(other);
    scene.event_loop.housekeeping(Duration::ZERO);
    assert_eq!(peer.changes(), [ToProvider::Stream]);
    assert_eq!(scene.event_loop.admission.buffers.taken(), BUFFER + 3 * RETAINED);
}

/// Later sessions must not find a provider that streams for nobody, or one that is refused memory.
#[test]
fn a_change_that_waits_for_memory_ends_with_the_last_session_that_waits() {
    let (mut scene, mut peer, _packets) = circular(RETAINED);
    let buffers = scene.event_loop.admission.buffers.clone();
    let credentials = scene.event_loop.connections[&peer.id].peer;
    let other = buffers.take(credentials, RETAINED).unwrap();
    other.begin_release();
    let config = SessionConfig { mode: BufferingMode::Streaming, ..SessionConfig::default() };
    let (second, ..) = scene.start_config(config).unwrap();
    assert_eq!(scene.event_loop.admission.streams.len(), 1);
    scene.command(Command::Stop { session: second });
    drop(other);
    scene.event_loop.housekeeping(Duration::ZERO);
    assert_eq!((peer.changes(), scene.event_loop.admission.streams.len()), (vec![], 0));
    assert_eq!(scene.event_loop.admission.buffers.taken(), BUFFER);
    join(&mut scene, BufferingMode::Streaming);
    assert_eq!(peer.changes(), [ToProvider::Stream]);
}

/// A scope may have ended minutes before.
#[test]
fn conditions_over_records_from_before_the_change_are_late() {
    let rules = vec!["duration:web/request>50ms:snapshot".parse().unwrap()];
    let config = SessionConfig { rules, ..SessionConfig::default() };
    let (mut scene, peer, packets) = circular_with(2 * RETAINED, config);
    let session = *scene.event_loop.active.keys().next().unwrap();
    let is_live = |scene: &Scene| {
        let provider = scene.event_loop.collection.as_ref().unwrap().provider(peer.id);
        scene.event_loop.active[&session].recording.is_live(provider.unwrap().id())
    };
    join(&mut scene, BufferingMode::Circular);
    send(&packets, Packet::Streaming { first: 4, current: 5 });
    save(&packets, 4);
    (0..2).for_each(|_| scene.event_loop.read_packets(peer.id));
    assert!(!is_live(&scene));
    scene.event_loop.housekeeping(Duration::ZERO);
    assert!(is_live(&scene));
}

#[test]
fn memory_is_freed_with_a_session_that_pauses_before_it_joins() {
    let (mut scene, _peer, _packets) = circular(2 * RETAINED);
    let config = SessionConfig { mode: BufferingMode::Circular, ..SessionConfig::default() };
    let (second, ..) = scene.start_config(config).unwrap();
    scene.command(Command::Pause { session: second });
    assert_eq!(scene.event_loop.admission.buffers.taken(), BUFFER + RETAINED);
}

#[test]
fn memory_is_freed_with_a_session_that_has_not_joined() {
    let (mut scene, _peer, _packets) = circular(2 * RETAINED);
    let config = SessionConfig { mode: BufferingMode::Circular, ..SessionConfig::default() };
    let (second, ..) = scene.start_config(config).unwrap();
    assert_eq!(scene.event_loop.admission.buffers.taken(), BUFFER + 2 * RETAINED);
    scene.command(Command::Stop { session: second });
    assert_eq!(scene.event_loop.admission.buffers.taken(), BUFFER + RETAINED);
}
