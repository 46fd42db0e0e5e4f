//! The states of which the watchers of a session are notified.

use super::*;
use trace_protocol::control::SessionState as S;

const WATCHER: ClientId = 3;

/// Returns a session of the client that is detached or not, which another client watches.
fn watched(config: TraceConfig) -> Scene {
    let mut scene = Scene::new();
    scene.call(CLIENT, Request::Initialize(config));
    scene.connect(WATCHER, USER);
    scene.call(WATCHER, Request::Watch("a".to_owned()));
    assert_eq!(scene.states(), [S::Initialized]);
    scene
}

impl Scene {
    /// Takes the states that the watcher has learned.
    fn states(&mut self) -> Vec<S> {
        let events = std::iter::from_fn(|| self.reply(WATCHER, EVENT));
        let state = |reply| match reply {
            Reply::StateChanged(event) => Some(event.state),
            _ => None,
        };
        events.filter_map(state).collect()
    }

    fn start(&mut self, disposition: BufferDisposition) {
        let start = StartRequest { session: "a".to_owned(), disposition, ..Default::default() };
        self.send(CLIENT, Request::Start(start));
    }

    fn open(&mut self) {
        self.start(BufferDisposition::Retain);
        self.opened(1);
        assert_eq!(self.states(), [S::Starting, S::Started]);
    }
}

#[test]
fn a_session_that_stops_and_starts_again() {
    let mut scene = watched(named("a"));
    scene.open();
    scene.send(CLIENT, stop("a", false));
    assert_eq!(scene.states(), [S::Pausing]);
    scene.on(Input::Session(1, SessionEvent::Paused));
    scene.start(BufferDisposition::Retain);
    assert_eq!(scene.states(), [S::Paused, S::Starting]);
    scene.on(Input::Session(1, SessionEvent::Recording));
    assert_eq!(scene.states(), [S::Started]);
    scene.send(CLIENT, stop("a", true));
    scene.ended(1);
    assert_eq!(scene.states(), [S::Stopping, S::Stopped, S::Terminated]);
}

#[test]
fn results_that_wait_until_they_are_taken_replaced_or_forgotten() {
    let take = |scene: &mut Scene| drop(scene.call(CLIENT, stop("a", true)));
    let replace = |scene: &mut Scene| drop(scene.call(CLIENT, Request::Initialize(detached("a"))));
    let forget = |scene: &mut Scene| {
        for number in 2..2 + ControlLimits::default().results as u64 {
            scene.started(CLIENT, number, detached(&format!("s{number}")));
            scene.ended(number);
        }
    };
    for end in [&take as &dyn Fn(&mut Scene), &replace, &forget] {
        let mut scene = watched(detached("a"));
        scene.open();
        scene.ended(1);
        assert_eq!(scene.states(), [S::Stopped], "it has ended by itself");
        end(&mut scene);
        assert_eq!(scene.states(), [S::Terminated]);
    }
}

/// Else a session that has recorded for long would have no results if there are others'.
#[test]
fn the_results_that_are_forgotten_are_those_of_the_first_end() {
    let limits = ControlLimits { results: 2, ..ControlLimits::default() };
    let mut scene = Scene::with(limits);
    for (id, name) in [(1, "a"), (2, "b"), (3, "c")] {
        scene.started(CLIENT, id, detached(name));
    }
    [2, 3, 1].into_iter().for_each(|id| scene.ended(id));
    assert_eq!(scene.call(CLIENT, stop("a", true)), stopped("a"));
    let reason = error(scene.call(CLIENT, stop("b", true))).reason;
    assert_eq!(reason, "there is no session 'b'");
    assert_eq!(scene.call(CLIENT, stop("c", true)), stopped("c"));
}

#[test]
fn a_session_without_results_is_removed() {
    let mut scene = watched(named("a"));
    scene.call(CLIENT, terminate("a"));
    assert_eq!(scene.states(), [S::Terminated], "it has not started");
    let mut scene = watched(named("a"));
    scene.start(BufferDisposition::Retain);
    let error = ControlError::general(GeneralError::Output, "full");
    scene.on(Input::Session(1, SessionEvent::NotOpened(error)));
    assert_eq!(scene.states(), [S::Starting, S::Terminated]);
    let mut scene = watched(named("a"));
    scene.open();
    scene.call(CLIENT, abort("a"));
    scene.ended(1);
    assert_eq!(scene.states(), [S::Terminating, S::Stopped, S::Terminated]);
    let mut scene = watched(named("a"));
    scene.open();
    scene.on(Input::Disconnected(CLIENT));
    scene.ended(1);
    assert_eq!(scene.states(), [S::Stopping, S::Stopped, S::Terminated]);
}

/// The results of those that wait are not affected.
#[test]
fn a_session_that_a_trigger_stops() {
    for is_paused in [false, true] {
        let mut scene = watched(detached("a"));
        scene.open();
        if is_paused {
            scene.send(CLIENT, stop("a", false));
            scene.on(Input::Session(1, SessionEvent::Paused));
            assert_eq!(scene.states(), [S::Pausing, S::Paused]);
        }
        scene.take_actions();
        scene.on(Input::Session(1, SessionEvent::Stopping));
        scene.on(Input::Session(1, SessionEvent::Stopping));
        assert_eq!((scene.states(), scene.take_actions().len()), (vec![S::Stopping], 0));
        let results = scene.send(CLIENT, stop("a", true));
        scene.ended(1);
        assert_eq!(scene.reply(CLIENT, results), stopped("a"));
        assert_eq!(scene.states(), [S::Stopped, S::Terminated]);
    }
}

#[test]
fn a_stop_without_results_fails_when_a_trigger_stops_the_session() {
    use trace_protocol::control::{ErrorCode, StopError};
    let mut scene = watched(named("a"));
    scene.open();
    let pause = scene.send(CLIENT, stop("a", false));
    scene.on(Input::Session(1, SessionEvent::Stopping));
    assert_eq!(error(scene.reply(CLIENT, pause)).code, ErrorCode::Stop(StopError::Aborted));
    assert_eq!(scene.states(), [S::Pausing, S::Stopping]);
}

/// Its archive may not be complete yet.
#[test]
fn a_session_that_stops_is_aborted() {
    let mut scene = watched(named("a"));
    scene.open();
    scene.on(Input::Session(1, SessionEvent::Stopping));
    scene.take_actions();
    assert_eq!(scene.states(), [S::Stopping]);
    scene.send(CLIENT, abort("a"));
    assert_eq!(scene.take_actions(), ["discard 1"]);
    assert_eq!(scene.states(), [S::Terminating]);
    scene.send(CLIENT, stop("a", true));
    scene.on(Input::Disconnected(CLIENT));
    assert_eq!(scene.take_actions(), [] as [&str; 0], "it is aborted already");
    assert_eq!(scene.states(), []);
}
