use super::*;

fn registered(started: bool) -> TraceeAction {
    send(ToProvider::Registered { started })
}

#[test]
fn a_late_provider_joins_a_running_session() {
    for mut scene in [Scene::starting(1), Scene::started(1)] {
        scene.dispatch(register(7));
        let actions = scene.actions(7);
        assert_eq!(actions.len(), 4, "{actions:?}");
        assert_eq!(actions[..2], [registered(true), TraceeAction::CreateBuffer]);
        assert!(matches!(actions[2], TraceeAction::Send(ToProvider::Initialize(_))));
        assert_eq!(actions[3], start());
    }
}

#[test]
fn a_late_provider_does_not_reset_the_session() {
    let mut scene = Scene::started(1);
    scene.dispatch(register(7));
    assert_eq!(scene.state(), Some(SessionState::Started));
    scene.packet(7, Packet::Started { version: 1 });
    assert_eq!(scene.tracee(7), TraceeState::Started);
}

#[test]
fn a_provider_that_registers_before_the_start_waits_for_it() {
    let mut scene = Scene::new(0);
    scene.dispatch(Input::Open(1, config()));
    scene.dispatch(register(7));
    assert_eq!(scene.actions(7)[0], registered(false));
    assert_eq!(scene.tracee(7), TraceeState::Initialized);
    scene.dispatch(Input::Start(1, StartOptions::default()));
    assert_eq!(scene.actions(7), [start()]);
}

#[test]
fn a_provider_that_registers_after_the_stop_does_not_join() {
    let mut scene = Scene::started(1);
    scene.dispatch(Input::Stop(1));
    scene.dispatch(register(7));
    assert_eq!(scene.actions(7), [registered(false)]);
    scene.packet(1, Packet::Stopped);
    scene.dispatch(register(8));
    scene.dispatch(Input::Terminate(1));
    scene.dispatch(register(9));
    for id in [7, 8, 9] {
        assert_eq!(scene.tracee(id), TraceeState::Registered);
    }
    scene.event(1, TraceeEvent::PacketsClosed);
    assert_eq!(scene.state(), None);
}

#[test]
fn a_late_provider_is_stopped_with_the_others() {
    let mut scene = Scene::started(1);
    scene.dispatch(register(7));
    scene.packet(7, Packet::Started { version: 1 });
    scene.log.clear();
    scene.dispatch(Input::Stop(1));
    assert_eq!(scene.actions(7), [send(ToProvider::Stop)]);
}

#[test]
fn hundreds_of_late_providers_join() {
    let mut scene = Scene::started(0);
    for id in 1..=500 {
        scene.dispatch(register(id));
        scene.packet(id, Packet::Started { version: 1 });
    }
    scene.dispatch(Input::Terminate(1));
    for id in 1..=500 {
        scene.packet(id, Packet::Stopped);
    }
    for id in 1..=500 {
        scene.event(id, TraceeEvent::PacketsClosed);
    }
    assert_eq!(scene.state(), None);
}
