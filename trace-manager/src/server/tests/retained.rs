//! Buffers of providers that do not reply to Stop.

use trace_protocol::message::BufferDisposition;

use super::*;
use crate::machine::{End, Timeouts};

/// Ends a session whose provider never replies. Returns the provider.
fn ended_without_reply(scene: &mut Scene) -> Peer {
    let timeouts = Timeouts { start: Duration::ZERO, stop: Duration::ZERO, terminate: LONG };
    let (number, ended, _) = scene.start_with(&[], timeouts).unwrap();
    let peer = scene.register();
    scene.event_loop.housekeeping(Duration::ZERO);
    assert_eq!(scene.state(&peer), TraceeState::Started, "the reply to Start timed out");
    scene.command(Command::Stop { session: number });
    scene.run_until(|scene| scene.event_loop.active.is_empty());
    assert_eq!(ended.try_recv().unwrap().providers[0].end, End::TimedOut);
    peer
}

#[test]
fn a_buffer_is_freed_when_its_provider_has_left() {
    let mut scene = Scene::new(Limits::default());
    let mut peer = ended_without_reply(&mut scene);
    scene.event_loop.free_retained(peer.id);
    assert_eq!(scene.event_loop.connections[&peer.id].retained.len(), 1);
    assert_eq!(scene.event_loop.admission.buffers.freed(), 0, "the provider may still record");
    // The provider does not receive its descriptors, so they are closed.
    assert!(peer.refusals().is_empty());
    scene.event_loop.free_retained(peer.id);
    assert!(scene.event_loop.connections[&peer.id].retained.is_empty());
    scene.run_until(|scene| scene.event_loop.admission.buffers.freed() == 1);
    assert_eq!(scene.event_loop.admission.buffers.releasing(), 0);
}

#[test]
fn a_provider_that_did_not_reply_to_a_stop_records_again_when_it_has_left_its_buffer() {
    let mut scene = Scene::new(Limits::default());
    let timeouts = Timeouts { start: Duration::ZERO, stop: Duration::ZERO, terminate: LONG };
    let (session, _ended, _notices) = scene.start_with(&[], timeouts).unwrap();
    let mut peer = scene.register();
    scene.event_loop.housekeeping(Duration::ZERO);
    scene.command(Command::Pause { session });
    scene.event_loop.housekeeping(Duration::ZERO);
    assert_eq!(scene.session_state(), Some(SessionState::Stopped));
    let (reply, replies) = crossbeam_channel::bounded(1);
    let (disposition, categories) = (BufferDisposition::Retain, None);
    scene.command(Command::StartAgain { session, disposition, categories, reply });
    assert!(replies.try_recv().unwrap().is_ok());
    assert_eq!(scene.event_loop.coordinator.sessions_of(peer.id), []);
    let progress = scene.event_loop.active[&session].shared.get();
    assert_eq!(progress.providers, 1, "it will record again");
    // The provider does not receive its descriptors, so they are closed.
    assert!(peer.refusals().is_empty());
    scene.event_loop.free_retained(peer.id);
    assert_eq!(scene.event_loop.coordinator.sessions_of(peer.id), [session]);
    assert!(scene.event_loop.connections[&peer.id].buffer.is_some());
}

#[test]
fn a_buffer_is_freed_when_its_provider_disconnects() {
    let mut scene = Scene::new(Limits::default());
    let peer = ended_without_reply(&mut scene);
    drop(peer.socket);
    scene.event_loop.read_messages(peer.id);
    scene.run_until(|scene| scene.event_loop.admission.buffers.freed() == 1);
}
