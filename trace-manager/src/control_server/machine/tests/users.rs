use trace_protocol::control::{ConfigurationInfo, ConfiguredFailure};

use super::*;

#[test]
fn a_user_sees_only_their_own_sessions_and_providers() {
    let mut scene = Scene::new();
    scene.connect(ROOT, 0);
    scene.connect(3, USER + 1);
    scene.started(CLIENT, 1, named("a"));
    scene.started(3, 2, named("b"));
    let mut lists = |client| {
        for request in [Request::GetSessions, Request::GetProviders, Request::GetKnownCategories] {
            scene.call(client, request);
        }
        scene.take_actions()
    };
    let user = [r#"sessions ["a"]"#, "Providers(Some(1000))", "categories Some(1000)"];
    assert_eq!(lists(CLIENT), user);
    let root = [r#"sessions ["a", "b"]"#, "Providers(None)", "categories None"];
    assert_eq!(lists(ROOT), root);
}

/// Sessions of others stay those of others.
#[test]
fn a_member_of_the_group_sees_and_records_all_programs() {
    let mut scene = Scene::new();
    scene.on(Input::Connected(3, caller(USER + 1, true)));
    scene.started(CLIENT, 1, named("a"));
    scene.started(3, 2, named("b"));
    assert_eq!(scene.programs, [(1, Some(USER)), (2, None)]);
    for request in [Request::GetSessions, Request::GetProviders, Request::GetKnownCategories] {
        scene.call(3, request);
    }
    let expected = [r#"sessions ["b"]"#, "Providers(None)", "categories None"];
    assert_eq!(scene.take_actions(), expected);
    general(scene.call(3, Request::GetStatistics("a".to_owned())), GeneralError::NoSession);
}

/// A query takes a thread and up to a second.
#[test]
fn a_user_has_one_query_of_categories_at_a_time() {
    let mut scene = Scene::new();
    scene.connect(3, USER);
    scene.connect(4, USER + 1);
    let requests: Vec<_> =
        [CLIENT, 3].map(|client| (client, scene.send(client, Request::GetKnownCategories))).into();
    scene.send(4, Request::GetKnownCategories);
    let reason = general(scene.call(CLIENT, Request::GetKnownCategories), GeneralError::Quota);
    assert_eq!(reason, "this connection already waits for the known categories");
    assert_eq!(scene.take_actions(), ["categories Some(1000)", "categories Some(1001)"]);
    let categories = Reply::KnownCategories(vec![Default::default()]);
    scene.on(Input::KnownCategories(Some(USER), Box::new(categories.clone())));
    for (client, id) in requests {
        assert_eq!(scene.reply(client, id), Some(categories.clone()));
    }
    scene.send(3, Request::GetKnownCategories);
    assert_eq!(scene.take_actions(), ["categories Some(1000)"], "the earlier one has ended");
}

#[test]
fn only_root_controls_the_sessions_of_others() {
    let mut scene = Scene::new();
    scene.connect(ROOT, 0);
    scene.connect(3, USER + 1);
    scene.started(CLIENT, 1, detached("a"));
    for request in
        [terminate("a"), Request::GetStatistics("a".to_owned()), Request::Watch("a".to_owned())]
    {
        let reason = general(scene.call(3, request), GeneralError::NoSession);
        assert_eq!(reason, "there is no session 'a'");
    }
    error(scene.call(3, stop("a", false)));
    error(scene.call(3, Request::Flush("a".to_owned())));
    assert!(scene.take_actions().is_empty());
    let stopping = scene.send(ROOT, stop("a", true));
    assert_eq!(scene.take_actions(), ["stop 1"]);
    scene.ended(1);
    assert_eq!(scene.reply(ROOT, stopping), stopped("a"));
}

#[test]
fn users_have_their_own_names() {
    let mut scene = Scene::new();
    scene.connect(ROOT, 0);
    scene.connect(3, USER + 1);
    scene.started(CLIENT, 1, detached("a"));
    scene.started(3, 2, detached("a"));
    scene.send(3, stop("a", true));
    assert_eq!(scene.take_actions(), ["stop 2"]);
    let reason = error(scene.call(ROOT, stop("a", true))).reason;
    assert_eq!(reason, "several sessions match: a, a");
    scene.started(ROOT, 3, detached("a"));
    scene.send(ROOT, stop("a", true));
    assert_eq!(scene.take_actions(), ["stop 3"], "root's own comes first");
}

/// Reasons have paths, and names of sessions.
#[test]
fn only_the_daemons_user_and_root_see_why_configured_sessions_do_not_run() {
    let mut scene = Scene::new();
    scene.connect(ROOT, 0);
    scene.connect(3, USER + 1);
    let failure = ConfiguredFailure { session: "a".to_owned(), reason: "full".to_owned() };
    let configuration = ConfigurationInfo {
        is_complete: true,
        refused: Some("wrong".to_owned()),
        failures: vec![failure],
    };
    scene.on(Input::Configuration(USER, Box::new(configuration.clone())));
    let others = ConfigurationInfo { is_complete: true, ..ConfigurationInfo::default() };
    for (client, expected) in [(CLIENT, &configuration), (ROOT, &configuration), (3, &others)] {
        let reply = scene.call(client, Request::GetConfiguration);
        assert_eq!(reply, Some(Reply::Configuration(expected.clone())));
    }
}

#[test]
fn a_user_who_floods_is_disconnected() {
    let mut scene = Scene::with(ControlLimits { requests: 3, ..ControlLimits::default() });
    scene.connect(3, USER + 1);
    (0..3).for_each(|_| drop(scene.call(CLIENT, Request::GetGroups)));
    assert_eq!(scene.call(CLIENT, Request::GetGroups), None);
    let closing = Reply::Closing("more than 3 requests in a second".to_owned());
    assert_eq!(scene.reply(CLIENT, EVENT), Some(closing));
    assert_eq!(scene.take_actions(), ["close 2"]);
    assert!(scene.call(3, Request::GetGroups).is_some(), "others are not affected");
    assert!(scene.call(CLIENT, Request::GetGroups).is_none(), "the connection has ended");
}

#[test]
fn connections_are_limited_by_user() {
    let mut scene = Scene::with(ControlLimits { clients: 2, ..ControlLimits::default() });
    scene.connect(3, USER);
    scene.connect(4, USER);
    assert_eq!(scene.take_actions(), ["close 4"]);
    assert!(matches!(scene.reply(4, EVENT), Some(Reply::Closing(_))));
    scene.connect(5, USER + 1);
    scene.on(Input::Disconnected(3));
    scene.connect(6, USER);
    assert_eq!(scene.take_actions(), ["close 6"], "4 is closing and takes memory");
    scene.connect(7, USER);
    assert_eq!(scene.take_actions(), ["disconnect 7"], "as many are closing as may be open");
    scene.on(Input::Disconnected(4));
    scene.on(Input::Disconnected(6));
    scene.connect(8, USER);
    assert!(scene.take_actions().is_empty());
}

/// Else programs of the daemon's user would prevent the sessions of its configuration.
#[test]
fn the_daemons_own_connection_has_no_share_in_the_limits_of_its_user() {
    let limits = ControlLimits { clients: 1, requests: 2, starts: 1, ..ControlLimits::default() };
    let mut scene = Scene::with(limits);
    scene.connect(3, USER);
    assert_eq!(scene.take_actions(), ["close 3"]);
    scene.on(Input::IsOwn(4));
    scene.connect(4, USER);
    for name in ["a", "b", "c"] {
        scene.starting(4, named(name));
    }
    let open = ["open 1 []", "open 2 []", "open 3 []"];
    assert_eq!(scene.take_actions(), open, "it is within no limit");
    for _ in 0..2 {
        assert!(scene.call(CLIENT, Request::GetGroups).is_some(), "and takes nothing from others");
    }
}
