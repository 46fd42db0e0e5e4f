//! Programs whose user has sent too many packets.

use std::fs::File;

use rustix::event::epoll::{self, EventVec};
use trace_protocol::packet::{AlertName, Packet};

use super::turns::{recording, save, saved, send, stream};
use super::*;
use crate::machine::TraceeEvent;
use crate::server::rate::Rate;
use crate::server::source::Source;

/// Other programs of a user have sent most of the packets. One that has sent few waits.
struct Paused {
    scene: Scene,
    started: Started,
    flood: (Peer, Socket),
    peer: Peer,
    packets: Socket,
}

impl Paused {
    fn new() -> Self {
        let (mut scene, started, first, flood) = recording();
        let (peer, packets) = stream(&mut scene);
        // Their second does not end during the test.
        let (begun, number) = (Instant::now() + Duration::from_secs(3600), 20);
        let event_loop = &mut scene.event_loop;
        event_loop.admission.limits.packets = number;
        let uid = rustix::process::geteuid().as_raw();
        (0..number).for_each(|_| _ = event_loop.admission.packets.count(uid, begun, number));
        let connection = event_loop.connections.get_mut(&first.id).unwrap();
        connection.packet_rate = Rate { begun, number };
        save(&packets, 0);
        scene.event_loop.read_packets(peer.id);
        assert_eq!(saved(&packets), 1);
        Self { scene, started, flood: (first, flood), peer, packets }
    }

    fn is_connected(&self, peer: &Peer) -> bool {
        self.scene.event_loop.connections.contains_key(&peer.id)
    }

    /// Handles what epoll reports about the packets of the program. Returns the number of reports.
    fn wait(&mut self) -> usize {
        let mut events = EventVec::with_capacity(16);
        epoll::wait(&self.scene.event_loop.epoll, &mut events, 0).unwrap();
        let packets = Source::Packets(self.peer.id).data().u64();
        let reported = events.iter().filter(|event| event.data.u64() == packets).count();
        (0..reported).for_each(|_| self.scene.event_loop.read_packets(self.peer.id));
        reported
    }

    /// Begins the next second, without a limit.
    fn expire(&mut self) {
        self.scene.event_loop.admission.limits.packets = 100;
        self.scene.event_loop.paused.expire();
        self.scene.event_loop.housekeeping(Duration::ZERO);
    }

    fn is_paused(&self) -> bool {
        let uid = rustix::process::geteuid().as_raw();
        self.scene.event_loop.paused.contains(uid, self.peer.id)
    }
}

#[test]
fn a_program_that_sends_few_packets_is_read_in_the_next_second_if_its_user_has_sent_too_many() {
    let mut paused = Paused::new();
    save(&paused.packets, 1);
    assert_eq!(paused.wait(), 0, "the loop would be busy");
    paused.scene.event_loop.housekeeping(Duration::ZERO);
    assert_ne!(paused.scene.event_loop.timeout(), 0);
    save(&paused.flood.1, 0);
    paused.scene.event_loop.read_packets(paused.flood.0.id);
    assert!(!paused.is_connected(&paused.flood.0), "it has sent more than its share");
    assert!(paused.is_connected(&paused.peer));
    paused.expire();
    assert_eq!((paused.wait(), saved(&paused.packets)), (1, 1));
}

#[test]
fn the_last_packets_of_a_paused_program_are_read_at_its_end() {
    let Paused { mut scene, started: (_, _ended, notices), peer, packets, .. } = Paused::new();
    send(&packets, Packet::Alert(AlertName::new("last").unwrap()));
    drop((peer.socket, packets));
    scene.event_loop.read_messages(peer.id);
    let is_last = |notice| matches!(notice, Notice::Alert { name, .. } if name == "last");
    assert!(notices.try_iter().any(is_last));
}

#[test]
fn the_reply_of_a_paused_program_is_read_before_its_wait_ends() {
    let Paused { mut scene, started: (session, ..), peer, packets, .. } = Paused::new();
    scene.command(Command::Pause { session });
    send(&packets, Packet::Stopped);
    scene.event_loop.housekeeping(Duration::ZERO);
    let replies = scene.event_loop.coordinator.tracee(peer.id).unwrap().replies();
    assert_eq!((scene.state(&peer), replies.stop), (TraceeState::Stopped, true));
}

/// As if the kernel had no memory.
#[test]
fn packets_that_cannot_be_watched_wait_again() {
    let mut paused = Paused::new();
    let no_epoll = File::open("/dev/null").unwrap().into();
    let epoll = std::mem::replace(&mut paused.scene.event_loop.epoll, no_epoll);
    paused.expire();
    assert!(paused.is_paused());
    paused.scene.event_loop.epoll = epoll;
    paused.expire();
    save(&paused.packets, 1);
    assert_eq!((paused.wait(), saved(&paused.packets)), (1, 1));
}

/// The next packet socket of the program is watched. If it were not read, the loop would be busy.
#[test]
fn a_pause_ends_with_the_packet_socket() {
    let mut paused = Paused::new();
    assert!(paused.is_paused());
    let session = paused.started.0;
    paused.scene.command(Command::Stop { session });
    send(&paused.packets, Packet::Stopped);
    paused.scene.run_until(|it| it.event_loop.active.is_empty());
    assert!(!paused.is_paused());
    let mut paused = Paused::new();
    paused.scene.event_loop.disconnect(paused.peer.id, TraceeEvent::Disconnected);
    assert!(!paused.is_paused());
}

#[test]
fn the_end_of_a_paused_program_that_has_kept_its_buffer_is_noticed() {
    let Paused { mut scene, started: (session, ..), peer, packets, .. } = Paused::new();
    scene.command(Command::Stop { session });
    scene.event_loop.housekeeping(Duration::ZERO);
    assert_eq!(scene.event_loop.connections[&peer.id].retained.len(), 1);
    drop(packets);
    let mut events = EventVec::with_capacity(16);
    epoll::wait(&scene.event_loop.epoll, &mut events, 0).unwrap();
    let retained = Source::Retained(peer.id).data().u64();
    assert!(events.iter().any(|event| event.data.u64() == retained));
}
