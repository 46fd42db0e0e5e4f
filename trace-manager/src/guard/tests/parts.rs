//! The manager dies around the cut of an archive into parts.

use trace_protocol::file::{NewFile, Place};

use super::*;
use crate::ledger::numbers::session;

impl Manager {
    /// Sends the next part to the guard. Returns the one before, as it is before it is renamed.
    fn cut(&mut self) -> NewFile {
        let place = Place::find(&self.directory.path().join("out.2.fxt")).unwrap();
        let mut part = NewFile::findable(place).unwrap();
        part.keep();
        self.handle.begin_part(&part, self.length);
        let former = self.directory.path().join(".out.fxt.partial");
        let place = Place::find(&self.directory.path().join("out.fxt")).unwrap();
        let file = self.archive.try_clone().unwrap();
        let former = NewFile::from_parts(file, place, former.file_name().unwrap().to_owned());
        self.archive = part.file().try_clone().unwrap();
        self.part_start = self.length;
        former
    }

    /// Kills the manager. Returns the times of the events of both parts, and the names of the other
    /// events of the second.
    fn die_with_parts(self) -> (Vec<u64>, Vec<u64>, Vec<String>) {
        let (outcome, first, directory) = self.die();
        assert!(matches!(&outcome, GuardOutcome::Completed { missing: 0, .. }), "{outcome:?}");
        let (second, others, rates) = read(&directory.path().join("out.2.fxt"));
        assert!(rates.len() == 1 && rates[0] > 1_000_000, "the rate is measured: {rates:?}");
        let files = std::fs::read_dir(directory.path()).unwrap().count();
        assert_eq!(files, 2, "both parts have their names");
        (read(&first).0, second, others)
    }
}

/// Records two events, of which the first is in the archive, and the second in the buffer.
fn manager() -> Manager {
    let mut manager = Manager::start(BufferingMode::Streaming);
    manager.open();
    manager.record(0, 100);
    let slot = manager.copy(0);
    manager.write_copy(&slot, true);
    manager.record(1, 101);
    manager
}

#[test]
fn the_part_before_gets_its_name() {
    let mut manager = manager();
    let _former = manager.cut();
    let (first, second, others) = manager.die_with_parts();
    assert_eq!((first, second), (vec![100], vec![101]));
    assert_eq!(others, ["clock anchor", "clock anchor"], "an opening and an end");
}

#[test]
fn the_last_part_is_completed_if_the_one_before_cannot_be_renamed() {
    let mut manager = manager();
    let _former = manager.cut();
    std::fs::create_dir(manager.directory.path().join("out.fxt")).unwrap();
    let (outcome, _, directory) = manager.die();
    assert!(matches!(&outcome, GuardOutcome::Failed { .. }), "{outcome:?}");
    assert_eq!(read(&directory.path().join("out.2.fxt")).0, [101]);
}

#[test]
fn an_empty_part_is_completed_after_the_one_before_has_its_name() {
    let mut manager = manager();
    manager.cut().complete().unwrap();
    let (first, second, _) = manager.die_with_parts();
    assert_eq!((first, second), (vec![100], vec![101]));
}

#[test]
fn a_part_with_an_opening_is_completed() {
    let mut manager = manager();
    manager.cut().complete().unwrap();
    manager.open();
    let slot = manager.copy(1);
    manager.record(2, 102);
    manager.write_copy(&slot, false);
    let (first, second, others) = manager.die_with_parts();
    assert_eq!((first, second), (vec![100], vec![101, 102]));
    assert_eq!(others, ["clock anchor", "clock anchor"], "one opening");
}

/// The opening of the part before is no opening of this one.
#[test]
fn an_incomplete_opening_is_replaced() {
    let mut manager = manager();
    manager.cut().complete().unwrap();
    manager.open_part(0, false);
    let (_, second, others) = manager.die_with_parts();
    assert_eq!((second, others), (vec![101], vec!["clock anchor".into(), "clock anchor".into()]));
}

/// The provider has reported its losses in the first part.
#[test]
fn losses_of_the_part_before_are_not_reported_again() {
    for (before, losses) in [(3, 0), (2, 1)] {
        let mut manager = manager();
        manager.lose(3);
        manager.cut().complete().unwrap();
        manager.open_part(before, true);
        let (_, _, others) = manager.die_with_parts();
        let reports = others.iter().filter(|name| *name == "records dropped").count();
        assert_eq!(reports, losses, "{others:?}");
    }
}

/// The next part was queued, and the end of this one was not written.
#[test]
fn losses_of_a_part_without_its_end_are_reported() {
    let manager = manager();
    manager.lose(3);
    let _opening = manager.ledger.opening(8, 3);
    let (outcome, first, _directory) = manager.die();
    assert!(matches!(&outcome, GuardOutcome::Completed { missing: 0, .. }), "{outcome:?}");
    let (_, others, _) = read(&first);
    assert_eq!(others, ["clock anchor", "records dropped", "clock anchor"]);
}

/// It would complete the wrong file.
#[test]
fn a_guard_that_does_not_get_the_next_part_does_nothing() {
    let mut manager = manager();
    let (_, unused) = Guard::pair().unwrap();
    drop(std::mem::replace(&mut manager.guard, unused));
    let _former = manager.cut();
    manager.handle.complete();
    assert_eq!(manager.handle.ledger.get(session::STATE), session::ABANDONED);
}
