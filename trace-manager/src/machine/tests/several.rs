//! Several sessions: what each step sends to a provider that they share.

use super::*;

fn config_of(mode: BufferingMode, categories: &[&str]) -> ProviderConfig {
    let categories = categories.iter().map(|category| category.to_string()).collect();
    ProviderConfig { mode, categories, ..config() }
}

fn streaming(category: &str) -> ProviderConfig {
    config_of(BufferingMode::Streaming, &[category])
}

fn set_categories(sequence: u32, categories: &[&str]) -> Output {
    let categories = categories.iter().map(|category| category.to_string()).collect();
    Output::Provider(1, send(ToProvider::SetCategories { sequence, categories }))
}

fn leave(session: SessionNumber, end: End, has_rest: bool) -> Output {
    Output::Leave(1, session, Leaving { end, has_rest })
}

impl Scene {
    fn open(&mut self, session: SessionNumber, config: ProviderConfig) {
        self.dispatch(Input::Open(session, config));
        self.dispatch(Input::Start(session, StartOptions::default()));
    }

    fn state_of(&self, session: SessionNumber) -> Option<SessionState> {
        self.coordinator.session_state(session)
    }

    /// Removes and returns the outputs other than states since the last call.
    fn outputs(&mut self) -> Vec<Output> {
        let outputs = self.log.drain(..);
        outputs.filter(|output| !matches!(output, Output::State(..))).collect()
    }

    /// Restarts the provider 1, which follows the protocol.
    fn restart(&mut self) {
        let stop = Output::Provider(1, send(ToProvider::Stop));
        assert_eq!(self.outputs(), [Output::Restart(1), stop]);
        self.packet(1, Packet::Stopped);
        self.event(1, TraceeEvent::PacketsClosed);
        self.packet(1, Packet::Started { version: 1 });
        let is_change = |it: &Output| {
            matches!(it, Output::Provider(_, TraceeAction::Send(ToProvider::SetCategories { .. })))
        };
        assert!(!self.outputs().iter().any(is_change));
    }

    /// Returns a scene with a provider that records for the session 1.
    fn recording(mode: BufferingMode) -> Self {
        let mut scene = Self::new(1);
        scene.open(1, config_of(mode, &["a"]));
        scene.packet(1, Packet::Started { version: 1 });
        scene.log.clear();
        scene
    }

    /// Returns a scene with a provider that records for the sessions 1 and 2.
    fn shared() -> Self {
        let mut scene = Self::recording(BufferingMode::Streaming);
        scene.open(2, streaming("b"));
        scene.packet(1, Packet::CategoriesSet { sequence: 1 });
        assert_eq!(scene.state_of(2), Some(SessionState::Started));
        scene.log.clear();
        scene
    }
}

#[test]
fn a_second_session_joins_a_streaming_provider() {
    let mut scene = Scene::recording(BufferingMode::Streaming);
    scene.open(2, streaming("b"));
    assert_eq!(scene.outputs(), [Output::Join(1, 2), set_categories(1, &["a", "b"])]);
    assert_eq!(scene.state_of(2), Some(SessionState::Starting), "the provider has not replied");
    assert_eq!(scene.state_of(1), Some(SessionState::Started), "the first one is not affected");
    let answered = |scene: &Scene| [1, 2].map(|it| scene.coordinator.has_answered(1, it));
    assert_eq!(answered(&scene), [true, false]);
    scene.packet(1, Packet::CategoriesSet { sequence: 1 });
    assert_eq!(scene.state_of(2), Some(SessionState::Started));
    assert_eq!(answered(&scene), [true, true]);
    assert_eq!(scene.coordinator.sessions_of(1), [1, 2]);
}

#[test]
fn a_session_leaves_when_the_provider_has_sent_its_records() {
    let mut scene = Scene::shared();
    scene.dispatch(Input::Terminate(1));
    assert_eq!(scene.outputs(), [set_categories(2, &["b"])]);
    assert_eq!(scene.state_of(1), Some(SessionState::Stopping));
    scene.packet(1, Packet::SaveBuffer { wrapped_count: 0, durable_data_end: 8 });
    assert_eq!(scene.state_of(1), Some(SessionState::Stopping));
    scene.log.clear();
    scene.packet(1, Packet::CategoriesSet { sequence: 2 });
    assert_eq!(scene.outputs(), [leave(1, End::Terminated, false)]);
    assert_eq!((scene.state_of(1), scene.state_of(2)), (None, Some(SessionState::Started)));
    scene.dispatch(Input::Terminate(2));
    assert_eq!(scene.outputs(), [Output::Provider(1, send(ToProvider::Stop))]);
}

/// It stops before it has saved the records from before the change.
#[test]
fn sessions_that_end_one_right_after_the_other_get_the_rest_of_the_buffer() {
    let mut scene = Scene::shared();
    scene.dispatch(Input::Terminate(1));
    scene.dispatch(Input::Terminate(2));
    let stop = Output::Provider(1, send(ToProvider::Stop));
    assert_eq!(scene.outputs(), [set_categories(2, &["b"]), stop]);
    scene.packet(1, Packet::Stopped);
    let terminate = Output::Provider(1, send(ToProvider::Terminate));
    assert_eq!(scene.outputs(), [leave(1, End::Terminated, true), terminate]);
    assert_eq!(scene.state_of(1), None);
}

#[test]
fn a_provider_that_does_not_reply_delays_a_session_by_its_timeout() {
    let mut scene = Scene::recording(BufferingMode::Streaming);
    scene.open(2, streaming("b"));
    scene.pass(Duration::from_secs(4));
    assert_eq!(scene.state_of(2), Some(SessionState::Starting));
    scene.pass(Duration::from_secs(1));
    assert_eq!(scene.state_of(2), Some(SessionState::Started));
    scene.log.clear();
    scene.dispatch(Input::Terminate(2));
    scene.pass(Duration::from_secs(5));
    assert_eq!(scene.outputs().last(), Some(&leave(2, End::TimedOut, true)));
    assert_eq!(scene.state_of(2), None);
    // Its late replies are accepted.
    scene.packet(1, Packet::CategoriesSet { sequence: 1 });
    scene.packet(1, Packet::CategoriesSet { sequence: 2 });
    assert_eq!(scene.tracee(1), TraceeState::Started);
}

/// The provider would close its connection.
#[test]
fn a_union_that_a_provider_does_not_accept_selects_all() {
    let numbered = |prefix: char| {
        let names = (0..2500).map(|number| format!("{prefix}{number}"));
        ProviderConfig { categories: names.collect(), ..streaming("") }
    };
    let mut scene = Scene::new(1);
    scene.open(1, numbered('a'));
    scene.packet(1, Packet::Started { version: 1 });
    assert_eq!(scene.coordinator.config_of(1).categories.len(), 2500);
    scene.outputs();
    scene.open(2, numbered('b'));
    assert_eq!(scene.outputs(), [Output::Join(1, 2), set_categories(1, &[])]);
    assert_eq!(scene.coordinator.config_of(1).categories, [""; 0]);
    scene.packet(1, Packet::CategoriesSet { sequence: 1 });
    scene.dispatch(Input::Terminate(1));
    let b: Vec<String> = numbered('b').categories;
    let b: Vec<&str> = b.iter().map(String::as_str).collect();
    assert_eq!(scene.outputs(), [set_categories(2, &b)]);
}

#[test]
fn a_flush_of_a_session_concerns_its_providers() {
    let mut scene = Scene::new(0);
    for (id, uid) in [(1, 1000), (2, 1001)] {
        scene.dispatch(register_as(id, uid));
        scene.open(u64::from(id), ProviderConfig { user: Some(uid), ..streaming("a") });
        scene.packet(id, Packet::Started { version: 1 });
    }
    scene.outputs();
    scene.dispatch(Input::Flush(2));
    assert_eq!(scene.outputs(), [Output::Provider(2, send(ToProvider::Flush))]);
}

/// A session waits for its own time-out, not for that of another one.
#[test]
fn the_timeouts_of_a_session_do_not_delay_others() {
    let second = Duration::from_secs(1);
    let config = |category, stop| {
        let timeouts = Timeouts { stop, ..Timeouts::default() };
        ProviderConfig { timeouts, ..streaming(category) }
    };
    let mut scene = Scene::new(1);
    scene.open(1, config("a", 60 * second));
    scene.open(2, config("b", second));
    scene.open(3, config("c", 2 * second));
    scene.packet(1, Packet::Started { version: 1 });
    scene.packet(1, Packet::CategoriesSet { sequence: 2 });
    scene.dispatch(Input::Terminate(1));
    scene.dispatch(Input::Terminate(2));
    assert_eq!(scene.coordinator.deadline(), Some(scene.now + second));
    scene.pass(second);
    assert_eq!(scene.state_of(2), None, "its time is over");
    assert_eq!(scene.state_of(1), Some(SessionState::Stopping), "its time is not over");
    scene.packet(1, Packet::CategoriesSet { sequence: 4 });
    assert_eq!(scene.state_of(1), None);
    scene.dispatch(Input::Terminate(3));
    assert_eq!(scene.coordinator.deadline(), Some(scene.now + 2 * second));
}

#[test]
fn a_reply_without_a_change_is_a_violation() {
    for sequence in [0, 2] {
        let mut scene = Scene::shared();
        scene.packet(1, Packet::CategoriesSet { sequence });
        assert_eq!(scene.tracee(1), TraceeState::Dead, "{sequence}");
    }
    let mut scene = Scene::new(1);
    scene.open(1, streaming("a"));
    scene.open(2, streaming("b"));
    scene.packet(1, Packet::CategoriesSet { sequence: 1 });
    assert_eq!(scene.tracee(1), TraceeState::Dead, "before STARTED");
}

/// Each record of a buffer in another mode cannot be passed on once.
#[test]
fn a_provider_in_another_mode_is_restarted() {
    for mode in [BufferingMode::Oneshot, BufferingMode::Circular] {
        let mut scene = Scene::recording(mode);
        scene.open(2, config_of(mode, &["b"]));
        let stop = Output::Provider(1, send(ToProvider::Stop));
        assert_eq!(scene.outputs(), [Output::Restart(1), stop]);
        assert_eq!(scene.state_of(2), Some(SessionState::Starting), "the provider will join");
        scene.packet(1, Packet::Stopped);
        assert_eq!(scene.outputs(), [Output::Provider(1, send(ToProvider::Terminate))]);
        scene.event(1, TraceeEvent::PacketsClosed);
        let actions = scene.actions(1);
        assert_eq!(
            actions[..2],
            [TraceeAction::Finish(End::Terminated), TraceeAction::CreateBuffer]
        );
        let TraceeAction::Send(ToProvider::Initialize(initialize)) = &actions[2] else {
            panic!("{actions:?}")
        };
        assert_eq!(initialize.mode, BufferingMode::Streaming);
        assert_eq!(initialize.categories, ["a", "b"]);
        assert_eq!(actions[3], start());
        assert_eq!(scene.coordinator.sessions_of(1), [1, 2]);
        scene.packet(1, Packet::Started { version: 1 });
        let started = Some(SessionState::Started);
        assert_eq!((scene.state_of(1), scene.state_of(2)), (started, started));
    }
}

/// A provider of the first version would close its connection after a few unknown messages.
#[test]
fn a_provider_without_set_categories_is_restarted_at_each_change() {
    let mut scene = Scene::new(0);
    scene.dispatch(Input::Registered(1, Registration::default()));
    scene.open(1, streaming("a"));
    scene.packet(1, Packet::Started { version: 1 });
    for _ in 0..20 {
        scene.outputs();
        scene.open(2, streaming("b"));
        scene.restart();
        assert_eq!(scene.coordinator.sessions_of(1), [1, 2]);
        scene.dispatch(Input::Terminate(2));
        scene.restart();
        assert_eq!(scene.coordinator.sessions_of(1), [1]);
        assert_eq!(scene.state_of(2), None);
    }
}

/// The buffer of a session's configuration suffices for it alone.
#[test]
fn the_combined_configuration_has_the_largest_buffer_and_the_longest_timeouts() {
    let mut scene = Scene::new(1);
    let timeouts = Timeouts { stop: Duration::from_secs(9), ..Timeouts::default() };
    scene.open(1, ProviderConfig { buffer_size: 5 << 20, ..streaming("a") });
    scene.open(2, ProviderConfig { timeouts, ..streaming("b") });
    let config = scene.coordinator.config_of(1);
    assert_eq!((config.buffer_size, config.timeouts), (5 << 20, timeouts));
    assert_eq!(config.categories, ["a", "b"]);
}

#[test]
fn a_provider_that_dies_leaves_all_its_sessions() {
    let mut scene = Scene::shared();
    scene.event(1, TraceeEvent::Disconnected);
    let finish = TraceeAction::Finish(End::Disconnected);
    assert_eq!(scene.outputs(), [Output::Provider(1, finish)]);
    for session in [1, 2] {
        scene.dispatch(Input::Terminate(session));
        assert_eq!(scene.state_of(session), None);
    }
}

/// A provider that has left a session does not join it again, but it joins a new one.
#[test]
fn a_provider_that_left_joins_later_sessions() {
    let mut scene = Scene::recording(BufferingMode::Streaming);
    scene.event(1, TraceeEvent::PacketsClosed);
    assert_eq!(scene.tracee(1), TraceeState::Registered);
    scene.log.clear();
    scene.open(2, streaming("b"));
    assert_eq!(scene.coordinator.sessions_of(1), [2]);
    assert!(matches!(scene.tracee(1), TraceeState::Starting { .. }));
}

/// The last session's stop is under way.
#[test]
fn a_session_that_starts_while_the_last_one_stops_gets_a_new_buffer() {
    let mut scene = Scene::recording(BufferingMode::Streaming);
    scene.dispatch(Input::Terminate(1));
    scene.open(2, streaming("b"));
    scene.packet(1, Packet::Stopped);
    scene.event(1, TraceeEvent::PacketsClosed);
    assert_eq!(scene.state_of(1), None);
    assert_eq!(scene.coordinator.sessions_of(1), [2]);
    scene.packet(1, Packet::Started { version: 1 });
    assert_eq!(scene.state_of(2), Some(SessionState::Started));
}

#[test]
fn a_session_without_memory_for_a_provider_does_not_retry() {
    let mut scene = Scene::new(1);
    scene.memory = false;
    scene.open(1, streaming("a"));
    assert_eq!(scene.tracee(1), TraceeState::Registered);
    scene.pass(Duration::from_secs(100));
    assert_eq!(scene.outputs(), [Output::Provider(1, TraceeAction::CreateBuffer)]);
    scene.open(2, streaming("b"));
    assert_eq!(scene.outputs(), [Output::Provider(1, TraceeAction::CreateBuffer)]);
}

fn change(session: SessionNumber, category: &str) -> Input {
    Input::SetCategories(session, vec![category.to_owned()], Vec::new())
}

#[test]
fn a_session_changes_its_categories_in_each_mode() {
    for mode in [BufferingMode::Oneshot, BufferingMode::Circular, BufferingMode::Streaming] {
        let mut scene = Scene::recording(mode);
        scene.dispatch(change(1, "b"));
        assert_eq!(scene.outputs(), [set_categories(1, &["b"])], "{mode:?}");
        scene.packet(1, Packet::CategoriesSet { sequence: 1 });
        assert_eq!(scene.outputs(), [], "{mode:?}");
        assert_eq!(scene.state_of(1), Some(SessionState::Started));
    }
}

#[test]
fn a_change_keeps_the_categories_of_the_other_session() {
    let mut scene = Scene::shared();
    scene.dispatch(change(1, "c"));
    let [Output::Provider(1, TraceeAction::Send(ToProvider::SetCategories { categories, .. }))] =
        &scene.outputs()[..]
    else {
        panic!("one message")
    };
    assert_eq!(categories, &["c", "b"]);
}

#[test]
fn a_provider_that_starts_gets_the_changed_categories() {
    let mut scene = Scene::new(0);
    scene.open(1, streaming("a"));
    scene.dispatch(change(1, "b"));
    scene.dispatch(register(1));
    assert_eq!(scene.coordinator.config_of(1).categories, ["b"]);
    scene.packet(1, Packet::Started { version: 1 });
    let is_change = |it: &Output| {
        matches!(it, Output::Provider(_, TraceeAction::Send(ToProvider::SetCategories { .. })))
    };
    assert!(!scene.outputs().iter().any(is_change), "its buffer came with them");
}

#[test]
fn a_provider_that_cannot_change_its_categories_is_restarted() {
    let mut scene = Scene::new(0);
    scene.dispatch(Input::Registered(1, Registration::default()));
    scene.open(1, streaming("a"));
    scene.packet(1, Packet::Started { version: 1 });
    scene.log.clear();
    scene.dispatch(change(1, "b"));
    scene.restart();
    assert_eq!(scene.coordinator.config_of(1).categories, ["b"]);
}

#[test]
fn an_unknown_session_changes_nothing() {
    let mut scene = Scene::recording(BufferingMode::Streaming);
    scene.dispatch(change(2, "b"));
    assert_eq!(scene.outputs(), []);
}

/// A recording that waits for its programs would end otherwise.
#[test]
fn programs_of_a_session_that_may_start_again_take_part() {
    let mut scene = Scene::shared();
    let takes_part = |scene: &Scene| scene.coordinator.participants(2).eq([1]);
    scene.dispatch(Input::Stop(2));
    scene.packet(1, Packet::CategoriesSet { sequence: 2 });
    assert_eq!(scene.state_of(2), Some(SessionState::Stopped));
    assert_eq!(scene.coordinator.sessions_of(1), [1], "it goes on for the other session");
    assert!(takes_part(&scene));
    // It stops for the other session, and has no buffer for this one yet.
    scene.dispatch(Input::Terminate(1));
    scene.dispatch(Input::Start(2, StartOptions::default()));
    assert!(takes_part(&scene));
    scene.dispatch(register(2));
    assert_eq!(scene.coordinator.participants(2).count(), 2);
    scene.event(1, TraceeEvent::Disconnected);
    assert!(scene.coordinator.participants(2).eq([2]));
}

#[test]
fn a_session_ends_though_a_provider_has_stopped_by_itself_for_others_too() {
    let mut scene = Scene::shared();
    scene.packet(1, Packet::Stopped);
    scene.log.clear();
    scene.dispatch(Input::Terminate(1));
    let terminate = Output::Provider(1, send(ToProvider::Terminate));
    assert_eq!(scene.outputs(), [terminate], "its buffer is collected for both");
    scene.event(1, TraceeEvent::PacketsClosed);
    assert_eq!((scene.state_of(1), scene.state_of(2)), (None, Some(SessionState::Started)));
}

/// There is no memory for both. The other session has the provider as if it were alone.
#[test]
fn a_provider_without_a_buffer_for_a_later_session_records_for_the_earlier_one() {
    let mut scene = Scene::recording(BufferingMode::Circular);
    scene.open(2, streaming("b"));
    scene.packet(1, Packet::Stopped);
    scene.log.clear();
    scene.unserved = Some(2);
    scene.event(1, TraceeEvent::PacketsClosed);
    assert_eq!(scene.coordinator.sessions_of(1), [1]);
    let initialize = scene.outputs().into_iter().find_map(|output| match output {
        Output::Provider(1, TraceeAction::Send(ToProvider::Initialize(it))) => Some(it),
        _ => None,
    });
    let initialize = initialize.unwrap();
    assert_eq!(initialize.mode, BufferingMode::Circular);
    assert_eq!(initialize.categories, ["a"]);
    scene.packet(1, Packet::Started { version: 1 });
    assert_eq!(scene.state_of(2), Some(SessionState::Started), "it does not wait");
    assert_eq!(scene.coordinator.participants(2).count(), 0);
    // Memory may be free when it starts again.
    scene.unserved = None;
    scene.dispatch(Input::Stop(2));
    scene.dispatch(Input::Start(2, StartOptions::default()));
    scene.packet(1, Packet::Stopped);
    scene.event(1, TraceeEvent::PacketsClosed);
    assert_eq!(scene.coordinator.sessions_of(1), [1, 2]);
}
