use super::*;
use trace_protocol::control::{ErrorCode, StartError};

fn start(scene: &mut Scene, name: &str) -> ErrorCode {
    let start = StartRequest { session: name.to_owned(), ..StartRequest::default() };
    error(scene.call(CLIENT, Request::Start(start))).code
}

#[test]
fn a_session_starts_once_its_output_is_open() {
    let mut scene = Scene::new();
    let id = scene.starting(CLIENT, named("a"));
    assert_eq!((scene.take_actions(), scene.reply(CLIENT, id)), (vec!["open 1 []".into()], None));
    scene.on(Input::Session(1, SessionEvent::Opened));
    assert_eq!(scene.reply(CLIENT, id), Some(Reply::Started));
}

#[test]
fn a_start_that_fails_ends_the_session() {
    let mut scene = Scene::new();
    let id = scene.starting(CLIENT, named("a"));
    let stop = scene.send(CLIENT, stop("a", true));
    let error = ControlError::general(GeneralError::Output, "no space");
    scene.on(Input::Session(1, SessionEvent::NotOpened(error.clone())));
    assert_eq!(scene.reply(CLIENT, id), Some(Reply::Failed(error.clone())));
    assert_eq!(scene.reply(CLIENT, stop), Some(Reply::Failed(error)));
    scene.call(CLIENT, Request::GetSessions);
    assert_eq!(scene.actions.last().unwrap(), "sessions []");
}

/// The values are those of Fuchsia.
#[test]
fn a_start_out_of_order_has_its_error() {
    let mut scene = Scene::new();
    assert_eq!(start(&mut scene, "a"), ErrorCode::Start(StartError::NotInitialized));
    scene.starting(CLIENT, detached("a"));
    assert_eq!(start(&mut scene, "a"), ErrorCode::Start(StartError::AlreadyStarted));
    scene.on(Input::Session(1, SessionEvent::Opened));
    assert_eq!(start(&mut scene, "a"), ErrorCode::Start(StartError::AlreadyStarted));
    let stopping = scene.send(CLIENT, stop("a", true));
    assert_eq!(start(&mut scene, "a"), ErrorCode::Start(StartError::Stopping));
    scene.ended(1);
    assert_eq!(scene.reply(CLIENT, stopping), stopped("a"));
    assert_eq!(start(&mut scene, "a"), ErrorCode::Start(StartError::NotInitialized));
    scene.started(CLIENT, 2, detached("b"));
    scene.ended(2);
    assert_eq!(start(&mut scene, "b"), ErrorCode::Start(StartError::Terminating));
}

#[test]
fn categories_are_added_at_the_start() {
    let mut scene = Scene::new();
    let categories = vec!["db".to_owned()];
    scene.call(CLIENT, Request::Initialize(TraceConfig { categories, ..named("a") }));
    scene.call(CLIENT, Request::Initialize(named("all")));
    for session in ["a", "all"] {
        let additional_categories = vec!["#web".to_owned()];
        let session = session.to_owned();
        let start = StartRequest { session, additional_categories, ..StartRequest::default() };
        scene.call(CLIENT, Request::Start(start));
    }
    let expected = [r#"open 1 ["db", "http*", "-http.cache"]"#, "open 2 []"];
    assert_eq!(scene.actions, expected, "all categories remain all");
}

#[test]
fn a_stop_during_the_start_follows_it() {
    let mut scene = Scene::new();
    let start = scene.starting(CLIENT, named("a"));
    let stop = scene.send(CLIENT, abort("a"));
    scene.take_actions();
    scene.on(Input::Session(1, SessionEvent::Opened));
    assert_eq!(scene.reply(CLIENT, start), Some(Reply::Started));
    assert_eq!(scene.take_actions(), ["discard 1"]);
    scene.ended(1);
    assert_eq!(scene.reply(CLIENT, stop), stopped("a"));
}
