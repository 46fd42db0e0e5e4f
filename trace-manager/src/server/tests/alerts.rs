use super::*;
use crate::trigger::Cause;

fn alert_cause(name: &str) -> Cause {
    Cause::Alert(name.to_owned())
}

#[test]
fn the_first_alert_stops_the_session() {
    let mut scene = Scene::new(Limits::default());
    let triggers = [("first", TriggerAction::Stop), ("second", TriggerAction::Stop)];
    let (_, ended, notices) = scene.start_with(&triggers, Timeouts::default()).unwrap();
    let peer = scene.register();
    for name in ["other", "first", "second"] {
        scene.event_loop.handle_alert(peer.id, name);
    }
    drop(peer.socket);
    scene.event_loop.read_messages(peer.id);
    scene.run_until(|scene| scene.event_loop.active.is_empty());
    let pid = std::process::id();
    let alert = |name: &str| Notice::Alert { name: name.to_owned(), pid, is_heeded: true };
    let stopping = Notice::Stopping { cause: alert_cause("first") };
    let expected = [Notice::Started, alert("other"), alert("first"), stopping, alert("second")];
    assert_eq!(notices.try_iter().collect::<Vec<_>>(), expected);
    let ended = ended.try_recv().unwrap();
    assert_eq!((ended.stopped_by, ended.alerts.len()), (Some(alert_cause("first")), 3));
}

#[test]
fn an_alert_without_a_snapshot_at_the_end_is_reported() {
    let mut scene = Scene::new(Limits::default());
    let (number, ended, _notices) =
        scene.start_with(&[("slow", TriggerAction::Snapshot)], Timeouts::default()).unwrap();
    let now = scene.event_loop.now();
    let triggers = &mut scene.event_loop.active.get_mut(&number).unwrap().alerts.triggers;
    assert_eq!((triggers.alert("slow", now).len(), triggers.alert("slow", now).len()), (1, 0));
    scene.command(Command::Stop { session: number });
    scene.event_loop.housekeeping(Duration::ZERO);
    let snapshots = ended.try_recv().unwrap().snapshots.join().summaries;
    assert_eq!((snapshots.len(), &*snapshots[0].causes), (1, &[alert_cause("slow")][..]));
    assert!(matches!(snapshots[0].archive, Err(ManagerError::SessionEnded)));
}

#[test]
fn snapshots_of_alerts_follow_each_other() {
    let mut scene = Scene::new(Limits::default());
    let (_, _ended, notices) =
        scene.start_with(&[("slow", TriggerAction::Snapshot)], Timeouts::default()).unwrap();
    let peer = scene.register();
    for _ in 0..3 {
        scene.event_loop.handle_alert(peer.id, "slow");
    }
    let directory = scene.directory.path().to_owned();
    let snapshots = || {
        let names = std::fs::read_dir(&directory).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("out-snapshot-")).count()
    };
    scene.run_until(|_| snapshots() >= 2);
    assert_eq!(snapshots(), 2, "the last two alerts share a snapshot");
    assert_eq!(notices.try_iter().filter(|it| matches!(it, Notice::Alert { .. })).count(), 3);
}

/// Else any program of the machine could end a session of root, or fill the disk with snapshots.
#[test]
fn alerts_of_other_users_are_only_announced() {
    let mut scene = Scene::new(Limits::default());
    let triggers = vec![Trigger { alert: "halt".to_owned(), action: TriggerAction::Stop }];
    let rules = vec!["slow:snapshot".parse().unwrap()];
    let trigger_users = Some(vec![1000]);
    let config = SessionConfig { triggers, rules, trigger_users, ..SessionConfig::default() };
    let (_, ended, notices) = scene.start_config(config).unwrap();
    let [other, own] = [1001, 1000].map(|uid| scene.register_as(uid));
    for name in ["slow", "halt"] {
        scene.event_loop.handle_alert(other.id, name);
    }
    let is_effect = |it: &Notice| !matches!(it, Notice::Started | Notice::Alert { .. });
    assert_eq!(notices.try_iter().find(is_effect), None);
    scene.event_loop.handle_alert(own.id, "halt");
    assert_eq!(scene.session_state(), Some(SessionState::Stopping));
    drop((other.socket, own.socket));
    [other.id, own.id].into_iter().for_each(|id| scene.event_loop.read_messages(id));
    scene.run_until(|scene| scene.event_loop.active.is_empty());
    let ended = ended.try_recv().unwrap();
    assert_eq!(ended.alerts, [("halt".to_owned(), 1)].into());
    assert!(ended.snapshots.join().summaries.is_empty());
}
