//! A scope is shown once, whole or open.

use trace_format::layout::EventType::{DurationBegin, DurationComplete, DurationEnd, Instant};
use trace_protocol::buffer::header::BufferingMode;

use crate::harness::{events, Harness, BEGUN, ENDED, PATIENCE};

fn kinds(words: &[u64]) -> Vec<(trace_format::layout::EventType, usize)> {
    events(words).into_iter().map(|(_, kind, record)| (kind, record.len())).collect()
}

#[test]
fn a_scope_becomes_one_complete_of_three_words() {
    for asymmetric in [true, false] {
        let mut harness = Harness::with_barrier(BufferingMode::Oneshot, 64 << 10, asymmetric);
        let slot = harness.attach(1);
        let outer = harness.begin(slot);
        let inner = harness.begin(slot);
        harness.end(slot, inner);
        harness.end(slot, outer);
        let mut out = Vec::new();
        harness.finish(&mut out);
        assert_eq!(kinds(&out), [(DurationComplete, 3), (DurationComplete, 3)]);
        let times: Vec<_> =
            events(&out).into_iter().map(|(_, _, record)| (record[1], record[2])).collect();
        assert!(
            times[0].0 < times[1].0 && times[1].1 < times[0].1,
            "the inner one lies in the outer one: {times:?}"
        );
    }
}

#[test]
fn an_open_scope_is_a_begin_without_its_spare_word() {
    let mut harness = Harness::new(BufferingMode::Oneshot, 64 << 10);
    let slot = harness.attach(1);
    let scope = harness.begin(slot);
    let mut out = Vec::new();
    harness.finish(&mut out);
    assert_eq!(kinds(&out), [(DurationBegin, 2)]);
    assert_eq!(harness.collector.stats().open_scopes(), 1);
    harness.end(slot, scope);
    assert_eq!(kinds(&out), [(DurationBegin, 2)]);
}

/// A forked child has its parent's open scopes on its stack, and may have a smaller number than its
/// parent.
#[test]
fn a_scope_of_another_process_leaves_nothing() {
    for (parent, child) in [(3, 9), (9, 3)] {
        for mode in [BufferingMode::Streaming, BufferingMode::Circular] {
            let parent = Harness::of_process(parent, mode, 64 << 10, true);
            let scope = parent.begin(parent.attach(1));
            let mut child = Harness::of_process(child, mode, 64 << 10, true);
            child.end(child.attach(1), scope);
            let mut out = Vec::new();
            child.finish(&mut out);
            assert_eq!(kinds(&out), []);
        }
    }
}

#[test]
fn a_scope_over_a_save_is_a_begin_and_an_end() {
    for asymmetric in [true, false] {
        let mut harness = Harness::with_barrier(BufferingMode::Streaming, 64 << 10, asymmetric);
        let slot = harness.attach(1);
        let scope = harness.begin(slot);
        let mut out = Vec::new();
        harness.recorder.flush();
        harness.save(0, &mut out);
        assert_eq!(kinds(&out), [(DurationBegin, 2)]);
        harness.end(slot, scope);
        harness.finish(&mut out);
        assert_eq!(kinds(&out), [(DurationBegin, 2), (DurationEnd, 2)]);
    }
}

#[test]
fn a_scope_over_a_circular_switch_is_shown_once() {
    let mut harness = Harness::new(BufferingMode::Circular, 64 << 10);
    let slot = harness.attach(1);
    let scope = harness.begin(slot);
    harness.recorder.flush();
    harness.end(slot, scope);
    let mut out = Vec::new();
    harness.finish(&mut out);
    assert_eq!(kinds(&out), [(DurationBegin, 2), (DurationEnd, 2)]);
    assert_eq!(harness.collector.stats().open_scopes(), 0);
    assert_eq!(harness.collector.stats().events, 2);
}

/// A scope that ends several rolling buffers later has its arguments as long as its begin is kept.
#[test]
fn a_scope_over_many_circular_switches_is_shown_once() {
    for switches in 1..=8 {
        let mut harness = Harness::new(BufferingMode::Circular, 1 << 20);
        assert_eq!(harness.layout.rolling_buffers(), 8);
        let slot = harness.attach(1);
        let scope = harness.begin_with_argument(slot);
        for wrap in 0..switches {
            harness.recorder.flush();
            harness.recorder.quiesce(PATIENCE);
            harness.recorder.mark_saved(wrap);
            assert!(harness.instant(slot, 1));
        }
        harness.end_with_argument(slot, &scope);
        let mut out = Vec::new();
        harness.finish(&mut out);
        let scopes: Vec<_> = kinds(&out).into_iter().filter(|(kind, _)| *kind != Instant).collect();
        match switches {
            8 => assert_eq!(scopes, [(DurationComplete, 4)], "the begin is overwritten"),
            _ => assert_eq!(scopes, [(DurationBegin, 3), (DurationEnd, 3)], "{switches}"),
        }
    }
}

#[test]
fn a_scope_whose_begin_is_overwritten_is_a_complete_with_its_start() {
    let mut harness = Harness::new(BufferingMode::Circular, 64 << 10);
    let slot = harness.attach(1);
    let scope = harness.begin(slot);
    for wrap in 0..2 {
        assert!(harness.instant(slot, u64::from(wrap)));
        harness.recorder.flush();
        harness.recorder.quiesce(PATIENCE);
        harness.recorder.mark_saved(wrap);
    }
    assert_eq!(harness.recorder.current(), Some(2));
    harness.end(slot, scope);
    let mut out = Vec::new();
    harness.finish(&mut out);
    let scopes: Vec<_> =
        events(&out).into_iter().filter(|(_, kind, _)| *kind == DurationComplete).collect();
    assert_eq!(scopes.len(), 1);
    assert_eq!(scopes[0].2.len(), 3);
    assert!(scopes[0].2[1] < scopes[0].2[2]);
}

#[test]
fn a_scope_of_an_earlier_start_is_not_ended_in_a_later_one() {
    for mode in [BufferingMode::Oneshot, BufferingMode::Circular, BufferingMode::Streaming] {
        let mut harness = Harness::new(mode, 64 << 10);
        let slot = harness.attach(1);
        let scope = harness.begin(slot);
        harness.finish(&mut Vec::new());
        harness.collector.restart();
        harness.recorder.start();
        harness.end(slot, scope);
        let mut out = Vec::new();
        harness.finish(&mut out);
        assert_eq!(kinds(&out), []);
    }
}

/// A scope that ends while there is no room does not stay open: its end is written as soon as there
/// is.
#[test]
fn an_end_that_finds_no_room_comes_later() {
    let mut harness = Harness::new(BufferingMode::Streaming, 64 << 10);
    let slot = harness.attach(1);
    let scopes: Vec<_> = (0..3).map(|_| harness.begin(slot)).collect();
    while harness.instant(slot, 0) {}
    let dropped = harness.collector.dropped();
    for scope in scopes.into_iter().rev() {
        harness.end(slot, scope);
    }
    assert_eq!(harness.collector.dropped(), dropped, "nothing more is lost");
    let mut out = Vec::new();
    harness.save(0, &mut out);
    assert!(harness.instant(slot, 1));
    harness.finish(&mut out);
    let of_kind = |kind| events(&out).iter().filter(|(_, found, _)| *found == kind).count();
    assert_eq!((of_kind(DurationBegin), of_kind(DurationEnd)), (3, 3));
    assert_eq!(harness.collector.stats().open_scopes(), 0);
}

/// Also where no room comes any more.
#[test]
fn an_end_that_never_finds_room_comes_with_the_stop() {
    let mut harness = Harness::new(BufferingMode::Streaming, 64 << 10);
    let slot = harness.attach(1);
    let scope = harness.begin(slot);
    while harness.instant(slot, 0) {}
    harness.end(slot, scope);
    let mut out = Vec::new();
    harness.finish(&mut out);
    assert_eq!(harness.collector.stats().open_scopes(), 0);
    assert_eq!(harness.collector.stats().rejections(), 0);
}

/// More of them than are kept are counted as lost.
#[test]
fn ends_beyond_those_kept_are_counted() {
    let mut harness = Harness::new(BufferingMode::Streaming, 64 << 10);
    let slot = harness.attach(1);
    let scopes: Vec<_> = (0..20).map(|_| harness.begin(slot)).collect();
    while harness.instant(slot, 0) {}
    let dropped = harness.collector.dropped();
    for scope in scopes.into_iter().rev() {
        harness.end(slot, scope);
    }
    let mut out = Vec::new();
    harness.finish(&mut out);
    let stats = harness.collector.stats();
    assert_eq!(stats.open_scopes(), 12);
    assert_eq!(harness.collector.dropped(), dropped + 12);
    assert_eq!(harness.accounted(), harness.collector.dropped());
}

/// Ends for which there is no room at all, not even with the stop, are counted.
#[test]
fn ends_that_the_durable_buffer_has_no_room_for_are_counted() {
    let mut harness = Harness::new(BufferingMode::Streaming, 64 << 10);
    let slot = harness.attach(1);
    let scope = harness.begin(slot);
    while harness.instant(slot, 0) {}
    let dropped = harness.collector.dropped();
    harness.end(slot, scope);
    while harness.durable.append(&[0x0000_0000_0000_0021, 1]).is_ok() {}
    harness.finish(&mut Vec::new());
    assert_eq!(harness.collector.dropped(), dropped + 1);
}

/// The words of the scopes in an archive, with what is behind the timestamp of the begin.
fn arguments(words: &[u64]) -> Vec<(trace_format::layout::EventType, Vec<u64>)> {
    events(words).into_iter().map(|(_, kind, record)| (kind, record[2..].to_vec())).collect()
}

#[test]
fn the_argument_of_a_scope_is_another_once_it_has_ended() {
    for asymmetric in [true, false] {
        let mut harness = Harness::with_barrier(BufferingMode::Oneshot, 64 << 10, asymmetric);
        let slot = harness.attach(1);
        let open = harness.begin_with_argument(slot);
        let ended = harness.begin_with_argument(slot);
        harness.end_with_argument(slot, &ended);
        let mut out = Vec::new();
        harness.finish(&mut out);
        let found = arguments(&out);
        assert_eq!(found[0], (DurationBegin, vec![BEGUN]), "an open one is what it was");
        assert_eq!((found[1].0, found[1].1[0]), (DurationComplete, ENDED));
        harness.end_with_argument(slot, &open);
        assert_eq!(harness.collector.stats().rejections(), 0);
    }
}

/// A scope that has no argument gets none.
#[test]
fn an_end_with_an_argument_leaves_a_begin_without_one_alone() {
    let mut harness = Harness::new(BufferingMode::Oneshot, 64 << 10);
    let slot = harness.attach(1);
    let scope = harness.begin(slot);
    harness.end_with_argument(slot, &scope);
    let mut out = Vec::new();
    harness.finish(&mut out);
    assert_eq!(kinds(&out), [(DurationComplete, 3)]);
    assert!(events(&out)[0].2[1] < events(&out)[0].2[2]);
}

#[test]
fn a_save_in_between_leaves_the_argument_to_the_end() {
    for asymmetric in [true, false] {
        let mut harness = Harness::with_barrier(BufferingMode::Streaming, 64 << 10, asymmetric);
        let slot = harness.attach(1);
        let scope = harness.begin_with_argument(slot);
        let mut out = Vec::new();
        harness.recorder.flush();
        harness.save(0, &mut out);
        harness.end_with_argument(slot, &scope);
        harness.finish(&mut out);
        assert_eq!(arguments(&out), [(DurationBegin, vec![BEGUN]), (DurationEnd, vec![ENDED])]);
        assert_eq!(harness.collector.stats().rejections(), 0);
    }
}

/// Ends wait for room with their arguments, here and in the durable buffer.
#[test]
fn ends_that_found_no_room_keep_their_arguments() {
    for room_comes in [true, false] {
        let mut harness = Harness::new(BufferingMode::Streaming, 64 << 10);
        let slot = harness.attach(1);
        let scopes = [harness.begin(slot), harness.begin(slot)];
        let with_argument = harness.begin_with_argument(slot);
        while harness.instant(slot, 0) {}
        harness.end_with_argument(slot, &with_argument);
        scopes.into_iter().rev().for_each(|scope| harness.end(slot, scope));
        let mut out = Vec::new();
        if room_comes {
            harness.save(0, &mut out);
            assert!(harness.instant(slot, 1));
        }
        harness.finish(&mut out);
        assert_eq!(harness.collector.stats().open_scopes(), 0);
        assert_eq!(harness.collector.stats().rejections(), 0);
        let ends = arguments(&out).into_iter().filter(|(kind, _)| *kind == DurationEnd);
        let ends: Vec<_> = ends.map(|(_, words)| words.last().copied()).collect();
        assert_eq!(ends.iter().filter(|last| **last == Some(ENDED)).count(), 1, "{ends:x?}");
        assert_eq!(ends.len(), 3);
    }
}

#[test]
fn a_circular_switch_in_between_leaves_the_argument_to_the_end() {
    let mut harness = Harness::new(BufferingMode::Circular, 64 << 10);
    let slot = harness.attach(1);
    let scope = harness.begin_with_argument(slot);
    harness.recorder.flush();
    harness.end_with_argument(slot, &scope);
    let mut out = Vec::new();
    harness.finish(&mut out);
    assert_eq!(arguments(&out), [(DurationBegin, vec![BEGUN]), (DurationEnd, vec![ENDED])]);
    let times: Vec<_> = events(&out).into_iter().map(|(_, _, record)| record[1]).collect();
    assert!(times[0] < times[1], "{times:?}");
}

#[test]
fn a_complete_whose_begin_is_overwritten_has_the_argument() {
    let mut harness = Harness::new(BufferingMode::Circular, 64 << 10);
    let slot = harness.attach(1);
    let scope = harness.begin_with_argument(slot);
    for wrap in 0..2 {
        assert!(harness.instant(slot, u64::from(wrap)));
        harness.recorder.flush();
        harness.recorder.quiesce(PATIENCE);
        harness.recorder.mark_saved(wrap);
    }
    harness.end_with_argument(slot, &scope);
    let mut out = Vec::new();
    harness.finish(&mut out);
    let found = events(&out).into_iter().find(|(_, kind, _)| *kind == DurationComplete).unwrap();
    let [_, start, argument, end] = *found.2 else { panic!("{:x?}", found.2) };
    assert_eq!(argument, ENDED);
    assert!(start < end);
    assert_eq!(harness.collector.stats().rejections(), 0);
}
