//! Random events in random order, against a small model: buffers are finished exactly once, each
//! session gets each provider's records from its join to its leave, and sessions end.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use proptest::prelude::*;

const SESSIONS: SessionNumber = 4;

fn packet() -> impl Strategy<Value = Packet> {
    prop_oneof![
        4 => Just(Packet::Started { version: 1 }),
        4 => Just(Packet::Stopped),
        1 => Just(Packet::Started { version: 9 }),
        1 => Just(Packet::Streaming { first: 0, current: 1 }),
        3 => (1u32..4).prop_map(|sequence| Packet::CategoriesSet { sequence }),
        4 => (0u32..3, 0u64..3).prop_map(|(wrapped_count, words)| Packet::SaveBuffer {
            wrapped_count,
            durable_data_end: words * 8
        }),
    ]
}

fn event() -> impl Strategy<Value = TraceeEvent> {
    prop_oneof![
        8 => packet().prop_map(TraceeEvent::Packet),
        2 => Just(TraceeEvent::Checked),
        1 => Just(TraceeEvent::PacketsClosed),
        1 => Just(TraceeEvent::Disconnected),
        1 => Just(TraceeEvent::Violation(Violation::Flood)),
    ]
}

fn config_in(mode: u8) -> ProviderConfig {
    ProviderConfig { mode: BufferingMode::from_u8(mode).unwrap(), ..config() }
}

fn registration(bits: u32) -> Registration {
    Registration { features: Features::from_bits(bits), ..Registration::default() }
}

fn input() -> impl Strategy<Value = Input> {
    let session = || 1..=SESSIONS;
    prop_oneof![
        2 => (1u32..5, prop_oneof![Just(0), Just(1), Just(9)])
            .prop_map(|(id, bits)| Input::Registered(id, registration(bits))),
        10 => (1u32..5, event()).prop_map(|(id, event)| Input::Provider(id, event)),
        // A provider that follows the protocol.
        12 => (1u32..5).prop_map(|id| Input::Provider(id, TraceeEvent::Tick)),
        1 => (1u32..5).prop_map(Input::BuffersLeft),
        3 => (session(), 0u8..3).prop_map(|(session, mode)| Input::Open(session, config_in(mode))),
        3 => session().prop_map(|session| Input::Start(session, StartOptions::default())),
        1 => session().prop_map(Input::Stop),
        2 => session().prop_map(Input::Terminate),
        1 => session().prop_map(Input::Flush),
        2 => (session(), "[a-c]")
            .prop_map(|(session, name)| Input::SetCategories(session, vec![name], Vec::new())),
        1 => Just(Input::Tick),
    ]
}

/// The sinks and buffers as the event loop has them, by the outputs alone.
#[derive(Default)]
struct Model {
    /// The sessions whose sinks are open, for each provider with a buffer.
    buffers: BTreeMap<ProviderId, BTreeSet<SessionNumber>>,
    /// The last messages that each provider has not replied to.
    sent: BTreeMap<ProviderId, Vec<ToProvider>>,
    states: BTreeMap<SessionNumber, SessionState>,
    /// The providers that accept SetCategories.
    set_categories: BTreeSet<ProviderId>,
}

impl Model {
    fn apply(&mut self, output: Output, sessions: Vec<SessionNumber>) {
        match output {
            Output::Provider(id, TraceeAction::CreateBuffer) => {
                assert!(!sessions.is_empty(), "a buffer is for a session");
                let before = self.buffers.insert(id, sessions.into_iter().collect());
                assert!(before.is_none(), "{id} has a buffer");
                self.sent.remove(&id);
            }
            Output::Provider(id, TraceeAction::Finish(_)) => {
                assert!(self.buffers.remove(&id).is_some(), "{id} has no buffer");
                self.sent.remove(&id);
            }
            Output::Provider(id, TraceeAction::Send(message)) => {
                if let ToProvider::SetCategories { .. } = message {
                    assert!(self.set_categories.contains(&id), "{id} does not accept it");
                }
                self.sent.entry(id).or_default().push(message);
            }
            Output::Join(id, session) => {
                assert!(self.states[&session].is_running(), "{session} records");
                assert!(self.buffers.get_mut(&id).unwrap().insert(session), "it joins once");
            }
            Output::Leave(id, session, _) => {
                assert_eq!(self.states[&session], SessionState::Stopping);
                assert!(self.buffers.get_mut(&id).unwrap().remove(&session), "it leaves once");
                assert!(!self.buffers[&id].is_empty(), "others stay");
            }
            Output::State(session, SessionState::Terminated) => {
                let of_session = |sinks: &BTreeSet<_>| sinks.contains(&session);
                assert!(!self.buffers.values().any(of_session), "its sinks are complete");
                self.states.remove(&session);
            }
            Output::State(session, state) => drop(self.states.insert(session, state)),
            Output::Stream(id) => assert!(self.buffers.contains_key(&id), "{id} records"),
            Output::Restart(id) => assert!(self.buffers.contains_key(&id), "{id} records"),
            Output::Provider(..) => {}
        }
    }

    /// Returns the reply of a provider that follows the protocol to its oldest message.
    fn reply(&mut self, id: ProviderId) -> Option<TraceeEvent> {
        let sent = self.sent.get_mut(&id).filter(|sent| !sent.is_empty())?;
        match sent.remove(0) {
            ToProvider::Start(_) => Some(TraceeEvent::Packet(Packet::Started { version: 1 })),
            ToProvider::Stop => Some(TraceeEvent::Packet(Packet::Stopped)),
            ToProvider::Terminate => Some(TraceeEvent::PacketsClosed),
            ToProvider::Stream => {
                let streaming = Packet::Streaming { first: 0, current: 1 };
                Some(TraceeEvent::Packet(streaming))
            }
            ToProvider::SetCategories { sequence, .. } => {
                Some(TraceeEvent::Packet(Packet::CategoriesSet { sequence }))
            }
            _ => None,
        }
    }

    /// Checks the provider's sessions. Those that wait for a buffer have no sinks yet.
    fn check(&self, coordinator: &Coordinator) {
        for (id, sinks) in &self.buffers {
            let state = coordinator.tracee(*id).unwrap().state();
            let sessions: BTreeSet<_> = coordinator.sessions_of(*id).into_iter().collect();
            assert_eq!(*sinks, sessions, "{id} in {state:?}");
            let alone = sessions.len() == 1;
            let mode = coordinator.tracee(*id).unwrap().mode();
            assert!(alone || mode == BufferingMode::Streaming, "sessions share a stream");
        }
        for (session, state) in &self.states {
            assert_eq!(coordinator.session_state(*session), Some(*state));
        }
    }
}

/// Returns the replies of the connected providers in their present buffers.
fn replies(scene: &Scene) -> BTreeMap<ProviderId, Replies> {
    let replies = |id| Some((id, scene.coordinator.tracee(id)?.replies()));
    (1..5).filter_map(replies).collect()
}

/// Checks that a provider which has left its buffer has the replies of that buffer, also if it gets
/// the next one at once.
fn check_replies(scene: &Scene, before: &BTreeMap<ProviderId, Replies>) {
    for output in &scene.log {
        if let Output::Provider(id, TraceeAction::Finish(_)) = output {
            let left = scene.coordinator.tracee(*id).map(Tracee::last_replies);
            assert_eq!(left, before.get(id).copied(), "{id}");
        }
    }
}

fn apply(scene: &mut Scene, model: &mut Model) {
    for output in std::mem::take(&mut scene.log) {
        let sessions = match &output {
            Output::Provider(id, TraceeAction::CreateBuffer) => scene.created[id].clone(),
            _ => Vec::new(),
        };
        model.apply(output, sessions);
    }
    model.check(&scene.coordinator);
}

/// Runs the inputs. All sessions end after them.
fn run(inputs: Vec<(Input, u64)>) {
    let (mut scene, mut model) = (Scene::new(0), Model::default());
    let mut connected = BTreeSet::new();
    for (input, millis) in inputs {
        scene.now += Duration::from_millis(millis);
        let before = replies(&scene);
        // A packet may be a reply itself.
        let mut is_packet = matches!(input, Input::Provider(_, TraceeEvent::Packet(_)));
        match input {
            // The loop gives each connection a new number.
            Input::Registered(id, _) if !connected.insert(id) => continue,
            Input::Provider(id, TraceeEvent::Tick) => match model.reply(id) {
                Some(reply) => {
                    is_packet |= matches!(reply, TraceeEvent::Packet(_));
                    scene.event(id, reply);
                }
                None => continue,
            },
            Input::Registered(id, Registration { features, .. }) => {
                model.set_categories.remove(&id);
                if features.contains(Features::SET_CATEGORIES) {
                    model.set_categories.insert(id);
                }
                scene.dispatch(input);
            }
            input => scene.dispatch(input),
        }
        if !is_packet {
            check_replies(&scene, &before);
        }
        apply(&mut scene, &mut model);
        connected.retain(|id| scene.tracee(*id) != TraceeState::Dead);
    }
    for session in 1..=SESSIONS {
        scene.dispatch(Input::Terminate(session));
    }
    for _ in 0..6 {
        scene.pass(Duration::from_secs(5));
    }
    apply(&mut scene, &mut model);
    assert!(model.states.is_empty(), "sessions end after their timeouts: {:?}", model.states);
    assert!(model.buffers.is_empty(), "{:?} were not finished", model.buffers);
}

fn inputs() -> impl Strategy<Value = Vec<(Input, u64)>> {
    prop::collection::vec((input(), 0u64..1000), 0..200)
}

proptest! {
    #[test]
    fn sessions_get_each_buffer_once_and_end(inputs in inputs()) {
        run(inputs);
    }
}

/// More than a million inputs in random order. Run it with `--release -- --ignored`.
#[test]
#[ignore = "takes minutes without optimization"]
fn a_million_inputs_in_random_order() {
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(12_000));
    let result = runner.run(&inputs(), |inputs| {
        run(inputs);
        Ok(())
    });
    result.unwrap();
}
