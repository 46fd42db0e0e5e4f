use super::*;
use trace_protocol::control::{ErrorCode, StartError};

fn start(scene: &mut Scene, name: &str) -> ErrorCode {
    let start = StartRequest { session: name.to_owned(), ..StartRequest::default() };
    error(scene.call(CLIENT, Request::Start(start))).code
}

#[test]
fn a_session_starts_once_its_output_is_open_and_its_programs_record() {
    let mut scene = Scene::new();
    let id = scene.starting(CLIENT, named("a"));
    assert_eq!((scene.take_actions(), scene.reply(CLIENT, id)), (vec!["open 1 []".into()], None));
    scene.on(Input::Session(1, SessionEvent::Recording));
    scene.on(Input::Session(1, SessionEvent::Opened));
    assert_eq!(scene.reply(CLIENT, id), None, "its programs do not record yet");
    scene.on(Input::Session(1, SessionEvent::Recording));
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
    scene.opened(1);
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

/// Each is what ends a session: a stop, an abort, the end of its client, that of the daemon, a
/// trigger, and the session's own end.
#[test]
fn what_ends_a_session_ends_the_wait_of_its_start() {
    let request = |scene: &mut Scene| {
        scene.send(3, stop("a", true));
    };
    let aborted = |scene: &mut Scene| {
        scene.send(3, abort("a"));
    };
    let disconnect = |scene: &mut Scene| scene.on(Input::Disconnected(CLIENT));
    let shut_down = |scene: &mut Scene| scene.on(Input::ShutDown);
    let trigger = |scene: &mut Scene| scene.on(Input::Session(1, SessionEvent::Stopping));
    let end = |scene: &mut Scene| scene.ended(1);
    type Case<'a> = (&'a dyn Fn(&mut Scene), &'a [&'a str]);
    let cases: [Case<'_>; 6] = [
        (&request, &["stop 1"]),
        (&aborted, &["discard 1"]),
        (&disconnect, &["stop 1"]),
        (&shut_down, &["stop 1"]),
        (&trigger, &[]),
        (&end, &[]),
    ];
    for (act, actions) in cases {
        let mut scene = Scene::new();
        scene.connect(3, USER);
        scene.call(CLIENT, Request::Initialize(named("a")));
        let session = "a".to_owned();
        let start = scene.send(3, Request::Start(StartRequest { session, ..Default::default() }));
        scene.on(Input::Session(1, SessionEvent::Opened));
        scene.take_actions();
        act(&mut scene);
        assert_eq!(scene.take_actions(), actions);
        assert_eq!(scene.reply(3, start), Some(Reply::Started));
    }
}

#[test]
fn a_start_does_not_wait_longer_than_its_time_and_the_session_continues() {
    let mut scene = Scene::new();
    let (second, duration) = (Duration::from_secs(1), Duration::from_secs(9));
    let config = TraceConfig { start_timeout: second, duration, ..named("a") };
    let start = scene.starting(CLIENT, config);
    scene.on(Input::Session(1, SessionEvent::Opened));
    scene.take_actions();
    assert_eq!(scene.machine.deadline(), Some(second));
    scene.now = second;
    scene.on(Input::Tick);
    assert_eq!(scene.reply(CLIENT, start), Some(Reply::Started));
    assert_eq!(scene.take_actions(), ["begin 1"]);
    assert_eq!(scene.machine.deadline(), Some(second + duration));
}

/// Else a program that takes long to start would be recorded for less time, or not at all.
#[test]
fn the_time_of_a_session_begins_when_its_programs_record_for_the_first_time() {
    let second = Duration::from_secs(1);
    let mut scene = Scene::new();
    let config = TraceConfig { duration: 2 * second, start_timeout: 9 * second, ..named("a") };
    let start = scene.starting(CLIENT, config);
    scene.on(Input::Session(1, SessionEvent::Opened));
    scene.take_actions();
    scene.now = 5 * second;
    scene.on(Input::Tick);
    assert_eq!((scene.reply(CLIENT, start), scene.take_actions().len()), (None, 0));
    scene.on(Input::Session(1, SessionEvent::Recording));
    assert_eq!(scene.take_actions(), ["begin 1"]);
    assert_eq!(scene.machine.deadline(), Some(7 * second));
    scene.now = 6 * second;
    scene.send(CLIENT, stop("a", false));
    scene.on(Input::Session(1, SessionEvent::Paused));
    scene.call(CLIENT, Request::Start(StartRequest::default()));
    scene.on(Input::Session(1, SessionEvent::Recording));
    assert_eq!(scene.machine.deadline(), Some(7 * second), "not the second time");
    assert!(!scene.take_actions().contains(&"begin 1".to_owned()));
    scene.now = 7 * second;
    scene.on(Input::Tick);
    assert_eq!(scene.take_actions(), ["stop 1"]);
}

/// A stop without results ends the wait of the start, so the time begins.
#[test]
fn the_time_of_a_session_begins_if_it_stops_while_it_starts() {
    let mut scene = Scene::new();
    let second = Duration::from_secs(1);
    scene.starting(CLIENT, TraceConfig { duration: second, ..named("a") });
    scene.on(Input::Session(1, SessionEvent::Opened));
    scene.take_actions();
    scene.now = second;
    scene.send(CLIENT, stop("a", false));
    assert_eq!(scene.machine.deadline(), Some(2 * second));
    assert_eq!(scene.take_actions(), ["begin 1", "pause 1"]);
}
