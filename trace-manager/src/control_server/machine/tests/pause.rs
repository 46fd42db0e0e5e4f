//! Sessions that stop and start again.

use super::*;
use trace_protocol::control::{ErrorCode, ProviderSpec, StopError};

fn start_again(disposition: BufferDisposition, categories: &[&str]) -> Request {
    Request::Start(StartRequest {
        session: "a".to_owned(),
        disposition,
        additional_categories: categories.iter().map(|it| (*it).to_owned()).collect(),
    })
}

fn paused(scene: &mut Scene, config: TraceConfig) {
    scene.started(CLIENT, 1, config);
    let id = scene.send(CLIENT, stop("a", false));
    assert_eq!(scene.take_actions(), ["pause 1"]);
    assert_eq!(scene.reply(CLIENT, id), None, "the providers have not stopped");
    scene.on(Input::Session(1, SessionEvent::Paused));
    assert_eq!(scene.reply(CLIENT, id), Some(Reply::Paused));
}

/// Starts the session again, whose programs then record.
fn started_again(scene: &mut Scene, request: Request) -> Option<Reply> {
    let id = scene.send(CLIENT, request);
    scene.on(Input::Session(1, SessionEvent::Recording));
    scene.reply(CLIENT, id)
}

#[test]
fn a_session_starts_again_with_the_disposition_and_further_categories() {
    let mut scene = Scene::new();
    let config = TraceConfig { categories: vec!["x".to_owned()], ..named("a") };
    paused(&mut scene, config);
    let started = started_again(&mut scene, start_again(BufferDisposition::Retain, &[]));
    assert_eq!(started, Some(Reply::Started));
    scene.call(CLIENT, stop("a", false));
    scene.on(Input::Session(1, SessionEvent::Paused));
    started_again(&mut scene, start_again(BufferDisposition::ClearEntire, &["#web"]));
    let clear = r#"start 1 ClearEntire Some(["x", "http*", "-http.cache"])"#;
    assert_eq!(scene.take_actions(), ["start 1 Retain None", "pause 1", clear]);
    scene.send(CLIENT, stop("a", true));
    assert_eq!(scene.take_actions(), ["stop 1"]);
    scene.ended(1);
}

/// Such a name cannot be in a pattern.
#[test]
fn a_session_with_categories_of_any_program_starts_again_without_further_ones() {
    let mut scene = Scene::new();
    let categories = vec!["x".to_owned()];
    let spec = ProviderSpec { name: "a/b".to_owned(), categories, ..ProviderSpec::default() };
    paused(&mut scene, TraceConfig { providers: vec![spec], ..named("a") });
    let started = started_again(&mut scene, start_again(BufferDisposition::Retain, &[]));
    assert_eq!(started, Some(Reply::Started));
}

#[test]
fn further_categories_are_not_stored_if_the_start_fails() {
    let mut scene = Scene::new();
    paused(&mut scene, TraceConfig { categories: vec!["x".to_owned()], ..named("a") });
    let error = ControlError::general(GeneralError::Failed, "refused");
    scene.category_refusal = Some(error.clone());
    let failed = scene.call(CLIENT, start_again(BufferDisposition::Retain, &["y"]));
    assert_eq!(failed, Some(Reply::Failed(error)));
    scene.category_refusal = None;
    scene.take_actions();
    scene.call(CLIENT, start_again(BufferDisposition::Retain, &["z"]));
    assert_eq!(scene.take_actions(), [r#"start 1 Retain Some(["x", "z"])"#]);
}

/// Each start takes time and memory for each program.
#[test]
fn starts_of_stopped_sessions_are_limited_by_user_and_minute() {
    let mut scene = Scene::with(ControlLimits { category_changes: 2, ..ControlLimits::default() });
    paused(&mut scene, named("a"));
    let again = || start_again(BufferDisposition::Retain, &[]);
    for _ in 0..2 {
        assert_eq!(started_again(&mut scene, again()), Some(Reply::Started));
        scene.send(CLIENT, stop("a", false));
        scene.on(Input::Session(1, SessionEvent::Paused));
    }
    let reason = general(scene.call(CLIENT, again()), GeneralError::Quota);
    assert_eq!(reason, "more than 2 category changes, further starts or live streams in a minute");
    scene.now += Duration::from_secs(60);
    assert_eq!(started_again(&mut scene, again()), Some(Reply::Started));
}

#[test]
fn a_session_of_all_categories_gets_no_further_ones() {
    let mut scene = Scene::new();
    paused(&mut scene, named("a"));
    scene.call(CLIENT, start_again(BufferDisposition::ClearNondurable, &["x"]));
    assert_eq!(scene.take_actions(), ["start 1 ClearNondurable None"]);
}

#[test]
fn a_session_ends_while_it_stops_or_after() {
    for is_stopped in [false, true] {
        let mut scene = Scene::new();
        scene.started(CLIENT, 1, named("a"));
        let pause = scene.send(CLIENT, stop("a", false));
        if is_stopped {
            scene.on(Input::Session(1, SessionEvent::Paused));
            assert_eq!(scene.reply(CLIENT, pause), Some(Reply::Paused));
        }
        let end = scene.send(CLIENT, stop("a", true));
        if !is_stopped {
            let code = error(scene.reply(CLIENT, pause)).code;
            assert_eq!(code, ErrorCode::Stop(StopError::Aborted));
            scene.on(Input::Session(1, SessionEvent::Paused));
        }
        assert_eq!(scene.take_actions(), ["pause 1", "stop 1"]);
        scene.ended(1);
        assert_eq!(scene.reply(CLIENT, end), stopped("a"));
    }
}

/// A trigger or an error ends it.
#[test]
fn those_that_wait_learn_that_the_session_has_ended() {
    let mut scene = Scene::new();
    scene.started(CLIENT, 1, named("a"));
    let pause = scene.send(CLIENT, stop("a", false));
    let again = general(scene.call(CLIENT, stop("a", false)), GeneralError::BadRequest);
    assert_eq!(again, "this connection waits for the stop of the session already");
    scene.ended(1);
    assert_eq!(error(scene.reply(CLIENT, pause)).code, ErrorCode::Stop(StopError::Aborted));
    assert_eq!(scene.call(CLIENT, stop("a", true)), stopped("a"));
}

#[test]
fn a_stopped_session_ends_with_its_client_and_its_time() {
    let mut scene = Scene::new();
    paused(&mut scene, named("a"));
    scene.take_actions();
    scene.on(Input::Disconnected(CLIENT));
    assert_eq!(scene.take_actions(), ["stop 1"]);
    let mut scene = Scene::new();
    let minute = Duration::from_secs(60);
    paused(&mut scene, TraceConfig { duration: minute, ..named("a") });
    scene.now = minute;
    scene.on(Input::Tick);
    assert_eq!(scene.take_actions(), ["stop 1"]);
}

/// As a first start.
#[test]
fn a_further_start_waits_until_the_programs_record_or_their_time_is_over() {
    for is_silent in [false, true] {
        let mut scene = Scene::new();
        let start_timeout = Duration::from_secs(3);
        paused(&mut scene, TraceConfig { start_timeout, ..named("a") });
        let id = scene.send(CLIENT, start_again(BufferDisposition::Retain, &[]));
        assert_eq!(scene.machine.deadline(), Some(start_timeout));
        scene.now = Duration::from_secs(2);
        scene.on(Input::Tick);
        assert_eq!(scene.reply(CLIENT, id), None);
        match is_silent {
            true => {
                scene.now = start_timeout;
                scene.on(Input::Tick);
            }
            false => scene.on(Input::Session(1, SessionEvent::Recording)),
        }
        assert_eq!(scene.reply(CLIENT, id), Some(Reply::Started));
        assert_eq!(scene.machine.deadline(), None);
    }
}

#[test]
fn a_stop_without_results_ends_the_wait_of_a_start() {
    let mut scene = Scene::new();
    paused(&mut scene, named("a"));
    scene.connect(3, USER);
    let start = scene.send(3, start_again(BufferDisposition::Retain, &[]));
    scene.take_actions();
    let pause = scene.send(CLIENT, stop("a", false));
    assert_eq!(scene.take_actions(), ["pause 1"]);
    assert_eq!(scene.reply(3, start), Some(Reply::Started));
    scene.on(Input::Session(1, SessionEvent::Recording));
    assert_eq!(scene.reply(CLIENT, pause), None, "the providers have not stopped");
    scene.on(Input::Session(1, SessionEvent::Paused));
    assert_eq!(scene.reply(CLIENT, pause), Some(Reply::Paused));
}
