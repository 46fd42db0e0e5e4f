//! Circular buffers that stream from some moment on.

use super::*;

/// The rolling buffers before the first one that is saved are overwritten.
#[test]
fn a_circular_buffer_that_streams_is_read_from_its_copies_on() {
    for is_archived in [false, true] {
        let mut manager = Manager::start(BufferingMode::Circular);
        manager.open();
        manager.record(3, 100);
        manager.record(4, 101);
        manager.ledger.stream(3);
        manager.collector.stream_from(3);
        let copy = manager.copy(3);
        if is_archived {
            manager.write_copy(&copy, true);
        }
        manager.record(5, 102);
        let (outcome, path, _directory) = manager.die();
        assert!(matches!(outcome, GuardOutcome::Completed { missing: 0, .. }), "{outcome:?}");
        let (times, others, _) = read(&path);
        assert_eq!(times, [100, 101, 102]);
        assert_eq!(others, ["clock anchor", "older records overwritten", "clock anchor"]);
    }
}

/// The provider has begun to stream, and the manager dies before it saves anything.
#[test]
fn a_circular_buffer_whose_change_the_manager_does_not_know_is_complete() {
    for is_noted in [false, true] {
        let mut manager = Manager::start(BufferingMode::Circular);
        manager.open();
        manager.record(3, 100);
        manager.record(4, 101);
        if is_noted {
            manager.ledger.stream(3);
        }
        let (outcome, path, _directory) = manager.die();
        assert!(matches!(outcome, GuardOutcome::Completed { .. }), "{outcome:?}");
        let (times, others, _) = read(&path);
        assert_eq!(times, [100, 101]);
        assert_eq!(others, ["clock anchor", "older records overwritten", "clock anchor"]);
    }
}
