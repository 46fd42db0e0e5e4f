//! The names and places of archives that the guard completes, and those that it leaves.

use super::*;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

#[test]
fn the_archive_of_a_later_manager_stays() {
    let manager = Manager::start(BufferingMode::Oneshot);
    let path = manager.directory.path().join("out.fxt");
    let later = ArchiveOutput::open(ArchiveTarget::File(path)).unwrap();
    let naming = later.naming().unwrap();
    assert_ne!(naming.partial().unwrap(), ".out.fxt.partial");
    let (outcome, _, _directory) = manager.die();
    assert!(matches!(outcome, GuardOutcome::Completed { .. }), "{outcome:?}");
    assert!(naming.is_there());
}

#[test]
fn a_foreign_file_with_the_partial_name_stays() {
    let manager = Manager::start(BufferingMode::Oneshot);
    let partial = manager.directory.path().join(".out.fxt.partial");
    std::fs::remove_file(&partial).unwrap();
    std::fs::write(&partial, "foreign").unwrap();
    let (outcome, path, _directory) = manager.die();
    assert!(matches!(outcome, GuardOutcome::Failed { .. }), "{outcome:?}");
    assert_eq!(std::fs::read_to_string(&partial).unwrap(), "foreign");
    assert!(!path.exists());
}

#[test]
fn an_ended_session_and_no_session_need_no_guard() {
    let manager = Manager::start(BufferingMode::Oneshot);
    manager.handle.complete();
    let path = manager.directory.path().to_owned();
    std::fs::rename(path.join(".out.fxt.partial"), path.join("out.fxt")).unwrap();
    assert!(matches!(manager.die().0, GuardOutcome::Nothing));
    let (guard, theirs) = Guard::pair().unwrap();
    drop(guard);
    assert!(matches!(run_guard(theirs), GuardOutcome::Nothing));
}

#[test]
fn the_guard_leaves_an_abandoned_archive() {
    let manager = Manager::start(BufferingMode::Oneshot);
    manager.handle.fail();
    manager.handle.abandoned();
    assert!(matches!(manager.die().0, GuardOutcome::Nothing), "the manager was not killed");
}

#[test]
fn a_completed_archive_keeps_its_directory_and_permissions() {
    let directory = tempfile::tempdir().unwrap();
    let older = directory.path().join("out.fxt");
    std::fs::write(&older, "older").unwrap();
    std::fs::set_permissions(&older, Permissions::from_mode(0o600)).unwrap();
    let mut manager = Manager::start_in(directory, BufferingMode::Streaming);
    manager.open();
    manager.record(0, 100);
    let (here, there) = (manager.directory.path().to_owned(), tempfile::tempdir().unwrap());
    let there = there.path().join("there");
    std::fs::rename(&here, &there).unwrap();
    std::fs::create_dir(&here).unwrap();
    let (outcome, path, _directory) = manager.die();
    assert!(matches!(outcome, GuardOutcome::Completed { .. }), "{outcome:?}");
    assert!(!path.exists(), "the new directory of the same name stays empty");
    assert_eq!(read(&there.join("out.fxt")).0, [100]);
    assert_eq!(std::fs::metadata(there.join("out.fxt")).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn an_archive_without_records_does_not_replace_another() {
    for has_event in [false, true] {
        let mut manager = Manager::start(BufferingMode::Streaming);
        manager.open();
        manager.lose(3);
        let path = manager.directory.path().join("out.fxt");
        std::fs::write(&path, "older").unwrap();
        if has_event {
            manager.record(0, 100);
        }
        let (outcome, _, directory) = manager.die();
        assert_eq!(matches!(outcome, GuardOutcome::Nothing), !has_event, "{outcome:?}");
        let old = if has_event { directory.path().join("out.fxt.old") } else { path };
        assert_eq!(std::fs::read_to_string(old).unwrap(), "older");
        let files = std::fs::read_dir(directory.path()).unwrap().count();
        assert_eq!(files, 1 + usize::from(has_event), "no partial file remains");
    }
}

#[test]
fn a_written_archive_is_renamed() {
    let manager = Manager::start(BufferingMode::Oneshot);
    manager.handle.complete();
    let (outcome, path, _directory) = manager.die();
    assert!(matches!(outcome, GuardOutcome::Completed { .. }), "{outcome:?}");
    assert!(path.exists());
}
