//! The session of a recorder.

use super::*;
use trace_protocol::control::{ErrorCode, StartError, StopError};

fn scene() -> Scene {
    scene_with(None)
}

fn scene_with(no_pause: Option<String>) -> Scene {
    let mut scene = Scene::new();
    let owner = caller(USER, false);
    let config = TraceConfig { duration: Duration::from_secs(60), ..detached("app") };
    scene.machine.serve(owner, config, Arc::default(), no_pause);
    scene
}

#[test]
fn controllers_use_the_session_of_a_recorder() {
    let mut scene = scene();
    scene.connect(ROOT, 0);
    for client in [CLIENT, ROOT] {
        scene.call(client, Request::Flush("app".to_owned()));
        scene.call(client, Request::GetSessions);
        assert_eq!(scene.take_actions(), ["flush 1", "sessions [\"app\"]"]);
    }
    scene.connect(3, USER + 1);
    let reason = general(scene.call(3, terminate("")), GeneralError::NoSession);
    assert_eq!(reason, "there is no session");
}

#[test]
fn a_recorder_has_no_other_session() {
    let mut scene = scene();
    let refused = scene.call(CLIENT, Request::Initialize(named("b")));
    general(refused, GeneralError::Unsupported);
    general(scene.call(CLIENT, abort("app")), GeneralError::Unsupported);
    let start = StartRequest { session: "app".to_owned(), ..StartRequest::default() };
    let code = error(scene.call(CLIENT, Request::Start(start))).code;
    assert_eq!(code, ErrorCode::Start(StartError::AlreadyStarted));
    assert!(scene.take_actions().is_empty());
}

#[test]
fn the_session_of_a_recorder_stops_and_starts_again() {
    let mut scene = scene();
    let pause = scene.send(CLIENT, stop("app", false));
    assert_eq!(scene.take_actions(), ["pause 1"]);
    scene.on(Input::Session(SERVED, SessionEvent::Paused));
    assert_eq!(scene.reply(CLIENT, pause), Some(Reply::Paused));
    let (session, disposition) = ("app".to_owned(), BufferDisposition::Retain);
    let start = StartRequest { session, disposition, ..StartRequest::default() };
    let id = scene.send(CLIENT, Request::Start(start));
    assert_eq!(scene.take_actions(), ["start 1 Retain None"]);
    assert_eq!(scene.reply(CLIENT, id), None, "its program does not record yet");
    scene.on(Input::Session(SERVED, SessionEvent::Recording));
    assert_eq!(scene.reply(CLIENT, id), Some(Reply::Started));
    assert_eq!(scene.machine.deadline(), None, "its process ends it at its time");
}

#[test]
fn a_recorder_that_cannot_pause_has_the_reason() {
    let mut scene = scene_with(Some("it has one buffer".to_owned()));
    let reason = general(scene.call(CLIENT, stop("app", false)), GeneralError::Unsupported);
    assert_eq!(reason, "it has one buffer");
    scene.send(CLIENT, stop("app", true));
    assert_eq!(scene.take_actions(), ["stop 1"]);
}

#[test]
fn those_that_stop_a_recorder_get_its_results() {
    let mut scene = scene();
    scene.connect(3, USER);
    let waiting = scene.send(CLIENT, stop("app", true));
    scene.on(Input::Disconnected(3));
    assert_eq!(scene.take_actions(), ["stop 1"]);
    scene.ended(SERVED);
    assert_eq!(scene.reply(CLIENT, waiting), stopped("app"));
    let code = error(scene.call(CLIENT, stop("app", true))).code;
    assert_eq!(code, ErrorCode::Stop(StopError::NotInitialized));
    scene.on(Input::ShutDown);
    assert!(scene.machine.has_ended());
}

/// The recorder reports the reason itself.
#[test]
fn a_recorder_that_fails_waits_for_no_results() {
    let mut scene = scene();
    let waiting = scene.send(CLIENT, stop("app", true));
    scene.take_actions();
    scene.on(Input::ShutDown);
    general(scene.reply(CLIENT, waiting), GeneralError::ShuttingDown);
    assert!(scene.machine.has_ended() && scene.take_actions().is_empty());
}

#[test]
fn the_group_of_a_recorders_socket_has_no_permission() {
    let mut scene = scene();
    scene.on(Input::Connected(8, caller(USER + 1, true)));
    scene.on(Input::Connected(9, caller(0, true)));
    scene.take_actions();
    for (client, expected) in [(8, "Providers(Some(1001))"), (9, "Providers(None)")] {
        scene.call(client, Request::GetProviders);
        assert_eq!(scene.take_actions(), [expected]);
    }
}
