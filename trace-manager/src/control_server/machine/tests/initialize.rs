use super::*;
use trace_protocol::control::{self, FollowRequest, ProviderSpec, SessionState};
use trace_protocol::mode::BufferingMode;

fn initialize(scene: &mut Scene, config: TraceConfig) -> Option<Reply> {
    scene.call(CLIENT, Request::Initialize(config))
}

#[test]
fn a_session_gets_a_name() {
    let mut scene = Scene::new();
    for expected in ["session-1", "session-2"] {
        let reply = initialize(&mut scene, named(""));
        assert_eq!(reply, Some(Reply::Initialized(expected.to_owned())));
    }
    assert!(scene.actions.is_empty(), "nothing is opened before the start");
    assert_eq!(initialize(&mut scene, named("a")), Some(Reply::Initialized("a".to_owned())));
    let reason = general(initialize(&mut scene, named("a")), GeneralError::NameInUse);
    assert_eq!(reason, "a session has the name 'a' already");
}

#[test]
fn a_wrong_configuration_is_refused() {
    let mut scene = Scene::new();
    let reply = initialize(&mut scene, TraceConfig::default());
    assert_eq!(general(reply, GeneralError::BadRequest), "the buffer size is 0");
    let request = Request::Initialize(named("a"));
    scene.on(Input::Request(CLIENT, Box::new(ToDaemon { id: 77, request }), None));
    let reply = scene.reply(CLIENT, 77);
    assert_eq!(general(reply, GeneralError::BadRequest), "the output is missing");
}

#[test]
fn groups_are_expanded() {
    let mut scene = Scene::new();
    let categories = vec!["db".to_owned(), "#web".to_owned()];
    scene.starting(CLIENT, TraceConfig { categories, ..named("a") });
    assert_eq!(scene.actions, [r#"open 1 ["db", "http*", "-http.cache"]"#]);
    let unknown = TraceConfig { categories: vec!["#db".to_owned()], ..named("b") };
    let reason = general(initialize(&mut scene, unknown.clone()), GeneralError::BadRequest);
    let expected = "there is no category group '#db'\nhint: trace list groups shows them";
    assert_eq!(reason, expected);
    scene.on(Input::Groups([("db".to_owned(), vec!["sql".to_owned()])].into()));
    assert_eq!(initialize(&mut scene, unknown), Some(Reply::Initialized("b".to_owned())));
}

/// Providers refuse a session with more.
#[test]
fn categories_of_groups_count() {
    let mut scene = Scene::new();
    let group = |number: usize| vec!["a".to_owned(); number];
    scene.on(Input::Groups(
        [("all".to_owned(), group(4096)), ("half".to_owned(), group(2048))].into(),
    ));
    let config = |name: &str, groups: &[&str]| {
        let categories = groups.iter().map(|group| (*group).to_owned()).collect();
        TraceConfig { categories, ..named(name) }
    };
    let reason =
        general(initialize(&mut scene, config("a", &["#all", "b"])), GeneralError::BadRequest);
    assert_eq!(reason, "more than 4096 categories");
    initialize(&mut scene, config("b", &["#half", "b"]));
    let additional_categories = vec!["#half".to_owned()];
    let start =
        StartRequest { session: "b".to_owned(), additional_categories, ..Default::default() };
    let reply = scene.call(CLIENT, Request::Start(start));
    assert_eq!(general(reply, GeneralError::BadRequest), "more than 4096 categories");
    assert_eq!(
        initialize(&mut scene, config("c", &["#all"])),
        Some(Reply::Initialized("c".into()))
    );
}

/// The session's own thread splits them.
#[test]
fn categories_and_buffers_of_single_providers_are_accepted() {
    let mut scene = Scene::new();
    let categories = vec!["server/db".to_owned()];
    let spec =
        |buffer_size| ProviderSpec { name: "server".into(), buffer_size, ..Default::default() };
    let providers = vec![spec(2 << 20)];
    let reply = initialize(&mut scene, TraceConfig { categories, providers, ..named("a") });
    assert_eq!(reply, Some(Reply::Initialized("a".to_owned())));
    let providers = vec![spec(u64::MAX)];
    let reply = initialize(&mut scene, TraceConfig { providers, ..named("b") });
    assert!(general(reply, GeneralError::Quota).contains("buffer sizes"));
    for (pattern, reason) in [
        ("server/#all", "'server/#all': a group is for all providers"),
        ("-#all", "'-#all': a group is not excluded, but its categories"),
    ] {
        let categories = vec![pattern.to_owned()];
        let reply = initialize(&mut scene, TraceConfig { categories, ..named("c") });
        assert_eq!(general(reply, GeneralError::Unsupported), reason);
    }
    let providers = vec![ProviderSpec::default()];
    let reply = initialize(&mut scene, TraceConfig { providers, ..named("d") });
    assert!(general(reply, GeneralError::BadRequest).contains("a provider's name"));
}

#[test]
fn quotas_of_a_user_are_refused_with_the_limit() {
    let limits = ControlLimits { sessions: 2, buffers: 3 << 20, ..ControlLimits::default() };
    let mut scene = Scene::with(limits);
    let large = TraceConfig { buffer_size: 4 << 20, ..named("large") };
    let reason = general(initialize(&mut scene, large), GeneralError::Quota);
    assert!(reason.contains("would be 4194304 bytes, the limit is 3145728"), "{reason}");
    initialize(&mut scene, named("a"));
    initialize(&mut scene, named("b"));
    let reason = general(initialize(&mut scene, named("c")), GeneralError::Quota);
    assert_eq!(reason, "user 1000 has 2 sessions, the limit");
    scene.connect(3, USER + 1);
    let reply = scene.call(3, Request::Initialize(named("c")));
    assert_eq!(reply, Some(Reply::Initialized("c".to_owned())), "other users have their own");
    assert_eq!(scene.call(CLIENT, terminate("a")), Some(Reply::Terminated));
    assert_eq!(initialize(&mut scene, named("c")), Some(Reply::Initialized("c".to_owned())));
}

/// A session takes its buffer, that of the records that the daemon keeps, and what waits for the
/// output; a stream 16 MiB.
#[test]
fn the_memory_of_sessions_and_streams_of_a_user_is_limited() {
    let (memory, unwritten) = (290 << 20, 8 << 20);
    let mut scene = Scene::with(ControlLimits { memory, unwritten, ..ControlLimits::default() });
    let config = |mode, shared, name: &str| TraceConfig {
        mode,
        shared,
        buffer_size: 10 << 20,
        ..named(name)
    };
    let (circular, streaming) = (BufferingMode::Circular, BufferingMode::Streaming);
    let file = TraceConfig {
        output: control::Output::Beneath("a.fxt".to_owned()),
        ..config(streaming, false, "file")
    };
    scene.started(CLIENT, 1, file.clone());
    let shared = initialize(&mut scene, config(circular, true, "b"));
    let reason = general(shared, GeneralError::Quota);
    let expected =
        "the buffers, outputs and live streams of user 1000 would take 308281344 bytes of \
                    memory, the limit is 304087040";
    assert_eq!(reason, expected);
    for rule in ["counter:a/b.c>1:stop", "log:error:stop"] {
        let rules = vec![rule.to_owned()];
        let streams = TraceConfig { rules, ..config(circular, false, "b") };
        let reply = initialize(&mut scene, streams);
        assert_eq!(general(reply, GeneralError::Quota), expected, "{rule}");
    }
    let initialized = |name: &str| Some(Reply::Initialized(name.to_owned()));
    assert_eq!(initialize(&mut scene, config(streaming, true, "b")), initialized("b"));
    let follow = FollowRequest { session: "file".to_owned(), categories: Vec::new() };
    let reason = general(scene.call(CLIENT, Request::Follow(follow.clone())), GeneralError::Quota);
    assert!(reason.contains("live streams"), "{reason}");
    scene.call(CLIENT, terminate("b"));
    assert_eq!(scene.call(CLIENT, Request::Follow(follow)), None, "the stream starts");
    scene.connect(3, USER + 1);
    assert_eq!(scene.call(3, Request::Initialize(file)), initialized("file"));
}

#[test]
fn a_watcher_gets_the_state_first() {
    let mut scene = Scene::new();
    initialize(&mut scene, named("a"));
    let reply = scene.call(CLIENT, Request::Watch("a".to_owned()));
    assert_eq!(reply, Some(Reply::Watching));
    let event = Event { session: "a".to_owned(), state: SessionState::Initialized };
    assert_eq!(scene.reply(CLIENT, EVENT), Some(Reply::StateChanged(event)));
}

#[test]
fn a_session_is_described_by_its_configuration() {
    let mut scene = Scene::new();
    let config = TraceConfig {
        mode: BufferingMode::Circular,
        categories: vec!["db".to_owned()],
        ..detached("a")
    };
    initialize(&mut scene, config.clone());
    let info = scene.machine.sessions[&1].info();
    assert_eq!((info.name, info.uid, info.detached), (config.name, USER, true));
    assert_eq!((info.mode, info.buffer_size), (config.mode, config.buffer_size));
    assert_eq!((info.categories, info.output.as_str()), (config.categories, ""));
}
