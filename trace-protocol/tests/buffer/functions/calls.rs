//! Calls in the epoch in which they began.

use trace_format::layout::EventType::{DurationBegin, DurationComplete};
use trace_protocol::buffer::header::BufferingMode;
use trace_protocol::buffer::producer::OpenScope;

use super::{function, kinds, scopes, MODES};
use crate::harness::{clock, events, Harness};

#[test]
fn scopes_are_what_they_are_without_function_records() {
    for (mode, asymmetric) in MODES.into_iter().flat_map(|mode| [(mode, true), (mode, false)]) {
        let mut harness = Harness::with_functions(mode, 64 << 10, asymmetric);
        let slot = harness.attach(1);
        let outer = harness.enter(slot, function(0), 1000);
        let inner = harness.enter(slot, function(1), 1010);
        harness.end_at(slot, &inner, 1025);
        harness.end_at(slot, &outer, 1030);
        let open = harness.enter(slot, function(1), 1040);
        assert!(open.is_recorded() && open.start() == Some(1040));
        let mut out = Vec::new();
        harness.finish(&mut out);
        let expected = [(DurationComplete, 3), (DurationComplete, 3), (DurationBegin, 2)];
        assert_eq!(kinds(&out), expected, "{mode:?}");
        let expected = (vec![(101, 1000, 1030), (102, 1010, 1025)], vec![(102, 1040)]);
        assert_eq!(scopes(&out), expected, "{mode:?}");
        assert_eq!(harness.collector.stats().rejections(), 0);
    }
}

#[test]
fn a_call_takes_16_bytes() {
    let mut harness = Harness::with_functions(BufferingMode::Oneshot, 1 << 20, true);
    let slot = harness.attach(1);
    let mut calls = 0;
    loop {
        let scope = harness.enter(slot, function(0), clock());
        if !scope.is_recorded() {
            break;
        }
        harness.end_at(slot, &scope, clock());
        calls += 1;
    }
    let bytes = harness.layout.rolling_size() as u64;
    assert!(calls * 16 > bytes / 100 * 98, "{calls} calls in {bytes} bytes");
    let mut out = Vec::new();
    harness.finish(&mut out);
    assert_eq!(scopes(&out).0.len() as u64, calls);
    assert_eq!(harness.collector.dropped(), 1);
}

/// A chunk of 256 bytes holds 14 calls.
#[test]
fn a_call_that_ends_after_a_later_chunk_began_is_complete() {
    for mode in MODES {
        let mut harness = Harness::with_functions(mode, 256 << 10, true);
        let slot = harness.attach(1);
        let outer: Vec<OpenScope> = (0..100)
            .map(|at| harness.enter(slot, function(at % 2), 1000 + u64::from(at)))
            .collect();
        for (at, scope) in (2000..).zip(outer.iter().rev()) {
            harness.end_at(slot, scope, at);
        }
        let mut out = Vec::new();
        harness.finish(&mut out);
        let all: Vec<_> = (0..100).map(|at| (101 + at % 2, 1000 + at, 2099 - at)).collect();
        assert_eq!(scopes(&out), (all, Vec::new()), "{mode:?}");
        assert_eq!(kinds(&out), [(DurationComplete, 3)].repeat(100), "{mode:?}");
    }
}

/// Calls end in a buffer that is full, as many as there are.
#[test]
fn an_end_takes_no_space() {
    let mut harness = Harness::with_functions(BufferingMode::Oneshot, 64 << 10, true);
    let slot = harness.attach(1);
    let outer: Vec<_> = (0..100).map(|_| harness.enter(slot, function(0), clock())).collect();
    while harness.enter(slot, function(1), clock()).is_recorded() {}
    while harness.instant(slot, 1) {}
    while slot.write(harness.recorder, &[0x14]) {}
    for scope in outer.iter().rev() {
        harness.end_at(slot, scope, clock());
    }
    let mut out = Vec::new();
    harness.finish(&mut out);
    assert_eq!(scopes(&out).0.len(), 100);
    assert_eq!(harness.collector.dropped(), 3);
}

/// The ticks of a function record have 29 bits.
#[test]
fn times_far_apart_have_bases_of_their_own() {
    for mode in MODES {
        let mut harness = Harness::with_functions(mode, 64 << 10, true);
        let slot = harness.attach(1);
        let times = [17, 1 << 30, 3 << 30, (3 << 30) + 5, 1 << 62, (1 << 63) - 3, 40, 41];
        let mut expected = Vec::new();
        for pair in times.windows(2) {
            let scope = harness.enter(slot, function(0), pair[0]);
            harness.end_at(slot, &scope, pair[1]);
            expected.push((101, pair[0], pair[1]));
        }
        let mut out = Vec::new();
        harness.finish(&mut out);
        expected.sort_unstable_by_key(|(_, begin, _)| *begin);
        assert_eq!(scopes(&out).0, expected, "{mode:?}");
        assert_eq!(harness.collector.stats().rejections(), 0);
    }
}

#[test]
fn a_base_fits_wherever_a_chunk_ends() {
    for filled in 0..40 {
        let mut harness = Harness::with_functions(BufferingMode::Oneshot, 64 << 10, true);
        let slot = harness.attach(1);
        let mut now = clock();
        let mut expected = Vec::new();
        for step in std::iter::repeat_n(1, filled).chain([1 << 31, 1 << 31, 1]) {
            let scope = harness.enter(slot, function(0), now);
            harness.end_at(slot, &scope, now + step);
            expected.push((101, now, now + step));
            now += step;
        }
        let mut out = Vec::new();
        harness.finish(&mut out);
        assert_eq!(scopes(&out), (expected, Vec::new()), "{filled}");
        assert_eq!(harness.collector.stats().rejections(), 0);
    }
}

/// Threads that follow one another share a slot, and its chunk.
#[test]
fn an_end_belongs_to_its_thread() {
    let mut harness = Harness::with_functions(BufferingMode::Oneshot, 64 << 10, true);
    let slot = harness.attach(1);
    let _open = harness.enter(slot, function(0), 1000);
    harness.recorder.detach(slot);
    let slot = harness.attach(2);
    let scope = harness.enter(slot, function(0), 1010);
    harness.end_at(slot, &scope, 1020);
    let mut out = Vec::new();
    harness.finish(&mut out);
    let found: Vec<_> =
        events(&out).into_iter().map(|(thread, kind, record)| (thread, kind, record[1])).collect();
    assert_eq!(found, [(1, DurationBegin, 1000), (2, DurationComplete, 1010)]);
}

/// While a chunk is written, a copy has each call, ended or not.
#[test]
fn a_copy_has_all_that_is_committed() {
    for mode in MODES {
        let harness = Harness::with_functions(mode, 256 << 10, true);
        let slot = harness.attach(1);
        for round in 0..200 {
            let scope = harness.enter(slot, function(0), clock());
            let copied = |scopes_open| {
                let mut copy = harness.collector.clone();
                let (live, mut out) = (copy.copy_live(), Vec::new());
                copy.finish_copy(live, &mut out);
                let (ended, open) = scopes(&out);
                assert_eq!((ended.len(), open.len()), (round, scopes_open), "{mode:?}");
            };
            copied(1);
            harness.end_at(slot, &scope, clock());
            if round == 199 {
                break;
            }
        }
    }
}
