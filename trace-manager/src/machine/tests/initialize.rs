use super::*;
use trace_protocol::message::Initialize;

fn initialize() -> TraceeAction {
    send(ToProvider::Initialize(Initialize {
        mode: BufferingMode::Streaming,
        categories: vec!["io".to_owned()],
    }))
}

#[test]
fn a_registration_gets_a_reply() {
    let mut scene = Scene::new(0);
    scene.dispatch(Input::Registered(1));
    assert_eq!(scene.actions(1), [send(ToProvider::Registered { started: false })]);
    assert_eq!(scene.tracee(1), TraceeState::Registered);
}

#[test]
fn open_gives_each_provider_a_buffer() {
    let mut scene = Scene::new(2);
    scene.dispatch(Input::Open(1, config()));
    for id in [1, 2] {
        assert_eq!(scene.actions(id), [TraceeAction::CreateBuffer, initialize()]);
        assert_eq!(scene.tracee(id), TraceeState::Initialized);
    }
    assert_eq!(scene.state(), Some(SessionState::Initialized));
}

#[test]
fn a_provider_without_a_buffer_does_not_join() {
    let mut scene = Scene::new(1);
    scene.memory = false;
    scene.dispatch(Input::Open(1, config()));
    scene.dispatch(Input::Start(1, StartOptions::default()));
    assert_eq!(scene.actions(1), [TraceeAction::CreateBuffer]);
    assert_eq!(scene.tracee(1), TraceeState::Registered);
    assert_eq!(scene.state(), Some(SessionState::Started));
}

#[test]
fn a_second_open_is_ignored() {
    let mut scene = Scene::started(1);
    scene.dispatch(Input::Open(1, config()));
    assert_eq!(scene.log, []);
    assert_eq!(scene.state(), Some(SessionState::Started));
}

#[test]
fn packets_before_the_start_are_violations() {
    for packet in [
        Packet::Started { version: 1 },
        Packet::Stopped,
        Packet::SaveBuffer { wrapped_count: 0, durable_data_end: 0 },
    ] {
        let mut scene = Scene::new(1);
        scene.dispatch(Input::Open(1, config()));
        scene.log.clear();
        scene.packet(1, packet);
        let actions = scene.actions(1);
        assert!(
            matches!(
                actions[..],
                [
                    TraceeAction::Finish(End::CutOff(Violation::Unexpected(_))),
                    TraceeAction::CutOff(Violation::Unexpected(_))
                ]
            ),
            "{packet:?}: {actions:?}"
        );
        assert_eq!(scene.tracee(1), TraceeState::Dead);
    }
}

#[test]
fn the_next_session_initializes_again() {
    let mut scene = Scene::started(1);
    scene.dispatch(Input::Terminate(1));
    scene.packet(1, Packet::Stopped);
    scene.event(1, TraceeEvent::PacketsClosed);
    assert_eq!(scene.state(), None);
    scene.log.clear();
    scene.dispatch(Input::Open(1, config()));
    assert_eq!(scene.actions(1), [TraceeAction::CreateBuffer, initialize()]);
}
