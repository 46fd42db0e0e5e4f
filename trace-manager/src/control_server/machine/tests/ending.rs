use super::*;
use trace_protocol::control::{ErrorCode, StopError};

#[test]
fn all_that_stop_a_session_get_the_results() {
    let mut scene = Scene::new();
    scene.started(CLIENT, 1, detached("a"));
    scene.connect(3, USER);
    let first = scene.send(CLIENT, stop("a", true));
    let second = scene.send(3, terminate("a"));
    assert_eq!(scene.take_actions(), ["stop 1"], "once");
    scene.ended(1);
    assert_eq!(scene.reply(CLIENT, first), stopped("a"));
    assert_eq!(scene.reply(3, second), stopped("a"));
    let stopped = error(scene.call(CLIENT, stop("a", true))).code;
    assert_eq!(stopped, ErrorCode::Stop(StopError::NotInitialized), "the name is free");
}

/// Its archive is removed, unless the abort comes too late.
#[test]
fn a_stop_fails_if_an_abort_follows() {
    for bytes in [0, 64] {
        let mut scene = Scene::new();
        scene.started(CLIENT, 1, detached("a"));
        let stop = scene.send(CLIENT, stop("a", true));
        scene.connect(3, USER);
        let terminated = scene.send(3, terminate("a"));
        scene.connect(4, USER);
        let aborter = scene.send(4, abort("a"));
        assert_eq!(scene.take_actions(), ["stop 1", "discard 1"]);
        let results = Summary { bytes, ..summary() };
        scene.on(Input::Session(1, SessionEvent::Ended(Box::new(results.clone()))));
        let results = Some(Reply::Stopped(Summary { session: "a".to_owned(), ..results }));
        assert_eq!(scene.reply(3, terminated), results);
        assert_eq!(scene.reply(4, aborter), results);
        let stopped = scene.reply(CLIENT, stop);
        match bytes {
            0 => assert_eq!(error(stopped).code, ErrorCode::Stop(StopError::Aborted)),
            _ => assert_eq!(stopped, results),
        }
    }
}

/// A request that fails changes nothing.
#[test]
fn an_abort_of_a_session_that_has_ended_leaves_its_results() {
    let mut scene = Scene::new();
    scene.started(CLIENT, 1, detached("a"));
    scene.ended(1);
    let reason = general(scene.call(CLIENT, abort("a")), GeneralError::NoSession);
    assert!(reason.starts_with("cannot abort session a: it has ended"), "{reason}");
    assert_eq!(scene.call(CLIENT, stop("a", true)), stopped("a"));
}

/// Otherwise they would take memory without a limit, if the session does not end.
#[test]
fn a_connection_waits_once_for_the_end_of_a_session() {
    let mut scene = Scene::new();
    scene.started(CLIENT, 1, detached("a"));
    let first = scene.send(CLIENT, stop("a", true));
    for request in [terminate("a"), abort("a")] {
        let reason = general(scene.call(CLIENT, request), GeneralError::BadRequest);
        assert_eq!(reason, "this connection waits for the end of the session already");
    }
    assert_eq!(scene.take_actions(), ["stop 1"]);
    scene.ended(1);
    assert_eq!(scene.reply(CLIENT, first), stopped("a"));
}

/// The values are those of Fuchsia.
#[test]
fn a_stop_out_of_order_has_its_error() {
    let mut scene = Scene::new();
    let code = |scene: &mut Scene| error(scene.call(CLIENT, stop("a", true))).code;
    assert_eq!(code(&mut scene), ErrorCode::Stop(StopError::NotInitialized));
    scene.call(CLIENT, Request::Initialize(named("a")));
    assert_eq!(code(&mut scene), ErrorCode::Stop(StopError::NotStarted));
    let start = StartRequest { session: "a".to_owned(), ..StartRequest::default() };
    scene.send(CLIENT, Request::Start(start));
    scene.on(Input::Session(1, SessionEvent::Opened));
    scene.send(CLIENT, abort("a"));
    assert_eq!(scene.actions.last().unwrap(), "discard 1");
    assert_eq!(code(&mut scene), ErrorCode::Stop(StopError::Aborted));
}

#[test]
fn a_session_ends_with_its_client() {
    let mut scene = Scene::new();
    scene.started(CLIENT, 1, named("a"));
    scene.started(CLIENT, 2, detached("b"));
    let starting = scene.starting(CLIENT, named("c"));
    scene.call(CLIENT, Request::Initialize(named("d")));
    scene.take_actions();
    scene.on(Input::Disconnected(CLIENT));
    assert_eq!(scene.take_actions(), ["stop 1"], "b is detached, and c is not open");
    scene.on(Input::Session(3, SessionEvent::Opened));
    assert_eq!(
        (scene.take_actions(), scene.reply(CLIENT, starting)),
        (vec!["stop 3".into()], None)
    );
    scene.ended(1);
    scene.ended(3);
    scene.connect(3, USER);
    scene.call(3, Request::GetSessions);
    assert_eq!(scene.take_actions(), [r#"sessions ["b"]"#]);
}

/// A detached session may end by itself, also when its client is gone.
#[test]
fn results_wait_for_a_client_up_to_a_limit() {
    let mut scene = Scene::with(ControlLimits { results: 2, ..ControlLimits::default() });
    for (session, name) in (1..).zip(["a", "b", "c"]) {
        scene.started(CLIENT, session, detached(name));
    }
    scene.on(Input::Disconnected(CLIENT));
    (1..=3).for_each(|session| scene.ended(session));
    scene.connect(3, USER);
    scene.call(3, Request::GetSessions);
    assert_eq!(scene.take_actions(), [r#"sessions ["b", "c"]"#]);
    assert_eq!(scene.call(3, stop("c", true)), stopped("c"));
    let reply = scene.call(3, Request::Initialize(detached("b")));
    assert_eq!(reply, Some(Reply::Initialized("b".to_owned())), "results do not occupy a name");
}

#[test]
fn the_results_of_an_attached_session_wait_while_its_client_is_connected() {
    let mut scene = Scene::new();
    scene.started(CLIENT, 1, named("a"));
    scene.ended(1);
    assert_eq!(scene.call(CLIENT, stop("a", true)), stopped("a"));
    scene.started(CLIENT, 2, named("a"));
    scene.ended(2);
    scene.on(Input::Disconnected(CLIENT));
    scene.connect(3, USER);
    scene.call(3, Request::GetSessions);
    assert_eq!(scene.take_actions(), ["sessions []"]);
}

#[test]
fn the_end_of_the_daemon_waits_for_all_sessions() {
    let mut scene = Scene::new();
    scene.started(CLIENT, 1, detached("a"));
    scene.started(CLIENT, 2, named("b"));
    let starting = scene.starting(CLIENT, named("c"));
    scene.take_actions();
    scene.on(Input::ShutDown);
    assert_eq!(scene.take_actions(), ["stop 1", "stop 2"]);
    let reply = scene.call(CLIENT, Request::Initialize(named("d")));
    general(reply, GeneralError::ShuttingDown);
    scene.ended(1);
    scene.ended(2);
    assert!(!scene.machine.has_ended());
    scene.on(Input::Session(3, SessionEvent::Opened));
    assert_eq!(
        (scene.take_actions(), scene.reply(CLIENT, starting).is_some()),
        (vec!["stop 3".into()], true)
    );
    scene.ended(3);
    assert!(scene.machine.has_ended());
}

/// The output of a session may be a pipe that nobody reads.
#[test]
fn the_end_of_the_daemon_does_not_wait_forever() {
    let mut scene = Scene::new();
    scene.started(CLIENT, 1, detached("a"));
    scene.on(Input::ShutDown);
    assert_eq!(scene.machine.deadline(), Some(END_TIMEOUT));
    scene.on(Input::Tick);
    assert!(!scene.machine.has_ended());
    scene.now = END_TIMEOUT;
    scene.on(Input::Tick);
    assert!(scene.machine.has_ended());
}

/// Nobody could stop it, and it would count for ever.
#[test]
fn a_detached_session_that_was_not_started_ends_with_its_connection() {
    let mut scene = Scene::new();
    scene.call(CLIENT, Request::Initialize(detached("a")));
    scene.on(Input::Disconnected(CLIENT));
    assert!(scene.machine.sessions.is_empty());
}
