//! Calls that end in another epoch than they began in.

use trace_format::layout::EventType::{DurationBegin, DurationComplete, DurationEnd};
use trace_protocol::buffer::header::BufferingMode;
use trace_protocol::buffer::producer::LossReason;

use super::{function, kinds, scopes, MODES};
use crate::harness::{clock, Harness, PATIENCE};

#[test]
fn a_scope_over_a_save_is_a_begin_and_an_end() {
    for asymmetric in [true, false] {
        let mut harness = Harness::with_functions(BufferingMode::Streaming, 64 << 10, asymmetric);
        let slot = harness.attach(1);
        let scope = harness.enter(slot, function(0), 1000);
        let mut out = Vec::new();
        harness.recorder.flush();
        harness.save(0, &mut out);
        assert_eq!(kinds(&out), [(DurationBegin, 2)]);
        harness.end_at(slot, &scope, 1010);
        harness.finish(&mut out);
        assert_eq!(kinds(&out), [(DurationBegin, 2), (DurationEnd, 2)]);
        assert_eq!(scopes(&out).0, [(101, 1000, 1010)]);
    }
}

#[test]
fn a_scope_over_circular_switches_is_shown_once() {
    for switches in 1..=8 {
        let mut harness = Harness::with_functions(BufferingMode::Circular, 1 << 20, true);
        let slot = harness.attach(1);
        let scope = harness.enter(slot, function(0), 1000);
        for wrap in 0..switches {
            harness.recorder.flush();
            harness.recorder.quiesce(PATIENCE);
            harness.recorder.mark_saved(wrap);
            assert!(harness.instant(slot, 1));
        }
        harness.end_at(slot, &scope, 1010);
        let mut out = Vec::new();
        harness.finish(&mut out);
        assert_eq!(scopes(&out), (vec![(101, 1000, 1010)], Vec::new()), "{switches}");
        let is_complete = kinds(&out).contains(&(DurationComplete, 3));
        assert_eq!(is_complete, switches == 8, "the entry is overwritten");
    }
}

/// The late ends of eight calls are kept until there is space, with their times. Those of others
/// are lost.
#[test]
fn late_ends_that_find_no_space_are_kept_or_counted() {
    let mut harness = Harness::with_functions(BufferingMode::Streaming, 64 << 10, true);
    let slot = harness.attach(1);
    let outer: Vec<_> = (0..10).map(|_| harness.enter(slot, function(0), clock())).collect();
    while harness.enter(slot, function(1), clock()).is_recorded() {}
    while harness.instant(slot, 1) {}
    while slot.write(harness.recorder, &[0x14]) {}
    for scope in outer.iter().rev() {
        harness.end_at(slot, scope, clock());
    }
    let mut out = Vec::new();
    harness.finish(&mut out);
    let ends = kinds(&out).iter().filter(|(kind, _)| *kind == DurationEnd).count();
    assert_eq!(ends, 8);
    let lost = harness.collector.unreported();
    assert!(lost.iter().all(|lost| lost.reason == LossReason::NotSaved), "{lost:?}");
    assert_eq!(harness.collector.dropped(), 3 + 2);
}

#[test]
fn a_scope_of_an_earlier_recording_or_another_process_leaves_nothing() {
    for mode in MODES {
        let mut harness = Harness::with_functions(mode, 64 << 10, true);
        let slot = harness.attach(1);
        let scope = harness.enter(slot, function(0), 1000);
        harness.finish(&mut Vec::new());
        harness.end_at(slot, &scope, 1010);
        harness.collector.restart();
        harness.recorder.start();
        harness.end_at(slot, &scope, 1010);
        let child = Harness::of_layout(9, harness.layout, true);
        child.end_at(child.attach(1), &scope, 1010);
        for mut harness in [harness, child] {
            let mut out = Vec::new();
            harness.finish(&mut out);
            let ends = kinds(&out).iter().filter(|(kind, _)| *kind != DurationBegin).count();
            assert_eq!(ends, 0, "{mode:?}");
        }
    }
}
