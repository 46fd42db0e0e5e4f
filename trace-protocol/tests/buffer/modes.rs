//! What each mode keeps when the buffer fills.

use trace_protocol::buffer::header::BufferingMode;

use crate::harness::{instants, Harness, PATIENCE};

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
    assert_eq!(harness.collector.stats().told_losses, 6);
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

#[test]
fn circular_drops_and_tells_while_the_other_buffer_is_taken() {
    let mut harness = Harness::new(BufferingMode::Circular, 64 << 10);
    let slot = harness.attach(1);
    let written: u64 = (0..10_000).map(|value| u64::from(harness.instant(slot, value))).sum();
    assert!(written < 10_000);
    harness.recorder.quiesce(PATIENCE);
    harness.recorder.mark_saved(0);
    assert!(harness.instant(slot, 10_000));
    let mut out = Vec::new();
    harness.finish(&mut out);
    assert_eq!(harness.collector.dropped(), 10_000 - written);
    assert_eq!(harness.collector.stats().told_losses, 10_000 - written);
    assert_eq!(instants(&out, 1).last(), Some(&10_000));
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
