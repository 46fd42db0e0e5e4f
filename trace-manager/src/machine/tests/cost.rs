//! What an input costs: the number of providers that are looked at.

use super::*;

/// Starts further sessions of all providers, each of which confirms them.
fn with_sessions(providers: u32, sessions: u64) -> Scene {
    let mut scene = Scene::new(providers);
    let streaming = ProviderConfig { mode: BufferingMode::Streaming, ..config() };
    scene.dispatch(Input::Open(1, streaming.clone()));
    scene.dispatch(Input::Start(1, StartOptions::default()));
    for id in 1..=providers {
        scene.packet(id, Packet::Started { version: 1 });
    }
    for session in 2..=sessions {
        scene.dispatch(Input::Open(session, streaming.clone()));
        scene.dispatch(Input::Start(session, StartOptions::default()));
        for id in 1..=providers {
            scene.packet(id, Packet::CategoriesSet { sequence: session as u32 - 1 });
        }
        assert_eq!(scene.coordinator.session_state(session), Some(SessionState::Started));
    }
    scene.coordinator.visits.set(0);
    scene
}

/// Most packets are requests to save, and alerts.
#[test]
fn a_packet_costs_the_same_with_any_number_of_providers_and_sessions() {
    for (providers, sessions) in [(1, 1), (100, 1), (100, 5)] {
        let mut scene = with_sessions(providers, sessions);
        for wrapped_count in 0..10 {
            scene.packet(1, Packet::SaveBuffer { wrapped_count, durable_data_end: 0 });
        }
        assert_eq!(scene.coordinator.visits.get(), 0, "{providers} providers");
    }
}

/// Sessions learn that a provider has ended.
#[test]
fn the_end_of_a_provider_is_counted_once_for_each_session() {
    let mut scene = with_sessions(100, 3);
    scene.event(7, TraceeEvent::Disconnected);
    let visits = scene.coordinator.visits.get();
    assert!((1..=1 + 3 * 100).contains(&visits), "{visits}");
}
