use super::*;

#[test]
fn the_session_is_stopped_when_all_have_replied() {
    let mut scene = Scene::started(2);
    scene.dispatch(Input::Stop(1));
    assert_eq!(scene.actions(1), [send(ToProvider::Stop)]);
    assert_eq!(scene.actions(2), [send(ToProvider::Stop)]);
    scene.packet(2, Packet::Stopped);
    assert_eq!(scene.state(), Some(SessionState::Stopping));
    scene.packet(1, Packet::Stopped);
    assert_eq!(scene.state(), Some(SessionState::Stopped));
    assert!(scene.coordinator.tracee(1).unwrap().stop_acknowledged());
}

#[test]
fn a_stop_is_sent_before_the_reply_to_start() {
    let mut scene = Scene::starting(1);
    scene.dispatch(Input::Stop(1));
    assert_eq!(scene.actions(1), [send(ToProvider::Stop)]);
    scene.packet(1, Packet::Started { version: 1 });
    scene.packet(1, Packet::Stopped);
    assert_eq!(scene.actions(1), []);
    assert_eq!(scene.state(), Some(SessionState::Stopped));
}

#[test]
fn a_provider_may_stop_by_itself() {
    let mut scene = Scene::started(2);
    scene.packet(1, Packet::Stopped);
    assert_eq!(scene.tracee(1), TraceeState::Stopped);
    assert_eq!(scene.state(), Some(SessionState::Started));
    scene.dispatch(Input::Stop(1));
    assert_eq!(scene.actions(1), []);
    assert_eq!(scene.actions(2), [send(ToProvider::Stop)]);
}

#[test]
fn a_second_stopped_is_a_violation() {
    let mut scene = Scene::started(1);
    scene.dispatch(Input::Stop(1));
    scene.packet(1, Packet::Stopped);
    scene.packet(1, Packet::Stopped);
    assert_eq!(scene.tracee(1), TraceeState::Dead);
}

#[test]
fn a_stopped_session_starts_again() {
    let mut scene = Scene::started(1);
    scene.packet(1, Packet::SaveBuffer { wrapped_count: 0, durable_data_end: 8 });
    scene.dispatch(Input::Stop(1));
    scene.packet(1, Packet::Stopped);
    scene.log.clear();
    scene.dispatch(Input::Start(1, StartOptions::default()));
    assert_eq!(scene.actions(1), [start()]);
    scene.packet(1, Packet::Started { version: 1 });
    assert_eq!(scene.state(), Some(SessionState::Started));
    scene.packet(1, Packet::SaveBuffer { wrapped_count: 1, durable_data_end: 8 });
    assert_eq!(
        scene.actions(1),
        [TraceeAction::Save(SaveRequest { wrapped_count: 1, durable_data_end: 8 })],
        "the wrapped count continues"
    );
}

#[test]
fn inputs_without_a_session_are_ignored() {
    let mut scene = Scene::new(1);
    for input in [Input::Stop(1), Input::Start(1, StartOptions::default()), Input::Terminate(1)] {
        scene.dispatch(input);
    }
    assert_eq!(scene.log, []);
}
