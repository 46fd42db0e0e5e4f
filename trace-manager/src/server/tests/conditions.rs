use super::*;
use crate::fixture::write_losses;
use crate::Cause;

/// Starts a session with a trigger. Returns its number, and the receiver of its end.
fn start(scene: &mut Scene, trigger: &str) -> (u64, Receiver<EndedRecording>) {
    let rules = vec![trigger.parse().unwrap()];
    let (number, ended, _notices) =
        scene.start_config(SessionConfig { rules, ..SessionConfig::default() }).unwrap();
    (number, ended)
}

/// Ends a provider that has lost records.
fn lose(scene: &mut Scene, peer: Peer) {
    let provider = scene.event_loop.collection.as_ref().unwrap().provider(peer.id).unwrap();
    let buffer = scene.event_loop.connections[&peer.id].buffer.clone().unwrap();
    write_losses(&buffer, &provider.layout(), 3);
    drop((buffer, peer.socket));
    scene.event_loop.read_messages(peer.id);
}

/// The last losses are known when the session has no providers any more.
#[test]
fn conditions_are_evaluated_once_more_at_the_end() {
    let mut scene = Scene::new(Limits::default());
    let (number, ended) = start(&mut scene, "drop:snapshot");
    let peer = scene.register();
    scene.event_loop.housekeeping(Duration::ZERO);
    lose(&mut scene, peer);
    scene.command(Command::Stop { session: number });
    scene.run_until(|scene| scene.event_loop.active.is_empty());
    let ended = ended.try_recv().unwrap();
    assert_eq!(ended.conditions.get("drop"), Some(&1));
    let snapshots = ended.snapshots.join().summaries;
    let causes = [Cause::Condition("drop".to_owned())];
    assert_eq!((snapshots.len(), &*snapshots[0].causes), (1, &causes[..]));
    assert!(snapshots[0].archive.is_ok());
}

/// A program chooses what it records, and when.
#[test]
fn programs_of_other_users_meet_no_conditions() {
    for (uid, expected) in [(1001, None), (1000, Some(&1)), (0, Some(&1))] {
        let mut scene = Scene::new(Limits::default());
        let rules = ["drop:status=3", "duration:web/request>1s:status=3"];
        let rules = rules.map(|rule| rule.parse().unwrap()).to_vec();
        let trigger_users = Some(vec![1000]);
        let config = SessionConfig { rules, trigger_users, ..SessionConfig::default() };
        let (number, ended, _notices) = scene.start_config(config).unwrap();
        let peer = scene.register_as(uid);
        scene.event_loop.watch(peer.id, 2);
        scene.event_loop.hold_watched(peer.id, 2, 1);
        lose(&mut scene, peer);
        scene.command(Command::Stop { session: number });
        scene.run_until(|scene| scene.event_loop.active.is_empty());
        let held = ended.try_recv().unwrap().conditions;
        let held = ["drop", "duration:web/request>1s"].map(|condition| held.get(condition));
        assert_eq!(held, [expected; 2], "{uid}");
    }
}
