use trace_protocol::message::{ClockSource, DurationLimit};

use super::*;

fn watch(number: u32) -> DurationWatch {
    let (category, name) = ("web".to_owned(), "request".to_owned());
    DurationWatch { number, category, name, nanos: 1000, counter_ticks: 3000 }
}

fn limit(number: u32, ticks: u64) -> DurationLimit {
    DurationLimit { number, category: "web".to_owned(), name: "request".to_owned(), ticks }
}

fn watching(numbers: &[u32]) -> ProviderConfig {
    ProviderConfig { watches: numbers.iter().copied().map(watch).collect(), ..config() }
}

/// Returns a scene whose provider records, and has the conditions 1 and 2.
fn started() -> Scene {
    let mut scene = Scene::new(1);
    scene.dispatch(Input::Open(1, watching(&[1, 2])));
    scene.dispatch(Input::Start(1, StartOptions::default()));
    scene.packet(1, Packet::Started { version: 1 });
    scene.log.clear();
    scene
}

#[track_caller]
fn assert_cut_off(scene: &mut Scene, packet: Packet, sent: &'static str) {
    scene.packet(1, packet);
    let cut_off = TraceeAction::CutOff(Violation::Unexpected(sent));
    assert_eq!(scene.actions(1).last(), Some(&cut_off), "{packet:?}");
}

#[test]
fn a_provider_gets_conditions_in_ticks_of_its_clock_before_it_starts() {
    for (clock, ticks) in [(ClockSource::CpuCounter, 3000), (ClockSource::Boottime, 1000)] {
        let mut scene = Scene::new(0);
        let features = Features::SET_CONDITIONS;
        let registration = Registration { features, clock, ..Registration::default() };
        scene.dispatch(Input::Registered(1, registration));
        scene.dispatch(Input::Open(1, watching(&[7])));
        scene.actions(1);
        scene.dispatch(Input::Start(1, StartOptions::default()));
        let conditions = send(ToProvider::SetConditions(vec![limit(7, ticks)]));
        assert_eq!(scene.actions(1), [conditions, start()], "{clock:?}");
    }
}

#[test]
fn providers_without_the_feature_and_sessions_without_conditions_get_no_message() {
    // Programs that compare scopes, but no operations.
    let of_scopes = Features::from_bits(2);
    for (features, config) in [
        (Features::SET_CATEGORIES, watching(&[7])),
        (of_scopes, watching(&[7])),
        (Features::SET_CONDITIONS, config()),
    ] {
        let mut scene = Scene::new(0);
        let registration = Registration { features, ..Registration::default() };
        scene.dispatch(Input::Registered(1, registration));
        scene.dispatch(Input::Open(1, config));
        scene.actions(1);
        scene.dispatch(Input::Start(1, StartOptions::default()));
        assert_eq!(scene.actions(1), [start()]);
    }
}

#[test]
fn a_second_session_adds_its_conditions() {
    let mut scene = started();
    scene.dispatch(Input::Open(2, watching(&[5])));
    scene.dispatch(Input::Start(2, StartOptions::default()));
    let limits = [1, 2, 5].map(|number| limit(number, 3000)).to_vec();
    let conditions = send(ToProvider::SetConditions(limits));
    let actions = scene.actions(1);
    assert_eq!(actions.first(), Some(&conditions));
    let categories =
        matches!(actions.get(1), Some(TraceeAction::Send(ToProvider::SetCategories { .. })));
    assert!(categories, "{actions:?}");
}

#[test]
fn watched_conditions_that_held_are_reported() {
    let mut scene = started();
    scene.packet(1, Packet::ConditionWatched { number: 2 });
    scene.packet(1, Packet::ConditionHeld { number: 2, times: 3 });
    let held = TraceeAction::Held { number: 2, times: 3 };
    assert_eq!(scene.actions(1), [TraceeAction::Watched(2), held]);
}

#[test]
fn a_provider_that_reports_other_conditions_is_cut_off() {
    let watched = |number| Packet::ConditionWatched { number };
    let held = |number, times| Packet::ConditionHeld { number, times };
    assert_cut_off(&mut started(), watched(3), "CONDITION_WATCHED");
    assert_cut_off(&mut started(), held(1, 1), "CONDITION_HELD");
    let mut scene = started();
    scene.packet(1, watched(1));
    assert_cut_off(&mut scene, watched(1), "CONDITION_WATCHED");
    let mut scene = started();
    scene.packet(1, watched(1));
    assert_cut_off(&mut scene, held(1, 0), "CONDITION_HELD");
    let mut scene = Scene::new(1);
    scene.dispatch(Input::Open(1, watching(&[1])));
    scene.dispatch(Input::Start(1, StartOptions::default()));
    assert_cut_off(&mut scene, watched(1), "CONDITION_WATCHED");
}
