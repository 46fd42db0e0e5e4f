//! A second session and a provider with a circular buffer, which begins to stream.

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn config_of(mode: BufferingMode, category: &str) -> ProviderConfig {
    ProviderConfig { mode, categories: vec![category.to_owned()], ..config() }
}

fn circular(category: &str) -> ProviderConfig {
    config_of(BufferingMode::Circular, category)
}

fn set_categories(sequence: u32, categories: &[&str]) -> Output {
    let categories = categories.iter().map(|category| category.to_string()).collect();
    Output::Provider(1, send(ToProvider::SetCategories { sequence, categories }))
}

fn stop() -> Output {
    Output::Provider(1, send(ToProvider::Stop))
}

fn save(wrapped_count: u32) -> Packet {
    Packet::SaveBuffer { wrapped_count, durable_data_end: 0 }
}

impl Scene {
    fn begin(&mut self, session: SessionNumber, config: ProviderConfig) {
        self.dispatch(Input::Open(session, config));
        self.dispatch(Input::Start(session, StartOptions::default()));
    }

    /// Returns a scene with a provider that records for the session 1, and can stream.
    fn circular() -> Self {
        Self::recording_with(circular("a"))
    }

    fn recording_with(config: ProviderConfig) -> Self {
        let mut scene = Self::new(0);
        let features = Features::SET_CATEGORIES.with(Features::STREAM);
        scene.dispatch(Input::Registered(1, Registration { features, ..Registration::default() }));
        scene.begin(1, config);
        scene.packet(1, Packet::Started { version: 1 });
        scene.log.clear();
        scene
    }

    /// Returns a scene in which the provider has to reply to Stream.
    fn requested() -> Self {
        let mut scene = Self::circular();
        scene.begin(2, circular("b"));
        scene.log.clear();
        scene
    }

    /// Removes and returns the outputs other than states since the last call.
    fn steps(&mut self) -> Vec<Output> {
        let outputs = self.log.drain(..);
        outputs.filter(|output| !matches!(output, Output::State(..))).collect()
    }

    fn has_started(&self, session: SessionNumber) -> bool {
        self.coordinator.session_state(session) == Some(SessionState::Started)
    }
}

/// The earlier session is not interrupted.
#[test]
fn the_second_session_joins_when_the_older_rolling_buffers_are_checked() {
    let mut scene = Scene::circular();
    scene.begin(2, circular("b"));
    let stream = Output::Provider(1, send(ToProvider::Stream));
    assert_eq!(scene.steps(), [Output::Stream(1), stream]);
    assert_eq!((scene.has_started(1), scene.has_started(2)), (true, false));
    scene.packet(1, Packet::Streaming { first: 3, current: 5 });
    let streams = Output::Provider(1, TraceeAction::Streams { first: 3, current: 5 });
    assert_eq!(scene.steps(), [streams]);
    scene.packet(1, save(3));
    assert_eq!(scene.steps().len(), 1, "a save");
    assert_eq!(scene.coordinator.sessions_of(1), [1]);
    scene.packet(1, save(4));
    scene.packet(1, save(5));
    assert_eq!(scene.steps().len(), 2, "a program that is busy");
    assert_eq!(scene.coordinator.sessions_of(1), [1]);
    scene.event(1, TraceeEvent::Checked);
    assert_eq!(scene.steps(), [Output::Join(1, 2), set_categories(1, &["a", "b"])]);
    scene.packet(1, Packet::CategoriesSet { sequence: 1 });
    assert!(scene.has_started(1) && scene.has_started(2));
    scene.log.clear();
    // Later sessions join as those of any streaming provider.
    scene.begin(3, circular("c"));
    assert_eq!(scene.steps(), [Output::Join(1, 3), set_categories(2, &["a", "b", "c"])]);
}

/// A loop that checks other copies has checked none of these in time.
#[test]
fn a_session_does_not_wait_longer_for_checks_than_for_a_start() {
    for are_all_saved in [false, true] {
        let mut scene = Scene::requested();
        scene.packet(1, Packet::Streaming { first: 3, current: 5 });
        (3..=3 + u32::from(are_all_saved))
            .for_each(|wrapped_count| scene.packet(1, save(wrapped_count)));
        if !are_all_saved {
            scene.event(1, TraceeEvent::Checked);
        }
        scene.log.clear();
        scene.pass(5 * SECOND - Duration::from_millis(1));
        assert_eq!(scene.steps(), []);
        scene.pass(Duration::from_millis(1));
        assert_eq!(scene.steps(), [Output::Restart(1), stop()]);
    }
}

#[test]
fn a_session_joins_at_once_if_there_is_no_older_rolling_buffer() {
    let mut scene = Scene::requested();
    scene.packet(1, Packet::Streaming { first: 0, current: 0 });
    let streams = Output::Provider(1, TraceeAction::Streams { first: 0, current: 0 });
    let steps = [streams, Output::Join(1, 2), set_categories(1, &["a", "b"])];
    assert_eq!(scene.steps(), steps);
}

/// Each of them has its own reason to have no change in place.
#[test]
fn other_providers_are_restarted() {
    let without = |features| {
        let mut scene = Scene::new(0);
        scene.dispatch(Input::Registered(1, Registration { features, ..Registration::default() }));
        scene.begin(1, circular("a"));
        scene.packet(1, Packet::Started { version: 1 });
        scene
    };
    let mut without_memory = Scene::circular();
    without_memory.memory = false;
    let oneshot = Scene::recording_with(config_of(BufferingMode::Oneshot, "a"));
    for mut scene in [without(Features::SET_CATEGORIES), without(Features::STREAM), oneshot] {
        scene.log.clear();
        scene.begin(2, circular("b"));
        assert_eq!(scene.steps(), [Output::Restart(1), stop()]);
    }
    without_memory.begin(2, circular("b"));
    let steps = [Output::Stream(1), Output::Restart(1), stop()];
    assert_eq!(without_memory.steps(), steps);
}

/// The longest time-out of a start counts, and a second at least.
#[test]
fn a_provider_that_does_not_reply_is_restarted() {
    for (starts, expected) in [([5, 9], 9), ([9, 5], 9), ([0, 0], 1)] {
        let with = |category: &str, start| {
            let timeouts = Timeouts { start: start * SECOND, ..Timeouts::default() };
            ProviderConfig { timeouts, ..circular(category) }
        };
        let mut scene = Scene::recording_with(with("a", starts[0]));
        scene.begin(2, with("b", starts[1]));
        scene.log.clear();
        assert_eq!(scene.coordinator.deadline(), Some(scene.now + expected * SECOND));
        scene.pass(expected * SECOND - Duration::from_millis(1));
        assert_eq!(scene.steps(), []);
        scene.pass(Duration::from_millis(1));
        assert_eq!(scene.steps(), [Output::Restart(1), stop()]);
        // The reply is late, and its rolling buffers are saved all the same.
        scene.packet(1, Packet::Streaming { first: 0, current: 1 });
        scene.packet(1, save(0));
        scene.packet(1, Packet::Stopped);
        scene.event(1, TraceeEvent::PacketsClosed);
        scene.packet(1, Packet::Started { version: 1 });
        assert!(scene.has_started(1) && scene.has_started(2));
    }
}

#[test]
fn a_session_that_stops_waits_no_longer_than_its_own_time_out() {
    let timeouts = Timeouts { stop: 2 * SECOND, ..Timeouts::default() };
    let mut scene = Scene::recording_with(ProviderConfig { timeouts, ..circular("a") });
    scene.begin(2, circular("b"));
    scene.pass(SECOND);
    scene.dispatch(Input::Terminate(1));
    scene.log.clear();
    assert_eq!(scene.coordinator.deadline(), Some(scene.now + 2 * SECOND));
    scene.pass(2 * SECOND);
    assert_eq!(scene.steps(), [Output::Restart(1), stop()]);
}

#[test]
fn a_change_without_a_session_that_joins_has_no_deadline() {
    let mut scene = Scene::requested();
    scene.dispatch(Input::Terminate(2));
    assert_eq!((scene.steps(), scene.coordinator.deadline()), (vec![], None));
    scene.pass(100 * SECOND);
    assert_eq!(scene.steps(), []);
    scene.packet(1, Packet::Streaming { first: 0, current: 0 });
    scene.log.clear();
    scene.begin(3, circular("c"));
    assert_eq!(scene.steps(), [Output::Join(1, 3), set_categories(1, &["a", "c"])]);
}

/// The session that is to join has no records yet, so its categories and conditions wait.
#[test]
fn categories_change_for_members_only_while_the_change_is_pending() {
    let mut scene = Scene::requested();
    scene.dispatch(Input::SetCategories(1, vec!["c".to_owned()], Vec::new()));
    assert_eq!(scene.steps(), [set_categories(1, &["c"])]);
    scene.packet(1, Packet::CategoriesSet { sequence: 1 });
    scene.packet(1, Packet::Streaming { first: 0, current: 0 });
    assert_eq!(scene.steps().last(), Some(&set_categories(2, &["c", "b"])));
}

/// A hostile provider must not have the manager skip rolling buffers, or wait for others.
#[test]
fn a_wrong_reply_is_a_violation() {
    let is_dead = |scene: &mut Scene, first, current| {
        scene.packet(1, Packet::Streaming { first, current });
        scene.tracee(1) == TraceeState::Dead
    };
    assert!(is_dead(&mut Scene::circular(), 0, 0), "without a request");
    assert!(is_dead(&mut Scene::started(1), 0, 0), "in streaming mode");
    for (first, current) in [(1, 0), (0, ROLLING_BUFFERS), (0, u32::MAX), (u32::MAX, 0)] {
        assert!(is_dead(&mut Scene::requested(), first, current), "{first} {current}");
    }
    let mut scene = Scene::requested();
    assert!(!is_dead(&mut scene, u32::MAX - 7, u32::MAX));
    assert!(is_dead(&mut scene, u32::MAX - 7, u32::MAX), "twice");
    let mut scene = Scene::requested();
    assert!(!is_dead(&mut scene, 3, 5));
    scene.packet(1, save(5));
    assert_eq!(scene.tracee(1), TraceeState::Dead, "older ones are not saved");
    let mut scene = Scene::requested();
    scene.packet(1, save(0));
    assert_eq!(scene.tracee(1), TraceeState::Dead, "before the reply");
    let mut scene = Scene::requested();
    scene.packet(1, Packet::Stopped);
    assert!(is_dead(&mut scene, 0, 0), "after STOPPED");
}

#[test]
fn a_provider_that_stops_instead_of_streaming_gets_a_new_buffer() {
    let mut scene = Scene::requested();
    scene.packet(1, Packet::Stopped);
    assert_eq!(scene.steps(), [Output::Provider(1, send(ToProvider::Terminate))]);
    scene.event(1, TraceeEvent::PacketsClosed);
    scene.packet(1, Packet::Started { version: 1 });
    assert_eq!(scene.coordinator.sessions_of(1), [1, 2]);
    assert!(scene.has_started(1) && scene.has_started(2));
}
