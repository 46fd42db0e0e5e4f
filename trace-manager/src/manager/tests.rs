use std::time::Duration;

use super::*;
use crate::machine::SessionState;
use crate::machine::{Trigger, TriggerAction};
use crate::notice::Notice;

const LONG: Duration = Duration::from_secs(20);

fn manager(directory: &Path) -> Manager {
    Manager::bind(&directory.join("run/manager.sock")).unwrap()
}

fn config() -> SessionConfig {
    SessionConfig { buffer_size: 64 << 10, ..SessionConfig::default() }
}

fn start(manager: &Manager, path: &Path) -> SessionHandle {
    manager.start(config(), ArchiveTarget::File(path.to_owned())).unwrap()
}

#[test]
fn a_session_without_providers_starts_and_ends() {
    let directory = tempfile::tempdir().unwrap();
    let (manager, path) = (manager(directory.path()), directory.path().join("a.fxt"));
    assert!(manager.path().exists());
    let session = start(&manager, &path);
    assert!(session.wait_state(SessionState::Started, LONG));
    assert!(!session.wait_state(SessionState::Stopping, Duration::ZERO));
    assert!(!session.wait_provider(Duration::ZERO));
    assert_eq!(session.next_notice(LONG), Some(Notice::Started));
    assert_eq!(session.next_notice(Duration::ZERO), None);
    let snapshot = directory.path().join("snapshot.fxt");
    assert_eq!(session.snapshot(&snapshot).unwrap(), snapshot.metadata().unwrap().len());
    session.stop();
    assert!(session.wait_state(SessionState::Terminated, LONG));
    assert_eq!(session.progress().state, SessionState::Terminated);
    let summary = session.join().unwrap();
    assert_eq!(summary.archive.unwrap(), path.metadata().unwrap().len());
    assert!(matches!(session.join(), Err(ManagerError::Ended)), "the second call");
    assert!(matches!(session.snapshot(&snapshot), Err(ManagerError::SessionEnded)));
}

#[test]
fn a_discarded_session_leaves_no_archive() {
    let directory = tempfile::tempdir().unwrap();
    let (manager, path) = (manager(directory.path()), directory.path().join("a.fxt"));
    let session = start(&manager, &path);
    session.discard();
    assert_eq!(session.join().unwrap().archive.unwrap(), 0);
    assert!(!path.exists());
}

#[test]
fn a_dropped_manager_ends_its_session() {
    let directory = tempfile::tempdir().unwrap();
    let (manager, path) = (manager(directory.path()), directory.path().join("a.fxt"));
    let session = start(&manager, &path);
    drop(manager);
    assert!(session.join().unwrap().archive.is_ok());
    assert!(matches!(session.snapshot(&path), Err(ManagerError::Ended)));
}

#[test]
fn a_dropped_session_ends() {
    let directory = tempfile::tempdir().unwrap();
    let (manager, path) = (manager(directory.path()), directory.path().join("a.fxt"));
    let session = start(&manager, &path);
    let shared = Arc::clone(&session.shared);
    drop(session);
    assert!(shared.wait(LONG, |progress| progress.state == SessionState::Terminated));
}

#[test]
fn invalid_configurations_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let manager = manager(directory.path());
    let error = |config, target| manager.start(config, target).unwrap_err();
    let stream = || ArchiveTarget::File("/dev/null".into());
    let empty = SessionConfig { buffer_size: 0, ..config() };
    assert!(matches!(error(empty, stream()), ManagerError::ZeroBufferSize));
    let trigger = Trigger { alert: "a".to_owned(), action: TriggerAction::Snapshot };
    let snapshots = SessionConfig { triggers: vec![trigger], ..config() };
    assert!(matches!(error(snapshots.clone(), stream()), ManagerError::SnapshotOfStream));
    let file = ArchiveTarget::File(directory.path().join("a.fxt"));
    assert!(manager.start(snapshots, file).is_ok());
    let missing = ArchiveTarget::File(directory.path().join("missing/a.fxt"));
    assert!(matches!(error(config(), missing), ManagerError::CreateArchive { .. }));
}

#[test]
fn only_the_last_directory_of_the_socket_is_created() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let _manager = manager(directory.path());
    let mode = directory.path().join("run").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let error = Manager::bind(&directory.path().join("a/b/manager.sock")).unwrap_err();
    assert!(matches!(error, ManagerError::Bind { .. }));
    let error = Manager::bind(&directory.path().join("run/manager.sock")).unwrap_err();
    assert!(error.to_string().contains("another manager listens"), "{error}");
}
