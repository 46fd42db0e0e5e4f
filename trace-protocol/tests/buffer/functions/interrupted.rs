//! Calls in signal handlers, and entries that take the longer path.

use trace_format::layout::EventType;
use trace_protocol::buffer::header::BufferingMode;
use trace_protocol::buffer::producer::{OpenScope, Slot};

use super::{function, kinds, scopes, MODES};
use crate::harness::{clock, Harness, PATIENCE};

/// Whether a call can begin at this time without the longer path.
fn is_direct(harness: &Harness, slot: &Slot, at: u64) -> bool {
    let open = slot.open_direct(harness.recorder, 3);
    open.and_then(|open| OpenScope::enter_direct(open, function(0), || at)).is_some()
}

#[test]
fn the_direct_path_refuses_what_takes_longer_and_changes_nothing() {
    let mut harness = Harness::with_functions(BufferingMode::Streaming, 64 << 10, true);
    let slot = harness.attach(1);
    assert!(!is_direct(&harness, slot, clock()), "no chunk");
    assert!(harness.instant(slot, 1));
    let now = clock();
    assert!(is_direct(&harness, slot, now));
    assert!(!is_direct(&harness, slot, 1 << 40), "needs a base");
    let open = slot.open(harness.recorder, 2).unwrap();
    assert!(!is_direct(&harness, slot, now), "nested");
    open.abandon();
    harness.recorder.flush();
    assert!(!is_direct(&harness, slot, now), "a later epoch");
    assert!(harness.instant(slot, 2));
    let later = clock();
    while is_direct(&harness, slot, later) {}
    harness.recorder.stop(PATIENCE);
    assert!(!is_direct(&harness, slot, later), "stopped");
    let mut out = Vec::new();
    harness.save(0, &mut out);
    harness.finish(&mut out);
    let open = scopes(&out).1;
    assert_eq!(open.first(), Some(&(101, now)));
    assert!(open.len() > 10 && open[1..].iter().all(|scope| *scope == (101, later)), "{open:?}");
    assert_eq!((harness.collector.dropped(), harness.collector.stats().rejections()), (0, 0));
}

/// There the longer path runs the full fence that takes the place of `membarrier`.
#[test]
fn the_direct_path_is_not_taken_without_membarrier() {
    let harness = Harness::with_functions(BufferingMode::Streaming, 64 << 10, false);
    let slot = harness.attach(1);
    assert!(harness.instant(slot, 1));
    assert!(!is_direct(&harness, slot, 1000));
    let scope = harness.enter(slot, function(0), 1000);
    let refused = || panic!("the direct path");
    assert!(scope.is_recorded() && !scope.end_direct(slot, harness.recorder, || None, refused));
}

/// Its thread was in the trace point for longer than the stop waited for it. The buffer of the next
/// recording permits no function records.
#[test]
fn a_late_entry_is_not_in_the_next_recording() {
    for (mode, at) in MODES.into_iter().flat_map(|mode| [(mode, 1000), (mode, 1 << 40)]) {
        let mut harness = Harness::with_functions(mode, 64 << 10, true);
        let slot = harness.attach(1);
        let open = slot.open(harness.recorder, 3).unwrap();
        harness.abandon(harness.layout.with_function_records(false));
        let scope = OpenScope::enter(open, function(0), || at);
        harness.end_at(slot, &scope, at + 10);
        assert!(harness.instant(slot, 1));
        let mut out = Vec::new();
        harness.finish(&mut out);
        assert_eq!(kinds(&out), [(EventType::Instant, 2)], "{mode:?}");
        assert_eq!(harness.collector.stats().rejections(), 0, "{mode:?}");
    }
}

/// A signal handler that interrupts a record.
#[test]
fn a_nested_call_is_counted_and_a_nested_end_is_stored() {
    let mut harness = Harness::with_functions(BufferingMode::Streaming, 64 << 10, true);
    let slot = harness.attach(1);
    let scope = harness.enter(slot, function(0), 1000);
    let open = slot.open(harness.recorder, 2).unwrap();
    assert!(!harness.enter(slot, function(1), 1010).is_recorded());
    harness.end_at(slot, &scope, 1020);
    open.abandon();
    let mut out = Vec::new();
    harness.finish(&mut out);
    assert_eq!(scopes(&out), (vec![(101, 1000, 1020)], Vec::new()));
    assert_eq!(harness.accounted(), 1);
}

/// A signal handler ends a scope of the recording before.
#[test]
fn a_nested_end_of_an_earlier_recording_is_not_counted() {
    let mut harness = Harness::with_functions(BufferingMode::Streaming, 64 << 10, true);
    let slot = harness.attach(1);
    let scope = harness.enter(slot, function(0), 1000);
    harness.finish(&mut Vec::new());
    harness.renew();
    let open = slot.open(harness.recorder, 2).unwrap();
    harness.end_at(slot, &scope, 1020);
    open.abandon();
    harness.finish(&mut Vec::new());
    assert_eq!((harness.accounted(), harness.collector.dropped()), (0, 0));
}
