use super::*;

#[test]
fn the_session_is_started_when_all_have_replied() {
    let mut scene = Scene::new(2);
    scene.dispatch(Input::Open(1, config()));
    scene.log.clear();
    scene.dispatch(Input::Start(1, StartOptions::default()));
    assert_eq!(scene.actions(1), [start()]);
    assert_eq!(scene.actions(2), [start()]);
    scene.packet(1, Packet::Started { version: 1 });
    assert_eq!(scene.state(), Some(SessionState::Starting));
    scene.packet(2, Packet::Started { version: 1 });
    assert_eq!(scene.state(), Some(SessionState::Started));
    assert_eq!(scene.log.last(), Some(&Output::State(1, SessionState::Started)));
}

#[test]
fn a_session_without_providers_starts() {
    let scene = Scene::starting(0);
    assert_eq!(scene.state(), Some(SessionState::Started));
}

#[test]
fn a_second_start_is_ignored() {
    let mut scene = Scene::started(1);
    scene.dispatch(Input::Start(1, StartOptions::default()));
    assert_eq!(scene.log, []);
}

#[test]
fn another_packet_version_is_a_violation() {
    let mut scene = Scene::starting(1);
    scene.packet(1, Packet::Started { version: 2 });
    let violation = Violation::PacketVersion(2);
    assert_eq!(
        scene.actions(1),
        [TraceeAction::Finish(End::CutOff(violation.clone())), TraceeAction::CutOff(violation)]
    );
    assert_eq!(scene.state(), Some(SessionState::Started), "the session continues");
}

#[test]
fn a_second_started_is_a_violation() {
    let mut scene = Scene::started(1);
    scene.packet(1, Packet::Started { version: 1 });
    assert_eq!(scene.tracee(1), TraceeState::Dead);
}

#[test]
fn only_streaming_providers_flush() {
    let mut scene = Scene::started(1);
    scene.dispatch(Input::Flush(1));
    assert_eq!(scene.actions(1), [send(ToProvider::Flush)]);
    let mut scene = Scene::new(1);
    scene.dispatch(Input::Open(1, ProviderConfig { mode: BufferingMode::Circular, ..config() }));
    scene.dispatch(Input::Start(1, StartOptions::default()));
    scene.log.clear();
    scene.dispatch(Input::Flush(1));
    assert_eq!(scene.actions(1), []);
}

#[test]
fn an_alert_is_reported() {
    let mut scene = Scene::started(1);
    let name = trace_protocol::packet::AlertName::new("low memory").unwrap();
    scene.packet(1, Packet::Alert(name));
    assert_eq!(scene.actions(1), [TraceeAction::Alert(name)]);
}

/// The format of a provider's data depends on the version in STARTED.
#[test]
fn a_save_before_started_is_a_violation() {
    let mut scene = Scene::starting(1);
    scene.packet(1, Packet::SaveBuffer { wrapped_count: 0, durable_data_end: 0 });
    let violation = Violation::Unexpected("SAVE_BUFFER");
    assert!(scene.actions(1).contains(&TraceeAction::CutOff(violation)));
}
