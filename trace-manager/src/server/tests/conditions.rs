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

/// The last losses are known when the session has no providers any more.
#[test]
fn conditions_are_evaluated_once_more_at_the_end() {
    let mut scene = Scene::new(Limits::default());
    let (number, ended) = start(&mut scene, "drop:snapshot");
    let peer = scene.register();
    let provider = scene.event_loop.collection.as_ref().unwrap().provider(peer.id).unwrap();
    let layout = provider.layout();
    let buffer = scene.event_loop.connections[&peer.id].buffer.clone().unwrap();
    scene.event_loop.housekeeping(Duration::ZERO);
    write_losses(&buffer, &layout, 3);
    drop((buffer, peer.socket));
    scene.event_loop.read_messages(peer.id);
    scene.command(Command::Stop { session: number });
    scene.run_until(|scene| scene.event_loop.active.is_empty());
    let ended = ended.try_recv().unwrap();
    assert_eq!(ended.conditions.get("drop"), Some(&1));
    let snapshots = ended.snapshots.join().summaries;
    let causes = [Cause::Condition("drop".to_owned())];
    assert_eq!((snapshots.len(), &*snapshots[0].causes), (1, &causes[..]));
    assert!(snapshots[0].archive.is_ok());
}
