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
    scene.dispatch(register(1));
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

/// A session that is limited to some providers neither starts the others nor waits for them.
#[test]
fn a_session_may_be_limited_to_ids_and_names() {
    let mut scene = Scene::new(0);
    let register = |scene: &mut Scene, id, name: &str| {
        let name = name.to_owned();
        let registration = Registration { name, ..Registration::default() };
        scene.dispatch(Input::Registered(id, registration));
    };
    for (id, name) in [(1, "server"), (2, "web"), (3, "web")] {
        register(&mut scene, id, name);
    }
    let only = ProviderFilter { ids: vec![2], names: vec!["server".to_owned()] };
    scene.dispatch(Input::Open(1, ProviderConfig { only, ..config() }));
    scene.dispatch(Input::Start(1, StartOptions::default()));
    register(&mut scene, 4, "server");
    register(&mut scene, 5, "web");
    for (id, is_recorded) in [(1, true), (2, true), (3, false), (4, true), (5, false)] {
        let actions = scene.actions(id);
        assert_eq!(actions.contains(&TraceeAction::CreateBuffer), is_recorded, "{id}: {actions:?}");
    }
    for id in [1, 2, 4] {
        scene.packet(id, Packet::Started { version: 1 });
    }
    assert_eq!(scene.state(), Some(SessionState::Started));
}

/// Also by a session that is limited to some providers; and never by another one.
#[test]
fn a_companion_is_recorded_by_its_session_only() {
    let mut scene = Scene::new(0);
    let mut register = |id, companion| {
        let registration = Registration { companion, ..Registration::default() };
        scene.dispatch(Input::Registered(id, registration));
    };
    register(1, Some(4242));
    register(2, Some(4343));
    register(3, None);
    let only = ProviderFilter { ids: vec![2], names: Vec::new() };
    let companion = Some(4242);
    scene.dispatch(Input::Open(1, ProviderConfig { only, companion, ..config() }));
    scene.dispatch(Input::Start(1, StartOptions::default()));
    for (id, is_recorded) in [(1, true), (2, false), (3, false)] {
        let actions = scene.actions(id);
        assert_eq!(actions.contains(&TraceeAction::CreateBuffer), is_recorded, "{id}: {actions:?}");
    }
    scene.dispatch(Input::Open(2, config()));
    scene.dispatch(Input::Start(2, StartOptions::default()));
    assert_eq!(scene.coordinator.sessions_of(1), [1]);
    assert!(scene.coordinator.sessions_of(2).is_empty());
    assert_eq!(scene.coordinator.sessions_of(3), [2]);
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

/// A session of one user neither starts the providers of others nor shows itself to them.
#[test]
fn a_session_of_a_user_records_the_providers_of_this_user() {
    let mut scene = Scene::new(0);
    let register = |scene: &mut Scene, id, uid| {
        scene.dispatch(register_as(id, uid));
    };
    register(&mut scene, 1, 1000);
    register(&mut scene, 2, 0);
    scene.dispatch(Input::Open(1, ProviderConfig { user: Some(1000), ..config() }));
    scene.dispatch(Input::Start(1, StartOptions::default()));
    register(&mut scene, 3, 1000);
    register(&mut scene, 4, 1001);
    let started = |started| send(ToProvider::Registered { started });
    assert!(scene.actions(1).contains(&start()));
    assert!(scene.actions(3).starts_with(&[started(true), TraceeAction::CreateBuffer]));
    assert_eq!((scene.actions(2), scene.actions(4)), (vec![started(false)], vec![started(false)]));
    // The programs of another user record for another session, and do not delay this one.
    scene.dispatch(Input::Open(2, ProviderConfig { user: Some(1001), ..config() }));
    scene.dispatch(Input::Start(2, StartOptions::default()));
    assert!(scene.actions(4).contains(&start()));
    for id in [1, 3] {
        scene.packet(id, Packet::Started { version: 1 });
    }
    assert_eq!(scene.state(), Some(SessionState::Started));
}
