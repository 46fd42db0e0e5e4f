//! Providers that wait for the memory of their buffers.

use super::*;

/// Returns a session with two providers: the first has the memory of all buffers, which will be
/// released, and the second waits for it.
fn with_waiting_provider() -> (Scene, u64, Receiver<EndedRecording>, Peer, Peer) {
    let bound = 100 << 10;
    let buffers = Some(Bound { process: bound, user: bound, total: bound });
    let mut scene = Scene::new(Limits { buffers, ..Limits::default() });
    let (number, ended) = scene.start().unwrap();
    let first = scene.register();
    assert!(matches!(scene.state(&first), TraceeState::Starting { .. }));
    scene.event_loop.connections[&first.id].buffer.as_ref().unwrap().begin_release();
    let second = scene.register();
    assert_eq!(scene.state(&second), TraceeState::Initializing);
    scene.event_loop.housekeeping();
    assert_eq!(scene.event_loop.admission.pending.len(), 1, "the deadline has not passed");
    (scene, number, ended, first, second)
}

const REFUSAL: &str = "the limit of 102400 bytes of buffers for a process is reached";

#[test]
fn a_waiting_provider_is_refused_at_its_deadline() {
    let (mut scene, _, _, first, mut second) = with_waiting_provider();
    assert_eq!(second.refusals(), [] as [&str; 0]);
    scene.event_loop.admission.pending[0].deadline = Instant::now();
    scene.event_loop.serve_waiting();
    assert_eq!(second.refusals(), [REFUSAL]);
    assert_eq!(scene.state(&second), TraceeState::Registered);
    assert!(matches!(scene.state(&first), TraceeState::Starting { .. }));
    assert!(scene.event_loop.admission.pending.is_empty());
}

#[test]
fn a_waiting_provider_is_refused_when_the_session_stops() {
    let (mut scene, number, ended, first, mut second) = with_waiting_provider();
    scene.command(Command::Stop { session: number + 1 });
    scene.event_loop.housekeeping();
    assert_eq!(second.refusals(), [] as [&str; 0], "another session stops");
    scene.command(Command::Stop { session: number });
    scene.event_loop.housekeeping();
    assert_eq!(second.refusals(), [REFUSAL]);
    assert_eq!(scene.session_state(), Some(SessionState::Stopping));
    drop(first.socket);
    scene.event_loop.read_messages(first.id);
    scene.run_until(|scene| scene.event_loop.active.is_empty());
    let ended = ended.try_recv().unwrap();
    assert_eq!((ended.providers.len(), ended.refusals), (1, 1));
    assert_eq!(ended.refused[0].reason, REFUSAL);
}

#[test]
fn a_waiting_provider_gets_released_memory() {
    let (mut scene, _, _, first, mut second) = with_waiting_provider();
    drop(first.socket);
    scene.event_loop.read_messages(first.id);
    scene.run_until(|scene| matches!(scene.state(&second), TraceeState::Starting { .. }));
    assert_eq!(second.refusals(), [] as [&str; 0]);
    assert!(scene.event_loop.admission.pending.is_empty());
}

#[test]
fn a_closed_connection_does_not_wait() {
    let (mut scene, _, _, _first, second) = with_waiting_provider();
    drop(second.socket);
    scene.event_loop.read_messages(second.id);
    scene.event_loop.housekeeping();
    assert!(scene.event_loop.admission.pending.is_empty());
}
