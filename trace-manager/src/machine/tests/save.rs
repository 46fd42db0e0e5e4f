use super::*;

fn save(wrapped_count: u32, durable_data_end: u64) -> Packet {
    Packet::SaveBuffer { wrapped_count, durable_data_end }
}

#[test]
fn valid_requests_are_saved_in_order() {
    let mut scene = Scene::started(1);
    for (wrapped_count, durable_data_end) in [(0, 0), (1, 8), (2, DURABLE_SIZE)] {
        scene.packet(1, save(wrapped_count, durable_data_end));
        let request = SaveRequest { wrapped_count, durable_data_end };
        assert_eq!(scene.actions(1), [TraceeAction::Save(request)]);
    }
}

#[test]
fn a_request_is_valid_while_stopping() {
    let mut scene = Scene::started(1);
    scene.dispatch(Input::Stop(1));
    scene.log.clear();
    scene.packet(1, save(0, 0));
    assert!(matches!(scene.actions(1)[..], [TraceeAction::Save(_)]));
}

#[test]
fn an_invalid_request_cuts_off_its_provider_only() {
    for bad in [save(1, 8), save(0, 7), save(0, DURABLE_SIZE + 8), save(u32::MAX, 0)] {
        let mut scene = Scene::started(2);
        scene.packet(1, bad);
        let actions = scene.actions(1);
        assert!(
            matches!(actions[..], [TraceeAction::Finish(End::CutOff(_)), TraceeAction::CutOff(_)]),
            "{bad:?}: {actions:?}"
        );
        assert_eq!(scene.tracee(2), TraceeState::Started);
    }
}

#[test]
fn a_request_in_another_mode_is_a_violation() {
    for mode in [BufferingMode::Oneshot, BufferingMode::Circular] {
        let mut scene = Scene::new(1);
        scene.dispatch(Input::Open(1, ProviderConfig { mode, ..config() }));
        scene.dispatch(Input::Start(1, StartOptions::default()));
        scene.packet(1, Packet::Started { version: 1 });
        scene.log.clear();
        scene.packet(1, save(0, 0));
        let violation = Violation::NotStreaming;
        assert_eq!(scene.actions(1).last(), Some(&TraceeAction::CutOff(violation)));
    }
}

#[test]
fn a_packet_of_the_manager_is_a_violation() {
    let mut scene = Scene::started(1);
    scene.packet(1, Packet::BufferSaved { wrapped_count: 0, durable_data_end: 0 });
    let violation = Violation::Unexpected("BUFFER_SAVED");
    assert_eq!(scene.actions(1).last(), Some(&TraceeAction::CutOff(violation)));
}
