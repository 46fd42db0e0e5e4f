use super::*;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn the_reply_to_start_has_five_seconds() {
    let mut scene = Scene::starting(2);
    scene.packet(1, Packet::Started { version: 1 });
    assert_eq!(scene.coordinator.deadline(), Some(scene.now + 5 * SECOND));
    scene.pass(4 * SECOND);
    assert_eq!(scene.state(), Some(SessionState::Starting));
    assert_eq!(scene.actions(2), []);
    scene.pass(SECOND);
    assert_eq!(scene.actions(2), [TraceeAction::StartTimedOut]);
    assert_eq!(scene.state(), Some(SessionState::Started));
    assert_eq!(scene.coordinator.deadline(), None);
    assert!(!scene.coordinator.tracee(2).unwrap().replies().start);
}

#[test]
fn a_late_reply_to_start_is_accepted() {
    let mut scene = Scene::starting(1);
    scene.pass(5 * SECOND);
    scene.packet(1, Packet::Started { version: 1 });
    assert!(scene.coordinator.tracee(1).unwrap().replies().start);
    assert_eq!(scene.tracee(1), TraceeState::Started);
    let mut scene = Scene::starting(1);
    scene.pass(5 * SECOND);
    scene.dispatch(Input::Stop(1));
    scene.packet(1, Packet::Started { version: 1 });
    assert!(matches!(scene.tracee(1), TraceeState::Stopping { .. }));
    scene.packet(1, Packet::Stopped);
    assert_eq!(scene.state(), Some(SessionState::Stopped));
}

#[test]
fn a_hanging_provider_delays_the_end_once() {
    let mut scene = Scene::started(2);
    scene.dispatch(Input::Terminate(1));
    scene.packet(1, Packet::Stopped);
    scene.log.clear();
    scene.pass(5 * SECOND);
    assert_eq!(scene.actions(1), [send(ToProvider::Terminate)]);
    assert_eq!(
        scene.actions(2),
        [send(ToProvider::Terminate), TraceeAction::Finish(End::TimedOut)],
        "the provider did not reply to Stop"
    );
    assert_eq!(scene.state(), Some(SessionState::Terminating));
    scene.event(1, TraceeEvent::PacketsClosed);
    assert_eq!(scene.state(), None);
}

#[test]
fn a_late_reply_to_stop_is_accepted() {
    let mut scene = Scene::started(1);
    scene.dispatch(Input::Stop(1));
    scene.pass(5 * SECOND);
    assert_eq!(scene.state(), Some(SessionState::Stopped));
    scene.packet(1, Packet::Stopped);
    scene.log.clear();
    scene.dispatch(Input::Terminate(1));
    assert_eq!(scene.actions(1), [send(ToProvider::Terminate)]);
}

#[test]
fn terminate_has_a_time_out() {
    let mut scene = Scene::started(1);
    scene.dispatch(Input::Terminate(1));
    scene.packet(1, Packet::Stopped);
    scene.log.clear();
    scene.pass(5 * SECOND);
    assert_eq!(scene.actions(1), [TraceeAction::Finish(End::TimedOut)]);
    assert_eq!(scene.state(), None);
}

#[test]
fn a_session_has_its_own_timeouts() {
    let mut scene = Scene::new(1);
    let timeouts = Timeouts { start: SECOND, stop: 2 * SECOND, terminate: 3 * SECOND };
    scene.dispatch(Input::Open(1, ProviderConfig { timeouts, ..config() }));
    scene.dispatch(Input::Start(1, StartOptions::default()));
    assert_eq!(scene.coordinator.deadline(), Some(scene.now + SECOND));
    scene.packet(1, Packet::Started { version: 1 });
    scene.dispatch(Input::Stop(1));
    assert_eq!(scene.coordinator.deadline(), Some(scene.now + 2 * SECOND));
    scene.packet(1, Packet::Stopped);
    scene.dispatch(Input::Terminate(1));
    assert_eq!(scene.coordinator.deadline(), Some(scene.now + 3 * SECOND));
}
