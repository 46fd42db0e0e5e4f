//! What each mode keeps when the buffer fills.

use trace_protocol::buffer::header::BufferingMode;
use trace_protocol::buffer::memory::WriteMapping;
use trace_protocol::buffer::producer::{LossReason, RecorderSession};

use crate::harness::{clock, instants, Harness, PATIENCE};

#[test]
fn oneshot_keeps_the_oldest_and_counts_the_rest() {
    let mut harness = Harness::new(BufferingMode::Oneshot, 64 << 10);
    let slot = harness.attach(1);
    let kept = (0..10_000).take_while(|value| harness.instant(slot, *value)).count() as u64;
    assert!(kept > 3000, "{kept} instants of 16 bytes fit 64 KiB");
    for value in 0..5 {
        assert!(!harness.instant(slot, value));
    }
    let mut out = Vec::new();
    harness.finish(&mut out);
    assert_eq!(instants(&out, 1), (0..kept).collect::<Vec<_>>());
    assert_eq!(harness.collector.dropped(), 6);
    let [lost] = harness.collector.unreported()[..] else { panic!("one thread, one reason") };
    assert_eq!((lost.reason, lost.thread, lost.number), (LossReason::BufferFull, Some(1), 6));
    assert!(0 < lost.from && lost.from < lost.to && lost.to < clock(), "{lost:?}");
    assert_eq!(harness.collector.stats().rejections(), 0);
}

#[test]
fn circular_keeps_the_newest_without_a_gap() {
    for instants_written in [1, 1000, 5000, 12_345, 40_000] {
        let mut harness = Harness::new(BufferingMode::Circular, 64 << 10);
        let slot = harness.attach(1);
        for value in 0..instants_written {
            assert!(harness.instant(slot, value));
            if let Some(previous) = harness.recorder.current().and_then(|wrap| wrap.checked_sub(1))
            {
                harness.recorder.quiesce(PATIENCE);
                harness.recorder.mark_saved(previous);
            }
        }
        let mut out = Vec::new();
        harness.finish(&mut out);
        let kept = instants(&out, 1);
        let first = instants_written - kept.len() as u64;
        assert_eq!(kept, (first..instants_written).collect::<Vec<_>>());
        assert!(first == 0 || kept.len() > 1500, "half of 64 KiB at least: {}", kept.len());
        assert_eq!(harness.collector.dropped(), 0);
    }
}

/// Threads that record all the time switch by themselves, whatever the service thread does.
#[test]
fn circular_needs_no_service_thread_while_all_threads_record() {
    for size in [64 << 10, 1 << 20] {
        let mut harness = Harness::new(BufferingMode::Circular, size);
        let slots = [1, 2, 3].map(|thread| harness.attach(thread));
        for value in 0..200_000 {
            assert!(harness.instant(slots[value as usize % 3], value), "{value}");
        }
        let mut out = Vec::new();
        harness.finish(&mut out);
        for thread in 1..=3 {
            let kept = instants(&out, thread);
            assert!(kept.windows(2).all(|pair| pair[1] == pair[0] + 3), "{kept:?}");
            assert!(kept.len() > 300 && kept.last() >= Some(&199_997));
        }
        assert_eq!(harness.collector.dropped(), 0);
    }
}

/// Such a thread may be in the middle of a record: without a barrier nobody knows.
#[test]
fn circular_waits_for_a_thread_that_pauses() {
    let mut harness = Harness::new(BufferingMode::Circular, 1 << 20);
    let [slot, paused] = [1, 2].map(|thread| harness.attach(thread));
    let record = paused.open(harness.recorder, 2).unwrap();
    while harness.instant(slot, 0) {}
    assert_eq!(harness.recorder.current(), Some(7), "all other rolling buffers");
    record.words()[1].store(1, std::sync::atomic::Ordering::Relaxed);
    record.abandon();
    assert!(!harness.instant(slot, 0), "it may begin another record");
    assert!(harness.instant(paused, 0) || harness.instant(slot, 0), "it is in the next one");
    while harness.recorder.current() < Some(20) {
        assert!(harness.instant(slot, 0) && harness.instant(paused, 0));
    }
    harness.finish(&mut Vec::new());
    assert_eq!(harness.collector.stats().rejections(), 0);
}

/// With eight rolling buffers seven hold history, and threads run seven ahead of the service
/// thread.
#[test]
fn circular_with_many_rolling_buffers_keeps_more_and_runs_further_ahead() {
    let mut harness = Harness::new(BufferingMode::Circular, 1 << 20);
    assert_eq!(harness.layout.rolling_buffers(), 8);
    let slot = harness.attach(1);
    let (mut written, mut next) = (0, 0);
    for round in 0..5 {
        let ahead = written;
        // Without the service thread this one would be in the way.
        let _paused = harness.attach(2 + round);
        while harness.recorder.current() < Some(next + 7) {
            assert!(harness.instant(slot, written), "{written} after {ahead}");
            written += 1;
        }
        harness.recorder.quiesce(PATIENCE);
        harness.recorder.mark_saved(next + 6);
        next += 7;
    }
    let mut out = Vec::new();
    harness.finish(&mut out);
    let kept = instants(&out, 1);
    assert_eq!(kept, Vec::from_iter(written - kept.len() as u64..written));
    let bytes = kept.len() * 16;
    assert!(bytes > harness.layout.rolling_size() * 13 / 2, "{bytes} of seven rolling buffers");
    assert_eq!(harness.collector.stats().overwritten, 35 - 7);
    assert_eq!(harness.collector.dropped(), 0);
}

/// While a thread pauses in the epoch to be overwritten, a loss does not look at all threads.
#[test]
fn a_refused_switch_is_tried_again_after_some_losses() {
    let harness = Harness::new(BufferingMode::Circular, 64 << 10);
    let slot = harness.attach(1);
    let paused = harness.attach(2);
    while harness.instant(slot, 0) {}
    // The thread has ended, and another one has its slot.
    harness.recorder.detach(paused);
    harness.attach(3);
    let lost = (0..100).position(|_| harness.instant(slot, 0));
    assert_eq!(lost, Some(15));
}

/// The first session stays as it was.
#[test]
fn a_second_session_is_returned() {
    let mut harness = Harness::new(BufferingMode::Circular, 64 << 10);
    let slot = harness.attach(1);
    harness.recorder.stop(PATIENCE);
    let first = harness.recorder.end().unwrap();
    let (mapping, layout) = (WriteMapping::anonymous(first.layout.total_size()), first.layout);
    let second = RecorderSession { mapping, layout, process: 2, ..*first };
    harness.recorder.begin(first).unwrap();
    assert_eq!(harness.recorder.begin(Box::new(second)).unwrap_err().process, 2);
    harness.recorder.start();
    assert!(harness.instant(slot, 9));
    let mut out = Vec::new();
    harness.finish(&mut out);
    assert_eq!(instants(&out, 1), [9]);
}

/// A thread that goes on does not lose records for having paused.
#[test]
fn a_switch_is_not_refused_to_a_thread_that_pauses_no_more() {
    let harness = Harness::new(BufferingMode::Circular, 64 << 10);
    let slot = harness.attach(1);
    let paused = harness.attach(2);
    while harness.instant(slot, 0) {}
    assert!(harness.instant(paused, 1));
    assert!(harness.instant(slot, 1));
}

/// Losses whose events are overwritten are accounted for, with a window that ends where that of
/// the first event which is left begins.
#[test]
fn losses_in_history_that_is_overwritten_are_accounted_for_once() {
    let mut harness = Harness::new(BufferingMode::Circular, 64 << 10);
    let slot = harness.attach(1);
    let mut next = 0;
    for round in 0..10 {
        let _paused = harness.attach(2 + round as u32);
        while harness.instant(slot, round) {}
        harness.recorder.quiesce(PATIENCE);
        next = harness.recorder.current().unwrap();
        harness.recorder.mark_saved(next - 1);
    }
    assert!(next >= 9);
    let mut out = Vec::new();
    harness.finish(&mut out);
    assert_eq!(harness.collector.dropped(), 10);
    assert_eq!(harness.accounted(), 10);
    let lost = harness.collector.unreported();
    let reasons: Vec<_> = lost.iter().map(|lost| (lost.reason, lost.thread)).collect();
    assert_eq!(reasons, [(LossReason::InUse, Some(1)); 2], "overwritten, and not reported yet");
    assert!(lost[0].number > 1 && lost[1].number == 1, "{lost:?}");
    assert!(lost[0].from < lost[0].to && lost[0].to < lost[1].from, "{lost:?}");
}

#[test]
fn circular_drops_and_tells_while_the_other_buffer_is_taken() {
    let mut harness = Harness::new(BufferingMode::Circular, 64 << 10);
    let slot = harness.attach(1);
    let _paused = harness.attach(2);
    let written: u64 = (0..10_000).map(|value| u64::from(harness.instant(slot, value))).sum();
    assert!(written < 10_000);
    harness.recorder.quiesce(PATIENCE);
    harness.recorder.mark_saved(0);
    assert!(harness.instant(slot, 10_000));
    let mut out = Vec::new();
    harness.finish(&mut out);
    assert_eq!(harness.collector.dropped(), 10_000 - written);
    assert_eq!(harness.collector.stats().reported_losses, 10_000 - written);
    assert_eq!(instants(&out, 1).last(), Some(&10_000));
}

/// A writer that can wait does so while there is no next rolling buffer, and loses nothing.
#[test]
fn the_next_rolling_buffer_is_free_again_when_one_is_saved() {
    let mut harness = Harness::new(BufferingMode::Streaming, 64 << 10);
    let slot = harness.attach(1);
    let mut written = 0;
    while harness.recorder.has_next() {
        assert!(harness.instant(slot, written));
        written += 1;
    }
    let mut out = Vec::new();
    harness.save(0, &mut out);
    assert!(harness.recorder.has_next() && harness.instant(slot, written));
    harness.finish(&mut out);
    assert!(!harness.recorder.has_next(), "nothing is recorded");
    assert_eq!(harness.collector.dropped(), 0);
}

#[test]
fn streaming_keeps_all_of_it_in_order() {
    let mut harness = Harness::new(BufferingMode::Streaming, 64 << 10);
    let slot = harness.attach(1);
    let (mut out, mut saved) = (Vec::new(), 0);
    for value in 0..50_000 {
        assert!(harness.instant(slot, value));
        if harness.recorder.current() > Some(saved) {
            harness.save(saved, &mut out);
            saved += 1;
        }
    }
    harness.finish(&mut out);
    assert!(saved > 10);
    assert_eq!(instants(&out, 1), (0..50_000).collect::<Vec<_>>());
    assert_eq!(harness.collector.dropped(), 0);
    assert_eq!(harness.collector.stats().events, 50_000);
}

#[test]
fn flush_hands_over_what_there_is() {
    let mut harness = Harness::new(BufferingMode::Streaming, 64 << 10);
    let slot = harness.attach(1);
    assert!(harness.instant(slot, 1));
    harness.recorder.flush();
    assert_eq!(harness.recorder.current(), Some(1));
    let mut out = Vec::new();
    harness.save(0, &mut out);
    assert_eq!(instants(&out, 1), [1]);
    harness.recorder.flush();
    assert_eq!(harness.recorder.current(), Some(1), "nothing to hand over");
}

#[test]
fn starting_again_in_the_same_buffer_keeps_nothing_of_before() {
    for mode in [BufferingMode::Oneshot, BufferingMode::Circular, BufferingMode::Streaming] {
        let mut harness = Harness::new(mode, 64 << 10);
        let slot = harness.attach(1);
        for round in 0..1000 {
            assert!(harness.instant(slot, round));
            let mut out = Vec::new();
            harness.finish(&mut out);
            assert_eq!(instants(&out, 1), [round]);
            assert!(!harness.instant(slot, round), "stopped");
            harness.collector.restart();
            harness.recorder.start();
        }
    }
}

#[test]
fn overhead_of_chunks_is_at_most_two_percent() {
    let harness = Harness::new(BufferingMode::Oneshot, 16 << 20);
    let slot = harness.attach(1);
    let bytes = (0..).take_while(|value| harness.instant(slot, *value)).count() * 16;
    let overhead = 1.0 - bytes as f64 / harness.layout.rolling_size() as f64;
    assert!(overhead <= 0.02, "{:.2} % of the rolling buffer holds no event", overhead * 100.0);
}

#[test]
fn circular_says_how_many_buffers_are_gone() {
    for (switches, gone) in [(0, 0), (1, 0), (2, 1), (5, 4)] {
        let mut harness = Harness::new(BufferingMode::Circular, 64 << 10);
        let slot = harness.attach(1);
        for wrap in 0..switches {
            assert!(harness.instant(slot, 1));
            harness.recorder.flush();
            harness.recorder.quiesce(PATIENCE);
            harness.recorder.mark_saved(wrap);
        }
        assert!(harness.instant(slot, 2));
        harness.finish(&mut Vec::new());
        assert_eq!(harness.collector.stats().overwritten, gone, "{switches} switches");
    }
}

/// No record begins after it, and the provider does not record meanwhile.
#[test]
fn the_header_has_the_time_of_the_last_stop() {
    let harness = Harness::new(BufferingMode::Oneshot, 64 << 10);
    assert_eq!(harness.collector.stopped_at(), None, "it records");
    let slot = harness.attach(1);
    assert!(harness.instant(slot, 1));
    let before = clock();
    harness.recorder.stop(PATIENCE);
    let stopped = harness.collector.stopped_at().unwrap();
    assert!((before + 1..clock()).contains(&stopped), "{before} {stopped}");
    harness.recorder.stop(PATIENCE);
    assert_eq!(harness.collector.stopped_at(), Some(stopped), "it has stopped already");
    harness.recorder.start();
    assert_eq!(harness.collector.stopped_at(), None);
}
