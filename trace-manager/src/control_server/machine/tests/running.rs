use super::*;
use trace_protocol::categories::MAX_PATTERNS;
use trace_protocol::control::{
    CategoryChange, ErrorCode, FlushError, FollowRequest, Output as To, ProviderSpec, SessionState,
    SnapshotRequest, StopError,
};

use crate::control_server::shared::Message;
use crate::notice::Notice;

fn snapshot(name: &str) -> Request {
    Request::Snapshot(SnapshotRequest { session: name.to_owned(), output: To::Descriptor })
}

#[test]
fn a_session_is_flushed_only_while_it_records() {
    let mut scene = Scene::new();
    let flush = |name: &str| Request::Flush(name.to_owned());
    let not_initialized = ErrorCode::Flush(FlushError::NotInitialized);
    assert_eq!(error(scene.call(CLIENT, flush("a"))).code, not_initialized);
    scene.starting(CLIENT, named("a"));
    let not_started = ErrorCode::Flush(FlushError::NotStarted);
    assert_eq!(error(scene.call(CLIENT, flush("a"))).code, not_started);
    scene.opened(1);
    scene.take_actions();
    assert_eq!(scene.call(CLIENT, flush("a")), Some(Reply::Flushed));
    assert_eq!(scene.take_actions(), ["flush 1"]);
}

#[test]
fn a_session_is_followed_only_while_it_records() {
    let mut scene = Scene::new();
    let follow = |session: &str, category: &str| {
        let (session, categories) = (session.to_owned(), vec![category.to_owned()]);
        Request::Follow(FollowRequest { session, categories })
    };
    general(scene.call(CLIENT, follow("a", "web")), GeneralError::NoSession);
    scene.started(CLIENT, 1, named("a"));
    scene.take_actions();
    assert_eq!(scene.call(CLIENT, follow("a", "web")), None, "the control thread replies");
    assert_eq!(scene.take_actions(), ["follow 1 [\"web\"]"]);
    general(scene.call(CLIENT, follow("a", "#none")), GeneralError::BadRequest);
    general(scene.call(CLIENT, follow("a", "")), GeneralError::BadRequest);
    scene.ended(1);
    general(scene.call(CLIENT, follow("a", "web")), GeneralError::NoSession);
}

#[test]
fn snapshots_are_limited_by_user_and_minute() {
    let mut scene = Scene::with(ControlLimits { snapshots: 2, ..ControlLimits::default() });
    general(scene.call(CLIENT, snapshot("a")), GeneralError::NoSession);
    scene.started(CLIENT, 1, named("a"));
    let first = scene.send(CLIENT, snapshot("a"));
    scene.send(CLIENT, snapshot(""));
    assert_eq!(scene.take_actions(), ["snapshot 1", "snapshot 1"]);
    let reason = general(scene.call(CLIENT, snapshot("a")), GeneralError::Quota);
    assert_eq!(reason, "more than 2 snapshots in a minute");
    scene.now += Duration::from_secs(60);
    assert_eq!(scene.call(CLIENT, snapshot("a")), None);
    scene.on(Input::SnapshotWritten(USER, Ticket { client: CLIENT, id: first }, Ok(9)));
    assert_eq!(scene.reply(CLIENT, first), Some(Reply::Snapshot(9)));
}

/// Their outputs may be pipes that nobody reads.
#[test]
fn a_user_has_a_limited_number_of_snapshots_at_a_time() {
    let mut scene = Scene::new();
    scene.started(CLIENT, 1, detached("a"));
    scene.connect(3, USER);
    scene.connect(ROOT, 0);
    let first = scene.send(CLIENT, snapshot("a"));
    (0..3).for_each(|_| assert_eq!(scene.call(3, snapshot("a")), None));
    let reason = general(scene.call(3, snapshot("a")), GeneralError::Quota);
    assert_eq!(reason, "4 snapshots of user 1000 are not written yet");
    assert_eq!(scene.call(ROOT, snapshot("a")), None, "others are not affected");
    scene.on(Input::Disconnected(CLIENT));
    general(scene.call(3, snapshot("a")), GeneralError::Quota);
    scene.on(Input::SnapshotWritten(USER, Ticket { client: CLIENT, id: first }, Ok(9)));
    assert_eq!(scene.call(3, snapshot("a")), None);
    general(scene.call(3, snapshot("a")), GeneralError::Quota);
}

#[test]
fn those_that_watch_get_alerts_and_states() {
    let mut scene = Scene::new();
    scene.started(CLIENT, 1, named("a"));
    scene.connect(3, USER);
    scene.call(3, Request::Watch("a".to_owned()));
    scene.call(3, Request::Watch("a".to_owned()));
    scene.alert(1, "slow");
    scene.send(CLIENT, stop("a", true));
    scene.ended(1);
    let event = |state| Event { session: "a".to_owned(), state };
    let started = || Some(Reply::StateChanged(event(SessionState::Started)));
    assert_eq!((scene.reply(3, EVENT), scene.reply(3, EVENT)), (started(), started()));
    let alert = Reply::Alert((event(SessionState::Started), "slow".to_owned()));
    assert_eq!(scene.reply(3, EVENT), Some(alert), "once, although it was requested twice");
    for state in [SessionState::Stopping, SessionState::Stopped, SessionState::Terminated] {
        assert_eq!(scene.reply(3, EVENT), Some(Reply::StateChanged(event(state))));
    }
    assert_eq!(scene.reply(3, EVENT), None);
}

/// A program may raise them before its controller has received the reply to its request.
#[test]
fn the_first_that_watches_gets_earlier_alerts() {
    let mut scene = Scene::new();
    scene.started(CLIENT, 1, named("a"));
    let queue = Arc::clone(&scene.machine.sessions[&1].queue);
    for name in ["early", "later"] {
        let notice = Notice::Alert { name: name.to_owned(), pid: 1, is_heeded: true };
        assert!(Message::announcing(1, &queue, &notice).is_none(), "nobody watches");
    }
    scene.connect(3, USER);
    scene.call(3, Request::Watch("a".to_owned()));
    scene.call(CLIENT, Request::Watch("a".to_owned()));
    let event = || Event { session: "a".to_owned(), state: SessionState::Started };
    let started = Reply::StateChanged(event());
    let alert = |name: &str| Reply::Alert((event(), name.to_owned()));
    for expected in [started.clone(), alert("early"), alert("later")] {
        assert_eq!(scene.reply(3, EVENT), Some(expected));
    }
    assert_eq!(scene.reply(3, EVENT), None);
    assert_eq!((scene.reply(CLIENT, EVENT), scene.reply(CLIENT, EVENT)), (Some(started), None));
}

/// Alerts of a session that nobody watches do not reach the control thread.
#[test]
fn a_session_is_watched_while_a_watcher_is_connected() {
    let mut scene = Scene::new();
    scene.started(CLIENT, 1, detached("a"));
    scene.connect(3, USER);
    let is_watched = |scene: &Scene| scene.machine.sessions[&1].queue.is_watched();
    assert!(!is_watched(&scene));
    scene.call(3, Request::Watch("a".to_owned()));
    assert!(is_watched(&scene));
    scene.on(Input::Disconnected(CLIENT));
    assert!(is_watched(&scene));
    scene.on(Input::Disconnected(3));
    assert!(!is_watched(&scene));
}

#[test]
fn a_session_ends_at_its_time() {
    let mut scene = Scene::new();
    scene.now = Duration::from_secs(10);
    scene.started(CLIENT, 1, TraceConfig { duration: Duration::from_secs(5), ..detached("a") });
    assert_eq!(scene.machine.deadline(), Some(Duration::from_secs(15)));
    scene.now = Duration::from_millis(14_999);
    scene.on(Input::Tick);
    assert!(scene.take_actions().is_empty());
    scene.now = Duration::from_secs(15);
    scene.on(Input::Tick);
    assert_eq!((scene.take_actions(), scene.machine.deadline()), (vec!["stop 1".into()], None));
    scene.ended(1);
    assert_eq!(scene.call(CLIENT, stop("", true)), stopped("a"), "the results wait");
    let taken = error(scene.call(CLIENT, stop("", true)));
    assert_eq!(taken.code, ErrorCode::Stop(StopError::NotInitialized), "the results are taken");
    assert_eq!(taken.reason, "there is no session");
}

fn change(add: &[&str], remove: &[&str]) -> Request {
    let list = |texts: &[&str]| texts.iter().map(|it| it.to_string()).collect();
    let (add, remove) = (list(add), list(remove));
    Request::ChangeCategories(CategoryChange { session: "a".to_owned(), add, remove })
}

#[test]
fn a_category_change_keeps_the_categories_of_single_programs() {
    for (categories, expected) in
        [(&["a"][..], &["a", "web/b", "y"][..]), (&[], &["*", "web/b", "y"])]
    {
        let mut scene = Scene::new();
        let spec = ProviderSpec {
            name: "web".to_owned(),
            categories: vec!["b".to_owned()],
            ..ProviderSpec::default()
        };
        let categories = categories.iter().map(|it| it.to_string()).collect();
        scene.started(CLIENT, 1, TraceConfig { categories, providers: vec![spec], ..named("a") });
        let patterns: Vec<String> = expected.iter().map(|it| it.to_string()).collect();
        let reply = scene.call(CLIENT, change(&["y"], &[]));
        assert_eq!(reply, Some(Reply::CategoriesChanged(patterns)));
    }
}

#[test]
fn category_changes_are_limited_by_user_and_minute() {
    let mut scene = Scene::with(ControlLimits { category_changes: 2, ..ControlLimits::default() });
    scene.started(CLIENT, 1, TraceConfig { categories: vec!["a".to_owned()], ..named("a") });
    let changed = |patterns: &[&str]| {
        Some(Reply::CategoriesChanged(patterns.iter().map(|it| it.to_string()).collect()))
    };
    assert_eq!(scene.call(CLIENT, change(&["b"], &[])), changed(&["a", "b"]));
    assert_eq!(scene.take_actions().len(), 1);
    for _ in 0..3 {
        assert_eq!(scene.call(CLIENT, change(&["b"], &["c"])), changed(&["a", "b"]));
    }
    assert!(scene.take_actions().is_empty(), "nothing changes");
    assert_eq!(scene.call(CLIENT, change(&[], &["b"])), changed(&["a"]));
    let reason = general(scene.call(CLIENT, change(&["b"], &[])), GeneralError::Quota);
    assert_eq!(reason, "more than 2 category changes, further starts or live streams in a minute");
    scene.now += Duration::from_secs(60);
    assert_eq!(
        scene.call(CLIENT, change(&["c"], &[])),
        changed(&["a", "c"]),
        "not the refused one"
    );
}

/// Each takes time for each program.
#[test]
fn starts_flushes_and_new_streams_are_limited_by_user() {
    let limits = ControlLimits { starts: 2, flushes: 2, category_changes: 2, ..Default::default() };
    let mut scene = Scene::with(limits);
    scene.started(CLIENT, 1, named("a"));
    scene.started(CLIENT, 2, named("b"));
    let start = scene.starting(CLIENT, named("c"));
    let reason = general(scene.reply(CLIENT, start), GeneralError::Quota);
    assert_eq!(reason, "more than 2 sessions start in a minute");
    let flush = || Request::Flush("a".to_owned());
    assert_eq!(
        [flush(), flush()].map(|it| scene.call(CLIENT, it)),
        [Some(Reply::Flushed), Some(Reply::Flushed)]
    );
    let reason = general(scene.call(CLIENT, flush()), GeneralError::Quota);
    assert_eq!(reason, "more than 2 flushes in a second");
    let follow =
        || Request::Follow(FollowRequest { session: "a".to_owned(), categories: Vec::new() });
    assert_eq!([follow(), follow()].map(|it| scene.call(CLIENT, it)), [None, None]);
    scene.streams.clear();
    let reason = general(scene.call(CLIENT, follow()), GeneralError::Quota);
    let expected = "more than 2 category changes, further starts or live streams in a minute";
    assert_eq!(reason, expected);
    scene.now += Duration::from_secs(60);
    assert_eq!(scene.call(CLIENT, flush()), Some(Reply::Flushed));
    assert_eq!(scene.call(CLIENT, follow()), None);
    let name = StartRequest { session: "c".to_owned(), ..Default::default() };
    assert_eq!(scene.call(CLIENT, Request::Start(name)), None, "it starts");
}

/// Else refused starts, and those by root, would keep the user from others.
#[test]
fn only_starts_of_the_user_count() {
    let mut scene = Scene::with(ControlLimits { starts: 1, ..Default::default() });
    scene.connect(ROOT, 0);
    let categories = vec!["a".to_owned()];
    for name in ["a", "b"] {
        let config = TraceConfig { categories: categories.clone(), ..named(name) };
        scene.call(CLIENT, Request::Initialize(config));
    }
    let mut start = |client, name: &str, number| {
        let additional_categories = (0..number).map(|it| format!("c{it}")).collect();
        let session = name.to_owned();
        let start = StartRequest { session, additional_categories, ..Default::default() };
        scene.call(client, Request::Start(start))
    };
    general(start(CLIENT, "a", MAX_PATTERNS), GeneralError::BadRequest);
    assert_eq!(start(ROOT, "a", 0), None, "it starts");
    assert_eq!(start(CLIENT, "b", 0), None, "it starts");
}

#[test]
fn refused_categories_are_not_stored() {
    let mut scene = Scene::new();
    scene.started(CLIENT, 1, TraceConfig { categories: vec!["a".to_owned()], ..named("a") });
    let error = ControlError::general(GeneralError::Failed, "refused");
    scene.category_refusal = Some(error.clone());
    assert_eq!(scene.call(CLIENT, change(&["b"], &[])), Some(Reply::Failed(error)));
    scene.category_refusal = None;
    let changed = ["a", "c"].map(str::to_owned).to_vec();
    assert_eq!(scene.call(CLIENT, change(&["c"], &[])), Some(Reply::CategoriesChanged(changed)));
}

#[test]
fn the_categories_of_a_session_change_while_it_records() {
    let mut scene = Scene::new();
    let config = TraceConfig { categories: vec!["db".to_owned()], ..named("a") };
    scene.starting(CLIENT, config);
    general(scene.call(CLIENT, change(&["x"], &[])), GeneralError::NoSession);
    scene.opened(1);
    scene.take_actions();
    let reply = scene.call(CLIENT, change(&["#web"], &["db"]));
    let patterns = ["http*", "-http.cache"].map(str::to_owned).to_vec();
    assert_eq!(reply, Some(Reply::CategoriesChanged(patterns.clone())));
    assert_eq!(scene.take_actions(), [format!("categories of 1 {patterns:?}")]);
    for wrong in [change(&["-x"], &[]), change(&["#none"], &[])] {
        general(scene.call(CLIENT, wrong), GeneralError::BadRequest);
    }
    scene.connect(3, USER + 1);
    let other = general(scene.call(3, change(&["x"], &[])), GeneralError::NoSession);
    assert_eq!(other, "there is no session 'a'", "of another user");
    assert!(scene.take_actions().is_empty());
}

#[test]
fn the_live_streams_of_a_user_are_limited() {
    let limits = ControlLimits { streams: 2, ..ControlLimits::default() };
    let mut scene = Scene::with(limits);
    scene.started(CLIENT, 1, named("a"));
    scene.started(CLIENT, 2, named("b"));
    scene.connect(ROOT, 0);
    let follow = |name: &str| {
        Request::Follow(FollowRequest { session: name.to_owned(), categories: Vec::new() })
    };
    for name in ["a", "b"] {
        assert_eq!(scene.call(CLIENT, follow(name)), None, "the stream starts");
    }
    let reason = general(scene.call(CLIENT, follow("a")), GeneralError::Quota);
    assert_eq!(reason, "user 1000 has 2 live streams, the limit");
    assert_eq!(scene.call(ROOT, follow("a")), None, "another user has its own limit");
    scene.streams.remove(0);
    assert_eq!(scene.call(CLIENT, follow("a")), None, "a stream has ended");
    assert_eq!(scene.streams.len(), 3);
}

#[test]
fn an_empty_name_is_the_only_session() {
    let mut scene = Scene::new();
    let reason =
        general(scene.call(CLIENT, Request::GetStatistics(String::new())), GeneralError::NoSession);
    assert_eq!(reason, "there is no session");
    scene.started(CLIENT, 1, named("a"));
    scene.call(CLIENT, Request::GetStatistics(String::new()));
    assert_eq!(scene.take_actions(), ["Statistics(1)"]);
    scene.started(CLIENT, 2, named("b"));
    let request = Request::GetStatistics(String::new());
    let reason = general(scene.call(CLIENT, request), GeneralError::NoSession);
    assert_eq!(reason, "several sessions match: a, b");
}
