//! Many threads, and slots that change hands.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use trace_format::layout::EventType;
use trace_protocol::buffer::header::{BufferingMode, Layout};
use trace_protocol::buffer::producer::{LossReason, Slot};

use crate::harness::{clock, events, header, instants, records, Harness, PROCESS};

#[test]
fn a_slot_that_changes_hands_names_each_thread() {
    let mut harness = Harness::new(BufferingMode::Oneshot, 20 << 10);
    for thread in 1..=100 {
        let slot = harness.attach(thread);
        assert!(harness.instant(slot, u64::from(thread)));
        harness.recorder.detach(slot);
    }
    let mut out = Vec::new();
    harness.finish(&mut out);
    for thread in 1..=100 {
        assert_eq!(instants(&out, thread), [thread]);
    }
}

/// Runs a signal handler, as the kernel does: it saves the registers below the interrupted frame.
#[inline(never)]
fn in_handler(run: impl FnOnce()) {
    let saved = std::hint::black_box([0_u8; 2048]);
    run();
    std::hint::black_box(saved);
}

#[test]
#[cfg_attr(miri, ignore = "frames are in no order there")]
fn records_inside_a_record_are_dropped_and_reported() {
    let mut harness = Harness::new(BufferingMode::Oneshot, 64 << 10);
    let slot = harness.attach(1);
    let open = slot.open(harness.recorder, 2).unwrap();
    in_handler(|| {
        for value in 0..3 {
            assert!(!harness.instant(slot, value), "a signal handler's record");
        }
    });
    open.words()[1].store(9, Ordering::Relaxed);
    open.commit(header(EventType::Instant, 2));
    let mut out = Vec::new();
    harness.finish(&mut out);
    assert_eq!(instants(&out, 1), [9]);
    let [lost] = harness.collector.unreported()[..] else { panic!("one thread, one reason") };
    assert_eq!((lost.reason, lost.thread, lost.number), (LossReason::Nested, Some(1), 3));
    assert_eq!(harness.collector.dropped(), 3);
}

/// A thread that lost records and ended is the one that they are reported of, although another has
/// its slot by then, and loses records too.
#[test]
fn losses_are_reported_of_the_thread_that_had_them() {
    let mut harness = Harness::new(BufferingMode::Streaming, 64 << 10);
    let slot = harness.attach(1);
    while harness.instant(slot, 0) {}
    harness.recorder.detach(slot);
    let slot = harness.attach(2);
    assert!(!harness.instant(slot, 0) && !harness.instant(slot, 0));
    let mut out = Vec::new();
    harness.save(0, &mut out);
    assert!(harness.instant(slot, 1));
    harness.finish(&mut out);
    let events: Vec<_> = records(&out)
        .into_iter()
        .filter(|record| record[0] & 0xf == 4 && record.len() == 12)
        .collect();
    assert_eq!(events.len(), 1);
    assert_eq!(events[0][2..4], [PROCESS, 2], "process and thread");
    assert_eq!(events[0][6], 2, "number");
    let [lost] = harness.collector.unreported()[..] else { panic!("the other thread's") };
    assert_eq!((lost.reason, lost.thread, lost.number), (LossReason::NotSaved, Some(1), 1));
    assert_eq!(harness.collector.dropped(), 3);
}

/// A thread that lost records in one recording is accounted for in the next one, in another buffer,
/// with what it loses there.
#[test]
fn losses_of_an_earlier_recording_are_not_counted_again() {
    let mut harness = Harness::new(BufferingMode::Oneshot, 64 << 10);
    let slots = [1, 2].map(|thread| harness.attach(thread));
    for slot in slots {
        while harness.instant(slot, 0) {}
    }
    harness.finish(&mut Vec::new());
    assert_eq!(harness.collector.dropped(), 2);
    harness.renew();
    // In the other order, so that entries of the old table belong to other threads in the new one.
    for slot in slots.into_iter().rev() {
        while harness.instant(slot, 0) {}
        harness.instant(slot, 0);
    }
    harness.finish(&mut Vec::new());
    assert_eq!((harness.collector.dropped(), harness.accounted()), (4, 4));
    let mut lost: Vec<_> = harness.collector.unreported();
    lost.sort_by_key(|lost| lost.thread);
    let found: Vec<_> = lost.iter().map(|lost| (lost.reason, lost.thread, lost.number)).collect();
    assert_eq!(found, [1, 2].map(|thread| (LossReason::BufferFull, Some(thread), 2)));
}

/// The event comes before the record if the chunk has room for exactly both. Without membarrier
/// each record takes the path that reports losses.
#[test]
fn a_loss_is_reported_in_the_last_words_of_a_chunk() {
    const RECORD_WORDS: usize = 2;
    const LOSS_WORDS: usize = 12;
    let harness = Harness::with_barrier(BufferingMode::Oneshot, 64 << 10, false);
    let slot = harness.attach(1);
    let all = (0..).take_while(|value| harness.instant(slot, *value)).count();
    for (left, is_reported) in [(LOSS_WORDS + RECORD_WORDS, true), (LOSS_WORDS, false)] {
        let mut harness = Harness::with_barrier(BufferingMode::Oneshot, 64 << 10, false);
        let slot = harness.attach(1);
        let before = all - left / RECORD_WORDS;
        for value in 1..before {
            assert!(harness.instant(slot, value as u64));
        }
        let open = slot.open(harness.recorder, RECORD_WORDS).unwrap();
        assert!(!harness.instant(slot, 0), "a signal handler's record");
        open.words()[1].store(7, Ordering::Relaxed);
        open.commit(header(EventType::Instant, RECORD_WORDS));
        assert!(harness.instant(slot, 8));
        let mut out = Vec::new();
        harness.finish(&mut out);
        assert_eq!(harness.collector.stats().reported_losses, u64::from(is_reported), "{left}");
        assert_eq!((harness.collector.dropped(), harness.accounted()), (1, 1));
        let kept = instants(&out, 1);
        assert_eq!((kept.len(), kept.last()), (before + 1, Some(&8)), "{left}");
    }
}

/// More threads lose records than the loss table has entries: those beyond are counted together,
/// and every loss is accounted for once.
#[test]
fn losses_beyond_the_table_are_counted_together() {
    let mut harness = Harness::new(BufferingMode::Oneshot, 64 << 10);
    let slot = harness.attach(1);
    while harness.instant(slot, 0) {}
    for thread in 2..=100 {
        let slot = harness.attach(thread);
        assert!(!harness.instant(slot, 0));
        harness.recorder.detach(slot);
    }
    harness.finish(&mut Vec::new());
    let lost = harness.collector.unreported();
    let entries = Layout::MIN_LOSSES_SIZE / 64 - LossReason::ALL.len();
    assert_eq!(lost.iter().filter(|lost| lost.thread.is_some()).count(), entries);
    let others: Vec<_> = lost.iter().filter(|lost| lost.thread.is_none()).collect();
    assert_eq!(others.len(), 1);
    assert_eq!(
        (others[0].reason, others[0].number),
        (LossReason::BufferFull, 100 - entries as u64)
    );
    assert!(0 < others[0].from && others[0].from < others[0].to);
    assert_eq!((harness.collector.dropped(), harness.accounted()), (100, 100));
}

/// Losses of threads that get no slot are counted, with their reason and window.
#[test]
fn a_thread_without_a_slot_counts_what_it_loses_and_asks_again() {
    let mut harness = Harness::new(BufferingMode::Oneshot, 64 << 10);
    let slots: Vec<_> = (1..=64).map(|thread| harness.attach(thread)).collect();
    for _ in 0..3 {
        assert!(harness.recorder.attach(65).is_none());
        harness.recorder.lost_without_slot(clock);
    }
    harness.recorder.detach(slots[0]);
    let slot = harness.recorder.attach(65).expect("one is free");
    assert!(harness.instant(slot, 1));
    harness.finish(&mut Vec::new());
    let [lost] = harness.collector.unreported()[..] else { panic!("one reason") };
    assert_eq!((lost.reason, lost.thread, lost.number), (LossReason::NoSlot, None, 3));
    assert!(lost.from + 2 <= lost.to, "{lost:?}");
}

/// A thread that is in the middle of a record for good holds nothing up for longer than there is
/// patience, and harms nothing later.
#[test]
fn a_thread_that_does_not_come_back_is_not_waited_for() {
    let mut harness = Harness::new(BufferingMode::Streaming, 64 << 10);
    let slot = harness.attach(1);
    assert!(harness.instant(slot, 1));
    let open = slot.open(harness.recorder, 2).unwrap();
    assert!(!harness.recorder.quiesce(Duration::from_millis(1)));
    assert!(harness.recorder.stop(Duration::from_millis(1)).is_some());
    let mut out = Vec::new();
    harness.collector.finish(&mut out);
    assert_eq!(instants(&out, 1), [1]);
    assert!(harness.recorder.end().is_none(), "the thread may still write to it");
    open.words()[1].store(2, Ordering::Relaxed);
    open.commit(header(EventType::Instant, 2));
}

/// A thread ends its process in a signal handler that interrupted a trace point.
#[test]
fn a_thread_that_leaves_its_trace_point_is_not_waited_for() {
    let mut harness = Harness::new(BufferingMode::Streaming, 64 << 10);
    let slot = harness.attach(1);
    assert!(harness.instant(slot, 1));
    let _open = slot.open(harness.recorder, 2).unwrap();
    assert!(!harness.recorder.quiesce(Duration::ZERO));
    slot.leave();
    assert!(harness.recorder.quiesce(Duration::ZERO));
    slot.leave();
    assert!(harness.recorder.quiesce(Duration::ZERO), "the thread is in no trace point");
    let mut out = Vec::new();
    harness.finish(&mut out);
    assert_eq!(instants(&out, 1), [1], "the record is not committed");
    assert!(harness.recorder.end().is_some());
}

/// Begins a record in a frame of its own, and leaves it without an end.
#[inline(never)]
fn jump_out_of_record(harness: &Harness, slot: &Slot) {
    let _open = slot.open(harness.recorder, 2).unwrap();
}

/// A signal handler interrupts a record, and jumps to a function that has called that of the
/// record.
#[test]
#[cfg_attr(miri, ignore = "frames are in no order there")]
fn a_thread_that_jumps_out_of_a_record_goes_on_recording() {
    for mode in [BufferingMode::Oneshot, BufferingMode::Circular, BufferingMode::Streaming] {
        let mut harness = Harness::new(mode, 64 << 10);
        let slot = harness.attach(1);
        assert!(harness.instant(slot, 1));
        for value in 2..=4 {
            jump_out_of_record(&harness, slot);
            assert!(!harness.recorder.quiesce(Duration::ZERO));
            let open = slot.open(harness.recorder, 2).expect("the frame of the record is gone");
            open.words()[1].store(value, Ordering::Relaxed);
            open.commit(header(EventType::Instant, 2));
            assert!(harness.recorder.quiesce(Duration::ZERO));
        }
        jump_out_of_record(&harness, slot);
        harness.recorder.detach(slot);
        assert!(harness.recorder.quiesce(Duration::ZERO), "the thread has ended");
        let mut out = Vec::new();
        harness.finish(&mut out);
        assert_eq!(instants(&out, 1), [1, 2, 3, 4], "{mode:?}: in order, and none is overwritten");
        assert_eq!(harness.collector.dropped_by_reason(), [(LossReason::Nested, 4)], "{mode:?}");
    }
}

/// The signal comes when the record is committed, and the slot is not idle yet.
#[test]
#[cfg_attr(miri, ignore = "frames are in no order there")]
fn a_committed_record_that_is_jumped_out_of_is_kept() {
    #[inline(never)]
    fn commit_and_jump(harness: &Harness, slot: &Slot) {
        let open = slot.open(harness.recorder, 2).unwrap();
        open.words()[1].store(2, Ordering::Relaxed);
        open.words()[0].store(header(EventType::Instant, 2), Ordering::Release);
    }
    let mut harness = Harness::new(BufferingMode::Streaming, 64 << 10);
    let slot = harness.attach(1);
    assert!(harness.instant(slot, 1));
    commit_and_jump(&harness, slot);
    assert!(harness.instant(slot, 3));
    let mut out = Vec::new();
    harness.finish(&mut out);
    assert_eq!(instants(&out, 1), [1, 2, 3]);
    assert_eq!(harness.collector.dropped(), 0);
}

/// The handler's own records do not show that the interrupted record is gone.
#[test]
#[cfg_attr(miri, ignore = "frames are in no order there")]
fn records_of_a_handler_leave_the_interrupted_record_alone() {
    let mut harness = Harness::new(BufferingMode::Streaming, 64 << 10);
    let slot = harness.attach(1);
    let open = slot.open(harness.recorder, 2).unwrap();
    in_handler(|| {
        assert!(!harness.instant(slot, 1));
        slot.leave_above(harness.recorder, 0);
        assert!(!harness.instant(slot, 2));
    });
    open.words()[1].store(9, Ordering::Relaxed);
    open.commit(header(EventType::Instant, 2));
    let mut out = Vec::new();
    harness.finish(&mut out);
    assert_eq!(instants(&out, 1), [9]);
    assert_eq!(harness.collector.dropped_by_reason(), [(LossReason::Nested, 2)]);
}

/// Threads write numbers and scopes as fast as they can while the test plays the service thread: in
/// streaming mode each number is collected or counted as lost, in order, and no scope is seen
/// twice.
#[test]
fn nothing_is_lost_uncounted_under_load() {
    for asymmetric in [true, false] {
        let mut harness = Harness::with_barrier(BufferingMode::Streaming, 256 << 10, asymmetric);
        let rounds: u64 = if cfg!(miri) { 300 } else { 100_000 };
        let (running, recorder) = (AtomicU64::new(3), harness.recorder);
        let mut out = Vec::new();
        let wrote = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for thread in 1..=3 {
                let slot = harness.attach(thread);
                let (running, wrote) = (&running, &wrote);
                scope.spawn(move || {
                    write_numbers(recorder, slot, rounds, wrote);
                    running.fetch_sub(1, Ordering::Release);
                });
            }
            let mut saved = 0;
            while running.load(Ordering::Acquire) > 0 || harness.recorder.current() > Some(saved) {
                match harness.recorder.current() > Some(saved) {
                    true => {
                        harness.save(saved, &mut out);
                        saved += 1;
                    }
                    false => std::thread::yield_now(),
                }
            }
        });
        harness.finish(&mut out);
        let wrote = wrote.into_inner();
        let collected: u64 = (1..=3).map(|thread| increasing(&instants(&out, thread))).sum();
        assert_eq!(collected, wrote, "what was committed was collected");
        assert_eq!(harness.collector.dropped(), harness.accounted());
        assert_eq!(harness.collector.stats().rejections(), 0);
        let begins =
            events(&out).iter().filter(|(_, kind, _)| *kind == EventType::DurationBegin).count();
        let ends =
            events(&out).iter().filter(|(_, kind, _)| *kind == EventType::DurationEnd).count();
        assert!(ends <= begins, "{ends} ends of {begins} scopes that were handed over open");
    }
}

fn write_numbers(
    recorder: &'static trace_protocol::buffer::producer::Recorder,
    slot: &'static trace_protocol::buffer::producer::Slot,
    rounds: u64,
    wrote: &AtomicU64,
) {
    use trace_protocol::buffer::producer::OpenScope;
    for value in 0..rounds {
        let scope = slot.open(recorder, 3).map(|open| {
            open.words()[1].store(value, Ordering::Relaxed);
            OpenScope::begin(open, header(EventType::DurationBegin, 3), value)
        });
        if let Some(open) = slot.open(recorder, 2) {
            open.words()[1].store(value, Ordering::Relaxed);
            open.commit(header(EventType::Instant, 2));
            wrote.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(scope) = scope {
            scope.end(slot, recorder, || value + 1, |_| {});
        }
    }
}

fn increasing(values: &[u64]) -> u64 {
    assert!(values.windows(2).all(|pair| pair[0] < pair[1]), "in order, and none twice");
    values.len() as u64
}

#[test]
fn stopping_leaves_no_writer_behind() {
    let mut harness = Harness::new(BufferingMode::Circular, 64 << 10);
    let done = AtomicBool::new(false);
    let recorder = harness.recorder;
    let slot = harness.attach(1);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                write_numbers(recorder, slot, 10, &AtomicU64::new(0));
            }
        });
        for _ in 0..if cfg!(miri) { 5 } else { 500 } {
            let mut out = Vec::new();
            harness.finish(&mut out);
            let mut again = Vec::new();
            harness.collector.finish(&mut again);
            assert_eq!(again, [], "nothing was written after the stop");
            harness.collector.restart();
            harness.recorder.start();
        }
        done.store(true, Ordering::Relaxed);
    });
}
