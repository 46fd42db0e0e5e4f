//! Copies of a buffer that is being written.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use trace_format::layout::EventType;
use trace_protocol::buffer::consumer::{Collector, IdentityPolicy};
use trace_protocol::buffer::header::{directory_entry, BufferingMode, Layout};

use crate::harness::{header, instants, string_record, Harness, PATIENCE};
use crate::hostile::memory;

/// What a copy of the buffer as it is now comes to, with the collector that read it.
fn copy(collector: &Collector) -> (Vec<u64>, Collector) {
    let (mut out, mut fork) = (Vec::new(), collector.clone());
    let copy = collector.copy_live();
    fork.finish_copy(copy, &mut out);
    (out, fork)
}

/// Says that older rolling buffers may be overwritten, as the service thread does in circular mode.
fn recycle(harness: &Harness, next: &mut u32) {
    while harness.recorder.current() > Some(*next) {
        harness.recorder.quiesce(PATIENCE);
        harness.recorder.mark_saved(*next);
        *next += 1;
    }
}

#[test]
fn a_copy_leaves_the_collector_as_it_was() {
    for mode in [BufferingMode::Oneshot, BufferingMode::Circular, BufferingMode::Streaming] {
        let mut harness = Harness::new(mode, 64 << 10);
        let slot = harness.attach(1);
        assert!((0..100).all(|value| harness.instant(slot, value)));
        let (copied, _) = copy(&harness.collector);
        assert_eq!(instants(&copied, 1), Vec::from_iter(0..100));
        assert_eq!(copy(&harness.collector).0, copied);
        let scope = harness.begin(slot);
        let (open, fork) = copy(&harness.collector);
        assert_eq!(fork.stats().open_scopes(), 1, "a scope that is open");
        assert_eq!(open.len(), copied.len() + 2, "a begin without its spare word");
        harness.end(slot, scope);
        let mut out = Vec::new();
        harness.finish(&mut out);
        assert_eq!(out[..copied.len()], copied);
        assert_eq!(out.len(), copied.len() + 3, "the scope");
    }
}

#[test]
fn a_copy_goes_on_where_saves_left_off() {
    let mut harness = Harness::new(BufferingMode::Streaming, 64 << 10);
    let slot = harness.attach(1);
    let (mut out, mut saved) = (Vec::new(), 0);
    for value in 0..20_000 {
        assert!(harness.instant(slot, value));
        if value % 977 == 0 {
            let (rest, _) = copy(&harness.collector);
            let so_far = [&out[..], &rest].concat();
            assert_eq!(instants(&so_far, 1), Vec::from_iter(0..=value));
        }
        if harness.recorder.current() > Some(saved) {
            harness.save(saved, &mut out);
            saved += 1;
        }
    }
}

#[test]
fn a_circular_copy_holds_half_a_buffer_at_least_and_the_newest_record() {
    let harness = Harness::new(BufferingMode::Circular, 64 << 10);
    let slot = harness.attach(1);
    let mut next = 0;
    for value in 0..20_000 {
        assert!(harness.instant(slot, value));
        recycle(&harness, &mut next);
        if value % 577 == 0 {
            let (copied, fork) = copy(&harness.collector);
            let found = instants(&copied, 1);
            let first = value + 1 - found.len() as u64;
            assert_eq!(found, Vec::from_iter(first..=value));
            assert!(first == 0 || found.len() > 1500, "{} of {value}", found.len());
            assert_eq!(fork.stats().overwritten > 0, first > 0);
        }
    }
}

/// Returns the words of a chunk, at the start of the rolling buffer of `wrapped_count`, with one
/// instant of the thread 5 at `ticks`.
fn chunk(layout: &Layout, wrapped_count: u32, ticks: u64) -> Vec<(usize, u64)> {
    let directory = layout.rolling_offset(wrapped_count) / 8;
    let unit = layout.unit_size();
    let data = directory + (layout.rolling_size() / unit * 8).next_multiple_of(unit) / 8;
    let strings = [string_record(100, "category"), string_record(101, "name")].concat();
    let thread = [0x1_0033, 1, 5];
    let instant = [header(EventType::Instant, 2), ticks];
    let content = [&thread[..], &strings, &instant].concat();
    let content = content.into_iter().enumerate().map(|(index, word)| (data + index, word));
    [(directory, directory_entry(wrapped_count, 1))].into_iter().chain(content).collect()
}

/// A search of the directories may find no chunk in a rolling buffer before the newest one: it
/// was begun behind the search, or its only thread has not published its chunk. The others are
/// copied all the same.
#[test]
fn a_copy_has_the_rolling_buffers_before_one_without_chunks() {
    let layout = Layout::plan(BufferingMode::Streaming, 400 << 10, 0).unwrap();
    assert_eq!(layout.rolling_buffers(), 4);
    let words = [chunk(&layout, 0, 10), chunk(&layout, 2, 30)].concat();
    let mapping = memory(&layout, words);
    let collector = Collector::new(mapping, layout, IdentityPolicy::Own(4711)).unwrap();
    assert_eq!(instants(&copy(&collector).0, 5), [10, 30]);
}

/// Ends the other threads, also if the test fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Threads overwrite the buffer as fast as they can while it is copied: no record is torn, none is
/// from before, and of each thread there are its records up to some moment, without a gap but for
/// losses that it tells.
#[test]
fn what_is_overwritten_while_it_is_copied_does_not_count() {
    for (size, buffers) in [(128 << 10, 2), (400 << 10, 4), (1 << 20, 8)] {
        let harness = Harness::new(BufferingMode::Circular, size);
        assert_eq!(harness.layout.rolling_buffers(), buffers);
        copy_while_it_is_overwritten(harness);
    }
}

fn copy_while_it_is_overwritten(mut harness: Harness) {
    let recorder = harness.recorder;
    let rounds = if cfg!(miri) { 3 } else { 50 };
    let done = AtomicBool::new(false);
    let slots: Vec<_> = (1..=2).map(|thread| harness.attach(thread)).collect();
    let wrote = [AtomicU64::new(0), AtomicU64::new(0)];
    std::thread::scope(|scope| {
        for (slot, wrote) in slots.into_iter().zip(&wrote) {
            let (harness, done) = (&harness, &done);
            scope.spawn(move || {
                let mut value = 0;
                while !done.load(Ordering::Relaxed) {
                    // One that finds no room is tried again: numbers have no gaps.
                    if harness.instant(slot, value) {
                        value += 1;
                        wrote.store(value, Ordering::Release);
                    }
                }
            });
        }
        scope.spawn(|| {
            let mut next = 0;
            while !done.load(Ordering::Relaxed) {
                recycle(&harness, &mut next);
                std::thread::yield_now();
            }
        });
        let _ends = Ends(&done);
        for _ in 0..rounds {
            let before = wrote.each_ref().map(|wrote| wrote.load(Ordering::Acquire));
            let (copied, fork) = copy(&harness.collector);
            assert_eq!(fork.stats().rejections(), 0, "nothing torn");
            for (thread, before) in (1..).zip(before) {
                let found = instants(&copied, thread);
                assert!(found.windows(2).all(|pair| pair[1] == pair[0] + 1), "no gap");
                if let Some(last) = found.last() {
                    assert!(*last + 1 >= before, "nothing is missing at the end: {last}, {before}");
                }
            }
        }
    });
    recorder.stop(PATIENCE);
    harness.finish(&mut Vec::new());
}
