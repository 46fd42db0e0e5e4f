//! Snapshots of running sessions.

use std::path::Path;
use std::time::Duration;

use trace_format::audit::Audit;
use trace_format::notes::{self, Omission};
use trace_format::{Item, Reader, Record};
use trace_manager::{
    ArchiveTarget, Cause, ManagerError, Notice, Rotation, SessionConfig, Trigger, TriggerAction,
};
use trace_protocol::buffer::header::BufferingMode;
use trace_protocol::packet::{AlertName, Packet};
use trace_protocol::socket::Socket;

use crate::archive::Archive;
use crate::provider::Provider;
use crate::{config, end, impatient, wait_until, Stage, LONG};

/// Returns the times of all events that are not the manager's, in order. Fails if the archive is
/// malformed.
fn times(path: &Path) -> Vec<u64> {
    let bytes = std::fs::read(path).unwrap();
    let mut reader = Reader::new(bytes.as_slice());
    let (mut times, mut audit) = (Vec::new(), Audit::default());
    while let Some(item) = reader.next().unwrap() {
        audit.item(&item);
        times.extend(time(&item));
    }
    assert_eq!((reader.stats().bad_records, audit.unknown_strings), (0, 0));
    times
}

fn time(item: &Item<'_>) -> Option<u64> {
    match &item.record {
        Record::Event(event) if item.text(event.category) == crate::provider::CATEGORY => {
            Some(event.ticks)
        }
        _ => None,
    }
}

fn with_triggers(mode: BufferingMode, triggers: &[(&str, TriggerAction)]) -> SessionConfig {
    let trigger = |(alert, action): &(&str, TriggerAction)| Trigger {
        alert: (*alert).to_owned(),
        action: *action,
    };
    SessionConfig { triggers: triggers.iter().map(trigger).collect(), ..impatient(mode) }
}

fn alert(name: &str) -> Packet {
    Packet::Alert(AlertName::new(name).unwrap())
}

/// Returns the next notice other than an alert, and than that of the session's start.
fn next(session: &trace_manager::SessionHandle) -> Notice {
    loop {
        match session.next_notice(LONG).expect("the session tells something") {
            Notice::Alert { .. } | Notice::Started => {}
            notice => return notice,
        }
    }
}

/// A snapshot includes a provider that does not reply. The archive has each record once.
#[test]
fn a_snapshot_has_saved_and_unsaved_records() {
    let stage = Stage::new();
    let session = stage.start(config(BufferingMode::Streaming));
    let (mut provider, _) = Provider::register(stage.manager.path(), "one");
    let buffers = provider.enter();
    let saved = buffers.fill(0, 0);
    buffers.save(0);
    let all = saved + buffers.chunk(1, 0, saved);
    let path = stage.directory.path().join("now.fxt");
    let bytes = session.snapshot(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().len(), bytes);
    assert_eq!(times(&path), Vec::from_iter(0..all));
    let more = all + buffers.chunk(1, 1, all);
    session.snapshot(&path).unwrap();
    assert_eq!(times(&path), Vec::from_iter(0..more), "it replaces the older one");
    drop((provider, buffers));
    wait_until(|| session.progress().providers == 0);
    session.snapshot(&path).unwrap();
    assert_eq!(times(&path), Vec::from_iter(0..more), "the provider has disconnected");
    assert!(end(&session).archive.is_ok());
    assert_eq!(times(&stage.archive()), Vec::from_iter(0..more));
    assert!(matches!(session.snapshot(&path), Err(ManagerError::SessionEnded)));
}

#[test]
fn a_failed_snapshot_is_reported_and_harms_nothing() {
    let stage = Stage::new();
    let session = stage.start(impatient(BufferingMode::Circular));
    let (mut provider, _) = Provider::register(stage.manager.path(), "one");
    let buffers = provider.enter();
    let all = buffers.chunk(0, 0, 0);
    let missing = stage.directory.path().join("missing").join("now.fxt");
    for path in [missing.as_path(), stage.directory.path(), "/dev/null".as_ref()] {
        let error = session.snapshot(path).unwrap_err();
        assert!(matches!(error, ManagerError::Snapshot { .. }), "{error}");
    }
    drop((provider, buffers));
    assert!(end(&session).archive.is_ok());
    assert_eq!(times(&stage.archive()), Vec::from_iter(0..all));
    assert_eq!(stage.files(), ["out.fxt"]);
}

/// The records of connected programs are not in it.
#[test]
fn a_circular_session_whose_archive_has_failed_has_snapshots() {
    let stage = Stage::new();
    let full = ArchiveTarget::File("/dev/full".into());
    let session = stage.manager.start(impatient(BufferingMode::Circular), full).unwrap();
    wait_until(|| session.progress().archive_failure.is_some());
    let (mut provider, _) = Provider::register(stage.manager.path(), "one");
    let buffers = provider.enter();
    let all = buffers.chunk(0, 0, 0);
    let path = stage.directory.path().join("now.fxt");
    session.snapshot(&path).unwrap();
    assert_eq!(times(&path), Vec::from_iter(0..all));
    session.stop();
    provider.leave(buffers);
    let summary = session.join().unwrap();
    assert!(summary.archive.is_err() && summary.not_archived() >= all, "{summary:?}");
}

#[test]
fn an_archive_that_is_a_pipe_has_no_snapshots() {
    let stage = Stage::new();
    let (_reader, writer) = Socket::packet_pair().unwrap();
    let writer = std::os::fd::OwnedFd::from(writer);
    let triggers = with_triggers(BufferingMode::Oneshot, &[("a", TriggerAction::Snapshot)]);
    let pipe = || ArchiveTarget::Stream(writer.try_clone().unwrap());
    let refused = stage.manager.start(triggers, pipe()).unwrap_err();
    assert!(matches!(refused, ManagerError::SnapshotOfStream), "{refused}");
    let session = stage.manager.start(impatient(BufferingMode::Oneshot), pipe()).unwrap();
    let error = session.snapshot(&stage.directory.path().join("now.fxt")).unwrap_err();
    assert!(matches!(error, ManagerError::SnapshotOfStream), "{error}");
    end(&session);
}

/// The alert is the last packet of its provider, and the next alert stops the session.
#[test]
fn the_last_alert_of_a_dead_provider_counts() {
    let stage = Stage::new();
    let actions = [("last", TriggerAction::Snapshot), ("stop", TriggerAction::Stop)];
    let session = stage.start(with_triggers(BufferingMode::Circular, &actions));
    let (mut provider, _) = Provider::register(stage.manager.path(), "one");
    let buffers = provider.enter();
    let all = buffers.chunk(0, 0, 0);
    (0..100).for_each(|_| buffers.send(alert("other")));
    buffers.send(alert("last"));
    drop(provider);
    drop(buffers);
    let path = match next(&session) {
        Notice::Snapshot { path, causes, result } => {
            assert_eq!(causes, [Cause::Alert("last".to_owned())]);
            assert!(result.is_ok(), "{result:?}");
            path
        }
        notice => panic!("{notice:?}"),
    };
    assert_eq!(times(&path), Vec::from_iter(0..all));
    let (mut provider, _) = Provider::register(stage.manager.path(), "two");
    let buffers = provider.enter();
    buffers.send(alert("stop"));
    let stop = Cause::Alert("stop".to_owned());
    assert_eq!(next(&session), Notice::Stopping { cause: stop.clone() });
    provider.stop(&buffers);
    drop((provider, buffers));
    let summary = session.join().unwrap();
    assert_eq!(summary.stopped_by, Some(stop));
    assert_eq!(summary.alerts.values().sum::<u64>(), 102);
    assert_eq!(summary.snapshots.len(), 1);
    assert!(session.next_notice(Duration::ZERO).is_none());
}

/// The first part has the number of losses that a later one reports. A snapshot with both has the
/// report only.
#[test]
fn a_snapshot_of_several_parts_reports_each_loss_once() {
    let stage = Stage::new();
    let rotation = Some(Rotation { size: Some(64 << 10), ..Rotation::default() });
    let session = stage.start(SessionConfig { rotation, ..config(BufferingMode::Streaming) });
    let (mut provider, _) = Provider::register(stage.manager.path(), "one");
    let buffers = provider.enter();
    buffers.lose(0, 1 << 32 | 77, 3, 1, 2);
    let (first, mut events) = (stage.directory.path().join("out.1.fxt"), 0);
    for wrapped_count in 0.. {
        if first.exists() {
            break;
        }
        events += buffers.fill(wrapped_count, events);
        buffers.save(wrapped_count);
    }
    let path = stage.directory.path().join("snapshot.fxt");
    session.snapshot(&path).unwrap();
    drop((provider, buffers));
    end(&session);
    let reports = |path: &Path| -> [Vec<String>; 2] {
        let archive = Archive::open(path);
        let named = [notes::RECORDS_DROPPED, Omission::ReportedLater.event()];
        let numbers = |name| archive.named(name).iter().map(|it| it["number"].clone()).collect();
        named.map(numbers)
    };
    let three = || vec!["3".to_owned()];
    assert_eq!(reports(&first), [vec![], three()]);
    assert_eq!(reports(&path), [three(), vec![]]);
    assert_eq!(times(&path), Vec::from_iter(0..events));
}
