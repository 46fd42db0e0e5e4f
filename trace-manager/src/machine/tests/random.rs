//! Random events in random order: buffers are finished exactly once, and sessions end.

use std::collections::BTreeSet;

use super::*;
use proptest::prelude::*;

fn packet() -> impl Strategy<Value = Packet> {
    prop_oneof![
        4 => Just(Packet::Started { version: 1 }),
        4 => Just(Packet::Stopped),
        1 => Just(Packet::Started { version: 9 }),
        4 => (0u32..3, 0u64..3).prop_map(|(wrapped_count, words)| Packet::SaveBuffer {
            wrapped_count,
            durable_data_end: words * 8
        }),
    ]
}

fn event() -> impl Strategy<Value = TraceeEvent> {
    prop_oneof![
        8 => packet().prop_map(TraceeEvent::Packet),
        1 => Just(TraceeEvent::PacketsClosed),
        1 => Just(TraceeEvent::Disconnected),
        1 => Just(TraceeEvent::Violation(Violation::Flood)),
    ]
}

fn input() -> impl Strategy<Value = Input> {
    prop_oneof![
        2 => (1u32..5).prop_map(Input::Registered),
        10 => (1u32..5, event()).prop_map(|(id, event)| Input::Provider(id, event)),
        2 => Just(Input::Open(1, config())),
        2 => Just(Input::Start(1, StartOptions::default())),
        1 => Just(Input::Stop(1)),
        1 => Just(Input::Terminate(1)),
        1 => Just(Input::Flush),
        1 => Just(Input::Tick),
    ]
}

/// Checks that only providers with a buffer are finished, and only those without get one.
fn check_buffers(scene: &mut Scene, owners: &mut BTreeSet<ProviderId>) {
    for output in scene.log.drain(..) {
        match output {
            Output::Provider(id, TraceeAction::CreateBuffer) => assert!(owners.insert(id)),
            Output::Provider(id, TraceeAction::Finish(_)) => assert!(owners.remove(&id)),
            _ => {}
        }
    }
}

proptest! {
    #[test]
    fn buffers_are_finished_once_and_sessions_end(
        inputs in prop::collection::vec((input(), 0u64..2000), 0..200),
    ) {
        let mut scene = Scene::new(0);
        let mut owners = BTreeSet::new();
        let mut connected = BTreeSet::new();
        for (input, millis) in inputs {
            scene.now += Duration::from_millis(millis);
            match input {
                // The loop gives each connection a new number.
                Input::Registered(id) if !connected.insert(id) => continue,
                input => scene.dispatch(input),
            }
            check_buffers(&mut scene, &mut owners);
            connected.retain(|id| scene.tracee(*id) != TraceeState::Dead);
        }
        scene.dispatch(Input::Terminate(1));
        for _ in 0..3 {
            scene.pass(Duration::from_secs(5));
        }
        check_buffers(&mut scene, &mut owners);
        prop_assert_eq!(scene.state(), None, "a session ends in three timeouts at most");
        prop_assert!(owners.is_empty(), "{:?} were not finished", owners);
    }
}
