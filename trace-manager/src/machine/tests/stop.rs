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
    assert!(scene.coordinator.tracee(1).unwrap().replies().stop);
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
fn a_session_that_starts_again_gets_the_old_buffer_and_a_new_one() {
    let mut scene = Scene::started(1);
    scene.packet(1, Packet::SaveBuffer { wrapped_count: 0, durable_data_end: 8 });
    scene.dispatch(Input::Stop(1));
    scene.packet(1, Packet::Stopped);
    scene.log.clear();
    scene.dispatch(Input::Start(1, StartOptions::default()));
    assert_eq!(scene.actions(1), [send(ToProvider::Terminate)]);
    scene.event(1, TraceeEvent::PacketsClosed);
    let initialize = Initialize { mode: config().mode, categories: config().categories };
    let expected = [
        TraceeAction::Finish(End::Terminated),
        TraceeAction::CreateBuffer,
        send(ToProvider::Initialize(initialize)),
        start(),
    ];
    assert_eq!(scene.actions(1), expected);
    assert_eq!(scene.state(), Some(SessionState::Starting), "it does not record yet");
    scene.packet(1, Packet::Started { version: 1 });
    assert_eq!(scene.state(), Some(SessionState::Started));
    scene.packet(1, Packet::SaveBuffer { wrapped_count: 0, durable_data_end: 8 });
    let request = SaveRequest { wrapped_count: 0, durable_data_end: 8 };
    assert_eq!(scene.actions(1), [TraceeAction::Save(request)], "the counts are new ones");
}

/// It keeps its buffer, which a later start may clear.
#[test]
fn a_stopped_provider_keeps_its_buffer() {
    let mut scene = Scene::started(2);
    scene.dispatch(Input::Stop(1));
    scene.packet(1, Packet::Stopped);
    scene.packet(2, Packet::Stopped);
    scene.log.clear();
    scene.dispatch(register(3));
    assert_eq!(scene.actions(3), [send(ToProvider::Registered { started: false })]);
    scene.event(2, TraceeEvent::Disconnected);
    assert_eq!(scene.actions(2), [TraceeAction::Finish(End::Terminated)]);
    assert_eq!((scene.actions(1), scene.tracee(1)), (Vec::new(), TraceeState::Stopped));
    scene.dispatch(Input::Start(1, StartOptions::default()));
    assert_eq!(scene.actions(1), [send(ToProvider::Terminate)]);
    assert!(scene.actions(3).contains(&start()), "it joins the session now");
    scene.dispatch(Input::Terminate(1));
    scene.event(1, TraceeEvent::PacketsClosed);
    assert_eq!(scene.actions(1), [TraceeAction::Finish(End::Terminated)]);
}

/// The first start has decided on the records in a buffer that its provider has not left.
#[test]
fn a_start_and_the_next_stop_wait_until_providers_have_left_their_buffers() {
    let mut scene = Scene::started(1);
    scene.dispatch(Input::Stop(1));
    scene.packet(1, Packet::Stopped);
    scene.dispatch(Input::Start(1, StartOptions::default()));
    assert!(matches!(scene.tracee(1), TraceeState::Terminating { .. }));
    assert_eq!(scene.state(), Some(SessionState::Starting));
    scene.dispatch(Input::Stop(1));
    assert_eq!(scene.state(), Some(SessionState::Stopping));
    scene.dispatch(Input::Start(1, StartOptions::default()));
    assert_eq!(scene.state(), Some(SessionState::Stopping), "it has not stopped");
    scene.event(1, TraceeEvent::PacketsClosed);
    assert_eq!(scene.state(), Some(SessionState::Stopped));
    scene.log.clear();
    scene.dispatch(Input::Start(1, StartOptions::default()));
    assert!(scene.actions(1).contains(&start()), "it is not excluded");
    scene.packet(1, Packet::Started { version: 1 });
    assert_eq!(scene.state(), Some(SessionState::Started));
}

#[test]
fn a_provider_that_got_no_buffer_tries_again_when_the_session_starts_again() {
    let mut scene = Scene::started(1);
    scene.memory = false;
    scene.dispatch(register(2));
    assert!(scene.actions(2).contains(&TraceeAction::CreateBuffer));
    scene.dispatch(Input::Stop(1));
    scene.packet(1, Packet::Stopped);
    scene.memory = true;
    scene.log.clear();
    scene.dispatch(Input::Start(1, StartOptions::default()));
    assert!(scene.actions(2).contains(&start()), "it is not excluded");
}

/// However often the session starts again, it gets no further buffer before.
#[test]
fn a_provider_that_was_silent_at_the_stop_records_again_when_it_has_left_its_buffer() {
    let mut scene = Scene::started(1);
    scene.dispatch(Input::Stop(1));
    scene.pass(Timeouts::default().stop);
    assert_eq!(scene.state(), Some(SessionState::Stopped));
    scene.log.clear();
    for _ in 0..2 {
        scene.dispatch(Input::Start(1, StartOptions::default()));
        assert!(!scene.actions(1).contains(&TraceeAction::CreateBuffer));
        assert_eq!(scene.state(), Some(SessionState::Started));
        scene.dispatch(Input::Stop(1));
    }
    scene.dispatch(Input::Start(1, StartOptions::default()));
    scene.dispatch(Input::BuffersLeft(1));
    assert!(scene.actions(1).contains(&start()));
    scene.event(1, TraceeEvent::PacketsClosed);
    scene.dispatch(Input::BuffersLeft(1));
    assert_eq!(scene.coordinator.sessions_of(1), [], "it has left the session by itself");
}

#[test]
fn another_session_gets_a_provider_that_has_stopped() {
    let mut scene = Scene::started(1);
    scene.dispatch(Input::Stop(1));
    scene.packet(1, Packet::Stopped);
    scene.dispatch(Input::Open(2, config()));
    scene.dispatch(Input::Start(2, StartOptions::default()));
    scene.event(1, TraceeEvent::PacketsClosed);
    assert_eq!(scene.coordinator.sessions_of(1), [2]);
    scene.packet(1, Packet::Started { version: 1 });
    scene.log.clear();
    scene.dispatch(Input::Start(1, StartOptions::default()));
    assert_eq!(scene.coordinator.sessions_of(1), [1, 2], "the first session joins again");
    assert!(scene.log.contains(&Output::Join(1, 1)));
}

#[test]
fn inputs_without_a_session_are_ignored() {
    let mut scene = Scene::new(1);
    for input in [Input::Stop(1), Input::Start(1, StartOptions::default()), Input::Terminate(1)] {
        scene.dispatch(input);
    }
    assert_eq!(scene.log, []);
}
