//! The share of one provider in a turn of the loop.

use std::os::fd::OwnedFd;

use trace_protocol::buffer::header::BufferingMode;
use trace_protocol::packet::{Packet, PACKET_SIZE};

use super::*;

/// Returns the provider's end of its packet socket.
fn packets(peer: &Peer) -> Socket {
    let (mut bytes, mut descriptors) = ([0; 4096], Vec::<OwnedFd>::new());
    while let Ok(1..) = peer.socket.recv_with_fds(&mut bytes, &mut descriptors) {}
    let packets = Socket::from(descriptors.pop().unwrap());
    packets.set_nonblocking(true);
    packets
}

/// Returns the number of replies to saves.
fn saved(packets: &Socket) -> usize {
    let mut bytes = [0; PACKET_SIZE];
    std::iter::from_fn(|| packets.recv(&mut bytes).ok()).count()
}

/// Else the others would wait for all copies of a provider that fills its buffers all the time.
#[test]
fn a_turn_copies_one_rolling_buffer_of_a_provider() {
    let mut scene = Scene::new(Limits::default());
    let mode = BufferingMode::Streaming;
    let _session = scene.start_config(SessionConfig { mode, ..SessionConfig::default() }).unwrap();
    let peer = scene.register();
    let packets = packets(&peer);
    let send = |packet: Packet| packets.send(&packet.encode(), &[]).unwrap();
    send(Packet::Started { version: 1 });
    for wrapped_count in 0..2 {
        send(Packet::SaveBuffer { wrapped_count, durable_data_end: 0 });
    }
    for _ in 0..2 {
        scene.event_loop.read_packets(peer.id);
        assert_eq!(saved(&packets), 1);
    }
    // All of them at the end of a provider.
    for wrapped_count in 2..5 {
        send(Packet::SaveBuffer { wrapped_count, durable_data_end: 0 });
    }
    scene.event_loop.drain_packets(peer.id);
    assert_eq!(saved(&packets), 3);
}
