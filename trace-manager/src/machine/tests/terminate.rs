use super::*;

const FINISHED: TraceeAction = TraceeAction::Finish(End::Terminated);

#[test]
fn the_rest_is_read_when_the_packet_socket_closes() {
    let mut scene = Scene::started(1);
    scene.dispatch(Input::Stop(1));
    scene.packet(1, Packet::Stopped);
    scene.log.clear();
    scene.dispatch(Input::Terminate(1));
    assert_eq!(scene.actions(1), [send(ToProvider::Terminate)]);
    assert_eq!(scene.state(), Some(SessionState::Terminating));
    scene.event(1, TraceeEvent::PacketsClosed);
    assert_eq!(scene.actions(1), [FINISHED]);
    assert_eq!(scene.log.last(), Some(&Output::State(1, SessionState::Terminated)));
    assert_eq!(scene.state(), None);
    assert_eq!(scene.tracee(1), TraceeState::Registered);
}

#[test]
fn terminate_stops_first() {
    let mut scene = Scene::started(2);
    scene.dispatch(Input::Terminate(1));
    assert_eq!(scene.actions(1), [send(ToProvider::Stop)]);
    scene.packet(1, Packet::Stopped);
    assert_eq!(scene.actions(1), [], "the other provider has not stopped");
    scene.packet(2, Packet::Stopped);
    assert_eq!(scene.actions(1), [send(ToProvider::Terminate)]);
}

#[test]
fn terminate_while_stopping_is_remembered() {
    let mut scene = Scene::started(1);
    scene.dispatch(Input::Stop(1));
    scene.dispatch(Input::Terminate(1));
    scene.log.clear();
    scene.packet(1, Packet::Stopped);
    assert_eq!(scene.actions(1), [send(ToProvider::Terminate)]);
}

#[test]
fn a_session_without_providers_ends_at_once() {
    let mut scene = Scene::started(0);
    scene.dispatch(Input::Terminate(1));
    assert_eq!(scene.state(), None);
}

#[test]
fn a_session_that_never_started_ends() {
    let mut scene = Scene::new(1);
    scene.dispatch(Input::Open(1, config()));
    scene.dispatch(Input::Terminate(1));
    scene.event(1, TraceeEvent::PacketsClosed);
    assert_eq!(scene.state(), None);
    assert_eq!(scene.tracee(1), TraceeState::Registered);
}

#[test]
fn a_thousand_sessions_follow_each_other() {
    let mut scene = Scene::new(3);
    for _ in 0..1000 {
        scene.dispatch(Input::Open(1, config()));
        scene.dispatch(Input::Start(1, StartOptions::default()));
        for id in 1..=3 {
            scene.packet(id, Packet::Started { version: 1 });
            scene.packet(id, Packet::SaveBuffer { wrapped_count: 0, durable_data_end: 64 });
        }
        scene.dispatch(Input::Terminate(1));
        for id in 1..=3 {
            scene.packet(id, Packet::Stopped);
        }
        for id in 1..=3 {
            scene.event(id, TraceeEvent::PacketsClosed);
        }
        assert_eq!(scene.state(), None);
        assert_eq!(scene.log.iter().filter(|output| is_finish(output)).count(), 3);
        scene.log.clear();
    }
}

fn is_finish(output: &Output) -> bool {
    matches!(output, Output::Provider(_, action) if *action == FINISHED)
}
