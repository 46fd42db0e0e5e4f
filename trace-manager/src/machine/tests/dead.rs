use super::*;

#[test]
fn a_dead_provider_is_salvaged_at_once() {
    let mut scene = Scene::started(2);
    scene.event(1, TraceeEvent::Disconnected);
    assert_eq!(scene.actions(1), [TraceeAction::Finish(End::Disconnected)]);
    assert_eq!(scene.tracee(1), TraceeState::Dead);
    assert_eq!(scene.state(), Some(SessionState::Started));
}

#[test]
fn the_session_does_not_wait_for_dead_providers() {
    let mut scene = Scene::starting(2);
    scene.packet(1, Packet::Started { version: 1 });
    scene.event(2, TraceeEvent::Disconnected);
    assert_eq!(scene.state(), Some(SessionState::Started));
    scene.dispatch(Input::Terminate(1));
    scene.event(1, TraceeEvent::Disconnected);
    assert_eq!(scene.state(), None, "no provider is left");
}

#[test]
fn a_death_while_stopping_lets_the_session_stop() {
    let mut scene = Scene::started(2);
    scene.dispatch(Input::Stop(1));
    scene.packet(1, Packet::Stopped);
    scene.event(2, TraceeEvent::Disconnected);
    assert_eq!(scene.state(), Some(SessionState::Stopped));
}

#[test]
fn a_death_while_terminating_finishes_once() {
    let mut scene = Scene::started(1);
    scene.dispatch(Input::Terminate(1));
    scene.packet(1, Packet::Stopped);
    scene.log.clear();
    scene.event(1, TraceeEvent::PacketsClosed);
    scene.event(1, TraceeEvent::Disconnected);
    assert_eq!(scene.actions(1), [TraceeAction::Finish(End::Terminated)]);
}

#[test]
fn a_death_after_stopped_is_an_orderly_end() {
    let mut scene = Scene::started(1);
    scene.packet(1, Packet::Stopped);
    scene.event(1, TraceeEvent::Disconnected);
    assert_eq!(scene.actions(1), [TraceeAction::Finish(End::Terminated)]);
}

#[test]
fn a_closed_packet_socket_ends_the_session_but_not_the_connection() {
    let mut scene = Scene::started(1);
    scene.event(1, TraceeEvent::PacketsClosed);
    assert_eq!(scene.actions(1), [TraceeAction::Finish(End::Disconnected)]);
    assert_eq!(scene.tracee(1), TraceeState::Registered);
}

#[test]
fn a_death_without_a_session_needs_no_action() {
    let mut scene = Scene::new(1);
    scene.event(1, TraceeEvent::Disconnected);
    assert_eq!(scene.log, []);
    assert_eq!(scene.tracee(1), TraceeState::Dead);
}

#[test]
fn a_flooding_provider_is_cut_off_alone() {
    let mut scene = Scene::started(2);
    scene.event(1, TraceeEvent::Violation(Violation::Flood));
    let actions = scene.actions(1);
    assert_eq!(actions[0], TraceeAction::Finish(End::CutOff(Violation::Flood)));
    assert_eq!(actions[1], TraceeAction::CutOff(Violation::Flood));
    assert_eq!(scene.tracee(2), TraceeState::Started);
    scene.event(1, TraceeEvent::Violation(Violation::Flood));
    assert_eq!(scene.log, [], "dead providers are ignored");
}
