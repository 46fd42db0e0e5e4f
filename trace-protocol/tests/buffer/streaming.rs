//! Circular recordings that begin to stream while threads record.

use trace_format::layout::EventType::{DurationBegin, DurationComplete, DurationEnd};
use trace_protocol::buffer::consumer::Collector;
use trace_protocol::buffer::header::BufferingMode;
use trace_protocol::buffer::producer::{LossReason, Slot, Streamed};

use crate::harness::{events, instants, Harness, PATIENCE};

/// A size with eight rolling buffers.
const SIZE: usize = 1 << 20;

impl Harness {
    /// Writes instants with the timestamps from `next` on until the wrapped count is `wrap`.
    /// Returns the next timestamp.
    fn fill_until(&self, slot: &Slot, wrap: u32, mut next: u64) -> u64 {
        while self.recorder.current().unwrap() < wrap {
            assert!(self.instant(slot, next), "threads that record need no service thread");
            next += 1;
        }
        next
    }

    /// Loses records of the first thread: the second one pauses in the oldest rolling buffer, which
    /// keeps the first from it. Returns the next timestamp.
    fn lose(&self, [slot, busy]: [&Slot; 2], mut next: u64) -> u64 {
        let open = busy.open(self.recorder, 2).unwrap();
        while self.instant(slot, next) {
            next += 1;
        }
        open.abandon();
        self.recorder.quiesce(PATIENCE);
        self.recorder.mark_saved(self.recorder.current().unwrap() - 1);
        next
    }

    /// Begins to stream, as the service thread and the manager do.
    fn stream(&mut self) -> Streamed {
        let streamed = self.recorder.stream(PATIENCE).unwrap();
        self.collector.stream_from(streamed.first);
        self.collector.count_overwritten_reports(streamed.current);
        streamed
    }
}

#[test]
fn all_that_a_circular_buffer_has_is_saved() {
    for wraps in [0, 1, 7, 8, 30] {
        let mut harness = Harness::new(BufferingMode::Circular, SIZE);
        let buffers = harness.layout.rolling_buffers() as u32;
        assert_eq!(buffers, 8);
        let slot = harness.attach(1);
        let mut next = harness.fill_until(slot, wraps, 0);
        let streamed = harness.stream();
        let first = wraps.saturating_sub(buffers - 1);
        assert_eq!(streamed, Streamed { first, current: wraps });
        let mut out = Vec::new();
        for wrap in first..wraps + 20 {
            next = harness.fill_until(slot, wrap + 1, next);
            harness.save(wrap, &mut out);
        }
        harness.finish(&mut out);
        let kept = instants(&out, 1);
        assert!(kept.windows(2).all(|pair| pair[1] == pair[0] + 1), "no gap");
        assert_eq!(kept[0] == 0, first == 0);
        assert_eq!(harness.collector.dropped(), 0);
        assert_eq!(harness.collector.stats().overwritten, first);
        assert_eq!(harness.collector.stats().rejections(), 0);
    }
}

/// Until the manager has saved the oldest rolling buffer, the threads have the rest of the current
/// one only.
#[test]
fn one_more_rolling_buffer_is_given_up_if_the_current_one_is_half_full() {
    let harness = Harness::new(BufferingMode::Circular, SIZE);
    let slot = harness.attach(1);
    let next = harness.fill_until(slot, 20, 0);
    for value in 0..4700 {
        assert!(harness.instant(slot, next + value), "more than half of 120 KiB");
    }
    assert_eq!(harness.recorder.current(), Some(20));
    let streamed = harness.recorder.stream(PATIENCE).unwrap();
    assert_eq!(streamed, Streamed { first: 14, current: 20 });
    harness.fill_until(slot, 21, next);
    // With two rolling buffers, half of the history would be lost.
    let harness = Harness::new(BufferingMode::Circular, 64 << 10);
    let slot = harness.attach(1);
    let next = harness.fill_until(slot, 20, 0);
    for value in 0..900 {
        assert!(harness.instant(slot, next + value));
    }
    let streamed = harness.recorder.stream(PATIENCE).unwrap();
    assert_eq!(streamed, Streamed { first: 19, current: 20 });
}

/// A reader takes the oldest rolling buffer for overwritten from the published count on, also after
/// a kill.
#[test]
fn a_wrapped_count_is_published_after_the_check_of_all_conditions() {
    let mut harness = Harness::new(BufferingMode::Circular, 64 << 10);
    let slot = harness.attach(1);
    let mut next = harness.fill_until(slot, 5, 0);
    let streamed = harness.recorder.stream(PATIENCE).unwrap();
    while harness.instant(slot, next) {
        next += 1;
    }
    assert_eq!((harness.recorder.current(), harness.collector.wrapped_count()), (Some(5), 5));
    assert!(!harness.instant(slot, next), "the oldest one is not saved");
    assert_eq!((streamed.current, harness.collector.wrapped_count()), (5, 5));
    assert_eq!(harness.collector.dropped_by_reason(), [(LossReason::NotSaved, 2)]);
    // The manager was killed before it learnt of the change.
    let mut out = Vec::new();
    let mut live = harness.collector.clone();
    live.finish_copy(harness.collector.copy_live(), &mut out);
    let kept = instants(&out, 1);
    assert_eq!((kept.last(), live.stats().overwritten), (Some(&(next - 1)), 4));
    harness.collector.stream_from(streamed.first);
    harness.save(4, &mut Vec::new());
    assert!(harness.instant(slot, next));
}

/// A thread that stays in a trace point delays the change. Meanwhile the others go on with the
/// circular recording, as long as they need not overwrite what that thread has.
#[test]
fn others_record_while_a_thread_delays_the_change() {
    let harness = Harness::new(BufferingMode::Circular, SIZE);
    let slot = harness.attach(1);
    let mut next = harness.fill_until(slot, 9, 0);
    let busy = harness.attach(2);
    let open = busy.open(harness.recorder, 2).unwrap();
    for wrap in 10..16 {
        assert_eq!(harness.recorder.stream(std::time::Duration::ZERO), None);
        assert_eq!(harness.recorder.current(), Some(wrap - 1), "no epoch moves");
        assert_eq!(harness.recorder.mode(), Some(BufferingMode::Circular));
        next = harness.fill_until(slot, wrap, next);
    }
    open.abandon();
    let streamed = harness.recorder.stream(PATIENCE).unwrap();
    assert_eq!(streamed, Streamed { first: 8, current: 15 });
    assert_eq!(harness.recorder.stream(PATIENCE), None, "it streams");
    assert_eq!(harness.collector.dropped(), 0);
}

#[test]
fn only_a_circular_recording_begins_to_stream() {
    for mode in [BufferingMode::Oneshot, BufferingMode::Streaming] {
        let harness = Harness::new(mode, SIZE);
        assert_eq!(harness.recorder.stream(PATIENCE), None);
        assert_eq!(harness.recorder.mode(), Some(mode));
    }
    let harness = Harness::new(BufferingMode::Circular, SIZE);
    harness.recorder.stop(PATIENCE);
    assert_eq!(harness.recorder.stream(PATIENCE), None);
}

#[test]
fn a_oneshot_buffer_keeps_its_capacity() {
    let written = |streams: bool| {
        let harness = Harness::new(BufferingMode::Oneshot, 64 << 10);
        let slot = harness.attach(1);
        assert!(!(streams && harness.recorder.stream(PATIENCE).is_some()));
        (0..100_000).take_while(|value| harness.instant(slot, *value)).count()
    };
    assert_eq!(written(true), written(false));
}

/// Scopes that begin before and after the oldest saved rolling buffer, and end before and after the
/// change.
#[test]
fn each_scope_is_in_the_archive_once() {
    let mut harness = Harness::new(BufferingMode::Circular, SIZE);
    let slot = harness.attach(1);
    let mut scopes = Vec::new();
    let mut next = 0;
    for wrap in 1..30 {
        scopes.push(harness.begin(slot));
        scopes.push(harness.begin_with_argument(slot));
        next = harness.fill_until(slot, wrap, next);
        if wrap == 25 {
            // The begins of one pair are kept, those of the other are overwritten.
            for scope in [scopes.remove(44), scopes.remove(2)] {
                harness.end(slot, scope);
            }
        }
    }
    let streamed = harness.stream();
    assert_eq!(streamed, Streamed { first: 22, current: 29 });
    scopes.push(harness.begin(slot));
    for scope in scopes {
        harness.end(slot, scope);
    }
    let mut out = Vec::new();
    for wrap in 22..29 {
        harness.save(wrap, &mut out);
    }
    harness.finish(&mut out);
    let of = |kind| events(&out).iter().filter(|(_, found, _)| *found == kind).count();
    // Seven pairs and one of the kept begins are in older rolling buffers than the current one.
    assert_eq!((of(DurationBegin), of(DurationEnd)), (14, 14));
    assert_eq!(of(DurationComplete), 44 + 1);
    assert_eq!(harness.collector.stats().open_scopes(), 0);
    assert_eq!(harness.collector.stats().rejections(), 0);
}

/// An end that finds no room stays with its thread, as in streaming mode from the start.
#[test]
fn an_end_that_finds_no_room_comes_later() {
    let mut harness = Harness::new(BufferingMode::Circular, 64 << 10);
    let slot = harness.attach(1);
    let mut next = harness.fill_until(slot, 5, 0);
    let scope = harness.begin(slot);
    next = harness.fill_until(slot, 6, next);
    let streamed = harness.stream();
    assert_eq!(streamed, Streamed { first: 5, current: 6 });
    while harness.instant(slot, next) {
        next += 1;
    }
    let dropped = harness.collector.dropped();
    harness.end(slot, scope);
    assert_eq!(harness.collector.dropped(), dropped);
    let mut out = Vec::new();
    harness.save(5, &mut out);
    assert!(harness.instant(slot, next));
    harness.finish(&mut out);
    let kinds: Vec<_> = events(&out).iter().map(|(_, kind, _)| *kind).collect();
    let of = |kind| kinds.iter().filter(|found| **found == kind).count();
    assert_eq!((of(DurationBegin), of(DurationEnd), of(DurationComplete)), (1, 1, 0));
}

/// The reports of some losses are overwritten before the change. A reader that joins behind it has
/// neither these losses nor those that are reported later.
#[test]
fn a_later_reader_has_later_losses_only() {
    let mut harness = Harness::new(BufferingMode::Circular, 64 << 10);
    let [slot, busy] = [1, 2].map(|thread| harness.attach(thread));
    let mut next = harness.lose([slot, busy], 0);
    let lost = harness.collector.dropped();
    assert!(lost > 0);
    let wrap = harness.recorder.current().unwrap();
    next = harness.fill_until(slot, wrap + 3, next);
    let streamed = harness.stream();
    let mut out = Vec::new();
    harness.save(streamed.first, &mut out);
    let earlier = harness.collector.losses();
    assert_eq!((earlier.total(), harness.collector.overwritten_reports_of(&earlier)), (lost, lost));
    assert_eq!(harness.collector.unreported_of(&earlier).total(), 0);
    while harness.instant(slot, next) {
        next += 1;
    }
    harness.save(streamed.current, &mut out);
    assert!(harness.instant(slot, next));
    harness.finish(&mut out);
    let collector = &harness.collector;
    let later = collector.dropped() - lost;
    assert!(later > 0);
    assert_eq!(collector.reported_behind(&earlier), later);
    assert_eq!(collector.unreported_behind(&earlier), []);
    let unreported: u64 = collector.unreported().iter().map(|lost| lost.number).sum();
    assert_eq!(unreported, lost, "the first reader learns of them by the loss table");
}

/// The reports are in the rolling buffer that is the current one at the change. They are found in
/// its copy, and in that of a snapshot before.
#[test]
fn reports_in_the_current_rolling_buffer_are_not_overwritten() {
    let mut harness = Harness::new(BufferingMode::Circular, 64 << 10);
    let [slot, busy] = [1, 2].map(|thread| harness.attach(thread));
    let mut next = harness.lose([slot, busy], 0);
    let lost = harness.collector.dropped();
    assert!(harness.instant(slot, next), "behind the report");
    let streamed = harness.stream();
    let mut out = Vec::new();
    harness.save(streamed.first, &mut out);
    let earlier = harness.collector.losses();
    let found = |collector: &Collector| {
        (collector.overwritten_reports_of(&earlier), collector.has_all_overwritten_reports())
    };
    assert_eq!(found(&harness.collector), (lost, false), "as far as is known");
    let mut snapshot = harness.collector.clone();
    snapshot.finish_copy(harness.collector.copy_live(), &mut Vec::new());
    assert_eq!(found(&snapshot), (0, true));
    assert_eq!(snapshot.reported_behind(&earlier), 0);
    next = harness.fill_until(slot, streamed.current + 1, next + 1);
    harness.save(streamed.current, &mut out);
    assert_eq!(found(&harness.collector), (0, true));
    // Reports in the next rolling buffer are not read, and do not count.
    while harness.instant(slot, next) {
        next += 1;
    }
    assert!(harness.collector.dropped() > lost);
    assert_eq!(found(&harness.collector), (0, true));
}
