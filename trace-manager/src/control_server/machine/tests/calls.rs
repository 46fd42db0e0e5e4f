//! Each call in each state of a session, and its result. The values of errors are those of Fuchsia.

use super::*;
use trace_protocol::control::{CategoryChange, FollowRequest, Output, SnapshotRequest};

const STATES: [&str; 9] = [
    "none",
    "initialized",
    "starting",
    // Has opened, and waits for programs.
    "opened",
    "started",
    "stopping",
    "stopped",
    // Stopped without results.
    "pausing",
    "paused",
];

/// The calls, and their results in each of [`STATES`]: a reply or an error as `domain.value`,
/// `waits` if there is no reply yet.
#[rustfmt::skip]
const TABLE: [(&str, [&str; 9]); 11] = [
    ("start", ["start 1", "waits", "start 2", "start 2", "start 2", "start 3", "start 4",
               "start 3", "waits"]),
    ("stop",
     ["stop 1", "stop 2", "waits", "waits", "waits", "waits", "stopped", "waits", "waits"]),
    ("pause",
     ["stop 1", "stop 2", "stop 2", "waits", "waits", "stop 3", "stop 3", "waits", "paused"]),
    ("abort", ["general 2", "terminated", "waits", "waits", "waits", "waits", "general 2", "waits",
               "waits"]),
    ("terminate", ["general 2", "terminated", "waits", "waits", "waits", "waits", "stopped",
                   "waits", "waits"]),
    ("flush", ["flush 1", "flush 2", "flush 2", "flushed", "flushed", "flush 2", "flush 2",
               "flush 2", "flush 2"]),
    ("snapshot", ["general 2", "general 2", "general 2", "waits", "waits", "general 2",
                  "general 2", "general 2", "general 2"]),
    ("follow", ["general 2", "general 2", "general 2", "waits", "waits", "general 2", "general 2",
                "general 2", "general 2"]),
    ("categories", ["general 2", "general 2", "general 2", "changed", "changed", "general 2",
                    "general 2", "general 2", "general 2"]),
    ("watch", ["general 2", "watching", "watching", "watching", "watching", "watching",
               "watching", "watching", "watching"]),
    ("initialize", ["initialized", "general 3", "general 3", "general 3", "general 3",
                    "general 3", "initialized", "general 3", "general 3"]),
];

/// Returns a scene with the session `a` in this state.
fn scene_in(state: &str) -> Scene {
    let mut scene = Scene::new();
    let steps = STATES.iter().position(|it| *it == state).unwrap();
    if steps >= 1 {
        scene.call(CLIENT, Request::Initialize(named("a")));
    }
    if steps >= 2 {
        scene.call(CLIENT, start());
    }
    if steps >= 3 {
        scene.on(Input::Session(1, SessionEvent::Opened));
    }
    if steps >= 4 {
        scene.on(Input::Session(1, SessionEvent::Recording));
    }
    if steps >= 7 {
        scene.connect(3, USER);
        scene.send(3, stop("a", false));
    }
    if steps == 8 {
        scene.on(Input::Session(1, SessionEvent::Paused));
    }
    if steps == 5 {
        // The request of another client, so that this one may wait.
        scene.connect(3, USER);
        scene.send(3, stop("a", true));
    }
    if steps == 6 {
        scene.ended(1);
    }
    scene.take_actions();
    scene
}

fn start() -> Request {
    Request::Start(StartRequest { session: "a".to_owned(), ..StartRequest::default() })
}

fn request(call: &str) -> Request {
    let session = "a".to_owned();
    match call {
        "start" => start(),
        "stop" => stop("a", true),
        "pause" => stop("a", false),
        "abort" => abort("a"),
        "terminate" => terminate("a"),
        "flush" => Request::Flush(session),
        "snapshot" => Request::Snapshot(SnapshotRequest { session, output: Output::Descriptor }),
        "follow" => Request::Follow(FollowRequest { session, categories: Vec::new() }),
        "categories" => {
            let (add, remove) = (vec!["x".to_owned()], vec!["y".to_owned()]);
            Request::ChangeCategories(CategoryChange { session, add, remove })
        }
        "watch" => Request::Watch(session),
        "initialize" => Request::Initialize(named("a")),
        call => panic!("{call}"),
    }
}

fn text(reply: Option<Reply>) -> String {
    use trace_protocol::control::ErrorCode as E;
    match reply {
        None => "waits".to_owned(),
        Some(Reply::Failed(error)) => match error.code {
            E::General(error) => format!("general {}", error as u8),
            E::Start(error) => format!("start {}", error as u8),
            E::Stop(error) => format!("stop {}", error as u8),
            E::Flush(error) => format!("flush {}", error as u8),
        },
        Some(Reply::Stopped(_)) => "stopped".to_owned(),
        Some(Reply::Started) => "started".to_owned(),
        Some(Reply::Paused) => "paused".to_owned(),
        Some(Reply::Terminated) => "terminated".to_owned(),
        Some(Reply::Flushed) => "flushed".to_owned(),
        Some(Reply::Watching) => "watching".to_owned(),
        Some(Reply::Initialized(_)) => "initialized".to_owned(),
        Some(Reply::CategoriesChanged(_)) => "changed".to_owned(),
        Some(reply) => format!("{reply:?}"),
    }
}

#[test]
fn each_call_has_its_result_in_each_state() {
    for (call, results) in TABLE {
        for (state, expected) in STATES.iter().zip(results) {
            let mut scene = scene_in(state);
            let found = text(scene.call(CLIENT, request(call)));
            assert_eq!(found, expected, "{call} in the state {state}");
        }
    }
}

/// The states of one session do not depend on the calls for another one.
#[test]
fn sessions_have_states_of_their_own() {
    for state in STATES {
        for (call, _) in TABLE {
            let mut scene = scene_in(state);
            let other = scene.starting(CLIENT, named("b"));
            scene.call(CLIENT, request(call));
            let number = if state == "none" { 1 } else { 2 };
            scene.opened(number);
            assert_eq!(scene.reply(CLIENT, other), Some(Reply::Started), "{call} in {state}");
        }
    }
}
