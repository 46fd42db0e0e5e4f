//! Providers that wait for the memory of their buffers.

use trace_protocol::buffer::header::BufferingMode;
use trace_protocol::message::BufferDisposition;

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
    scene.event_loop.housekeeping(Duration::ZERO);
    assert_eq!(scene.event_loop.admission.pending.len(), 1, "the deadline has not passed");
    assert_eq!(scene.event_loop.coordinator.participants(number).count(), 2);
    (scene, number, ended, first, second)
}

/// It is recorded again, and then gets its buffer.
#[test]
fn a_waiting_provider_is_not_refused_when_the_session_stops_to_start_again() {
    let (mut scene, number, _, first, mut second) = with_waiting_provider();
    scene.command(Command::Pause { session: number });
    scene.event_loop.housekeeping(Duration::ZERO);
    assert_eq!(second.refusals(), [] as [&str; 0]);
    assert_eq!(scene.state(&second), TraceeState::Registered);
    drop(first.socket);
    scene.event_loop.read_messages(first.id);
    scene.run_until(|scene| scene.session_state() == Some(SessionState::Stopped));
    let (reply, replies) = crossbeam_channel::bounded(1);
    let (disposition, categories) = (BufferDisposition::Retain, None);
    scene.command(Command::StartAgain { session: number, disposition, categories, reply });
    replies.try_recv().unwrap().unwrap();
    scene.run_until(|scene| matches!(scene.state(&second), TraceeState::Starting { .. }));
    assert_eq!(second.refusals(), [] as [&str; 0]);
}

/// It is not recorded, as if the session had not been paused.
#[test]
fn a_waiting_provider_is_refused_when_a_stopped_session_ends() {
    for disconnects in [false, true] {
        let (mut scene, number, ended, first, second) = with_waiting_provider();
        scene.command(Command::Pause { session: number });
        scene.event_loop.housekeeping(Duration::ZERO);
        drop(first.socket);
        scene.event_loop.read_messages(first.id);
        scene.run_until(|scene| scene.session_state() == Some(SessionState::Stopped));
        if disconnects {
            drop(second.socket);
            scene.event_loop.read_messages(second.id);
        }
        scene.command(Command::Stop { session: number });
        scene.run_until(|scene| scene.event_loop.active.is_empty());
        let ended = ended.try_recv().unwrap();
        assert_eq!((ended.providers.len(), ended.refusals), (1, 1));
        assert_eq!(ended.refused[0].reason, REFUSAL);
    }
}

/// The other one may record it when it starts again, but did not let it wait.
#[test]
fn a_waiting_provider_is_refused_when_its_session_ends_beside_a_stopped_one() {
    let bound = 100 << 10;
    let buffers = Some(Bound { process: bound, user: bound, total: bound });
    let mut scene = Scene::new(Limits { buffers, ..Limits::default() });
    let (paused, paused_ended) = scene.start().unwrap();
    scene.command(Command::Pause { session: paused });
    scene.run_until(|scene| scene.session_state() == Some(SessionState::Stopped));
    let (number, ended) = scene.start().unwrap();
    let first = scene.register();
    scene.event_loop.connections[&first.id].buffer.as_ref().unwrap().begin_release();
    let mut second = scene.register();
    assert_eq!(scene.state(&second), TraceeState::Initializing);
    scene.command(Command::Stop { session: number });
    scene.event_loop.housekeeping(Duration::ZERO);
    assert_eq!(second.refusals(), [REFUSAL]);
    drop(first.socket);
    scene.event_loop.read_messages(first.id);
    scene.run_until(|scene| scene.event_loop.active.len() == 1);
    assert_eq!(ended.try_recv().unwrap().refusals, 1);
    scene.command(Command::Stop { session: paused });
    scene.run_until(|scene| scene.event_loop.active.is_empty());
    assert_eq!(paused_ended.try_recv().unwrap().refusals, 0);
}

/// The session that starts again last has not recorded it.
#[test]
fn a_provider_that_waits_for_two_sessions_is_refused_by_the_one_that_stops() {
    let bound = 100 << 10;
    let buffers = Some(Bound { process: bound, user: bound, total: bound });
    let mut scene = Scene::new(Limits { buffers, ..Limits::default() });
    let (stopped, stopped_ended) = scene.start().unwrap();
    let (_other, _other_ended) = scene.start().unwrap();
    let first = scene.register();
    scene.event_loop.connections[&first.id].buffer.as_ref().unwrap().begin_release();
    let second = scene.register();
    assert_eq!(scene.state(&second), TraceeState::Initializing);
    scene.command(Command::Pause { session: stopped });
    // The other session still waits for it.
    scene.event_loop.housekeeping(Duration::ZERO);
    scene.event_loop.housekeeping(Duration::ZERO);
    drop(first.socket);
    scene.event_loop.read_messages(first.id);
    scene.run_until(|scene| matches!(scene.state(&second), TraceeState::Starting { .. }));
    scene.command(Command::Stop { session: stopped });
    scene.run_until(|scene| scene.event_loop.active.len() == 1);
    assert_eq!(stopped_ended.try_recv().unwrap().refusals, 1);
}

/// Returns a circular session beside a streaming one, and a provider with a buffer for both.
/// There are `free` bytes more.
fn with_retained_records(free: u64) -> (Scene, Peer) {
    let bound = STREAMING + RETAINED + free;
    let buffers = Some(Bound { process: bound, user: bound, total: bound });
    let mut scene = Scene::new(Limits { buffers, ..Limits::default() });
    for mode in [BufferingMode::Circular, BufferingMode::Streaming] {
        scene.start_config(SessionConfig { mode, ..SessionConfig::default() }).unwrap();
    }
    let first = scene.register();
    assert!(matches!(scene.state(&first), TraceeState::Starting { .. }));
    let taken = scene.event_loop.admission.buffers.taken();
    assert_eq!(taken, STREAMING + RETAINED);
    (scene, first)
}

/// Bytes of a provider's buffer in streaming mode, and of the records that a circular session
/// retains.
const STREAMING: u64 = 61440;
const RETAINED: u64 = 64 << 10;

/// There is memory for its buffer, but not for the records that the circular session retains.
#[test]
fn a_provider_waits_for_the_memory_of_retained_records() {
    let (mut scene, first) = with_retained_records(RETAINED);
    scene.event_loop.connections[&first.id].buffer.as_ref().unwrap().begin_release();
    let mut second = scene.register();
    assert_eq!(scene.state(&second), TraceeState::Initializing);
    assert_eq!(second.refusals(), [] as [&str; 0]);
    drop(first.socket);
    scene.event_loop.read_messages(first.id);
    scene.run_until(|scene| matches!(scene.state(&second), TraceeState::Starting { .. }));
    assert_eq!(scene.event_loop.collection.as_ref().unwrap().sessions(second.id).len(), 2);
}

/// The buffer of the first provider is read, but its retained records are not archived yet.
#[test]
fn the_memory_of_retained_records_is_about_to_be_freed_when_their_provider_has_left() {
    let (mut scene, first) = with_retained_records(0);
    drop(first.socket);
    scene.event_loop.read_messages(first.id);
    let deadline = Instant::now() + LONG;
    while scene.event_loop.admission.buffers.taken() != RETAINED {
        assert!(Instant::now() < deadline, "the buffer is not freed");
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut second = scene.register();
    assert_eq!(scene.state(&second), TraceeState::Initializing);
    scene.run_until(|scene| matches!(scene.state(&second), TraceeState::Starting { .. }));
    assert_eq!(scene.event_loop.collection.as_ref().unwrap().sessions(second.id).len(), 2);
    assert_eq!(second.refusals(), [] as [&str; 0]);
}

/// Returns the reasons for which sessions have refused providers.
fn refused(notices: &NoticeReceiver) -> Vec<String> {
    let refused = notices.try_iter().filter_map(|notice| match notice {
        Notice::Refused(refusal) => Some(refusal.reason),
        _ => None,
    });
    refused.collect()
}

/// Else the later session would remove programs from the earlier one.
#[test]
fn only_the_session_that_asks_for_too_much_refuses_a_provider() {
    let bound = 64 << 10;
    let buffers = Some(Bound { process: bound, user: bound, total: bound });
    let mut scene = Scene::new(Limits { buffers, ..Limits::default() });
    let mode = BufferingMode::Circular;
    let small = SessionConfig { mode, buffer_size: 16 << 10, ..SessionConfig::default() };
    let (first, _ended, of_first) = scene.start_config(small).unwrap();
    let (_, _ended, of_second) = scene.start_with(&[], Timeouts::default()).unwrap();
    let mut peer = scene.register();
    assert!(matches!(scene.state(&peer), TraceeState::Starting { .. }));
    let collection = scene.event_loop.collection.as_ref().unwrap();
    assert_eq!(collection.sessions(peer.id), [first]);
    assert_eq!(collection.provider(peer.id).unwrap().layout().mode(), mode, "as if it were alone");
    assert_eq!(peer.refusals(), [] as [&str; 0]);
    let reason = "the limit of 65536 bytes of buffers for a process is reached";
    assert_eq!((refused(&of_first), refused(&of_second)), (vec![], vec![reason.to_owned()]));
}

/// The earlier session keeps the provider, without memory for retained records.
#[test]
fn a_later_session_without_memory_refuses_a_provider_at_once() {
    let (mut scene, _first) = with_retained_records(RETAINED);
    let second = scene.register();
    assert!(matches!(scene.state(&second), TraceeState::Starting { .. }));
    assert_eq!(scene.event_loop.collection.as_ref().unwrap().sessions(second.id), [1]);
}

/// The memory may be freed late. The earlier session gets its records meanwhile.
#[test]
fn a_later_session_without_memory_refuses_a_provider_at_its_deadline() {
    let (mut scene, first) = with_retained_records(RETAINED);
    scene.event_loop.connections[&first.id].buffer.as_ref().unwrap().begin_release();
    let mut second = scene.register();
    assert_eq!(scene.state(&second), TraceeState::Initializing);
    scene.event_loop.admission.pending[0].deadline = Instant::now();
    scene.event_loop.serve_waiting();
    assert!(matches!(scene.state(&second), TraceeState::Starting { .. }));
    assert_eq!(scene.event_loop.collection.as_ref().unwrap().sessions(second.id), [1]);
    assert_eq!(second.refusals(), [] as [&str; 0]);
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
    scene.event_loop.housekeeping(Duration::ZERO);
    assert_eq!(second.refusals(), [] as [&str; 0], "another session stops");
    scene.command(Command::Stop { session: number });
    scene.event_loop.housekeeping(Duration::ZERO);
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
    scene.event_loop.housekeeping(Duration::ZERO);
    assert!(scene.event_loop.admission.pending.is_empty());
}

/// The session may go on for long, and its results come at its end.
#[test]
fn a_refused_provider_is_reported_while_the_session_records() {
    let buffers = Some(Bound { process: 4096, user: 4096, total: 4096 });
    let mut scene = Scene::new(Limits { buffers, ..Limits::default() });
    let (_, _ended, notices) = scene.start_with(&[], Timeouts::default()).unwrap();
    let mut peers = [scene.register(), scene.register()];
    let of_peer = |peer: &mut Peer| peer.refusals().pop().expect("it gets no buffer");
    let expected = peers.each_mut().map(of_peer);
    let refused = notices.try_iter().filter_map(|notice| match notice {
        Notice::Refused(refusal) => Some((refusal.pid, refusal.reason)),
        _ => None,
    });
    assert_eq!(Vec::from_iter(refused), expected.map(|reason| (std::process::id(), reason)));
}
