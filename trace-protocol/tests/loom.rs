//! The protocol of the buffer, model-checked: the code that applications run, on loom's atomics, in
//! every interleaving that the bound allows.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test -p trace-protocol --test loom --release
//! ```
//!
//! `LOOM_MAX_PREEMPTIONS` raises the bound, which is 2 here.
#![cfg(loom)]
#![allow(missing_docs)]

#[path = "loom/functions.rs"]
mod functions;
#[path = "loom/scopes.rs"]
mod scopes;

use std::sync::atomic::Ordering;
use std::time::Duration;

use loom::thread;
use trace_format::layout::{event, event_header, EventType, StringRef};
use trace_protocol::buffer::consumer::{Collector, IdentityPolicy};
use trace_protocol::buffer::header::{BufferingMode, Layout, Parts};
use trace_protocol::buffer::memory::WriteMapping;
use trace_protocol::buffer::producer::{
    LossStrings, OpenScope, Recorder, RecorderSession, Slot, CHUNK_THREAD,
};

/// The model has no clock: this is as long as it takes.
const PATIENCE: Duration = Duration::MAX;

fn model(check: impl Fn() + Sync + Send + 'static) {
    model_with(None, check);
}

/// Tries so many executions at most.
fn model_with(most: Option<usize>, check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(2));
    builder.max_permutations = builder.max_permutations.or(most);
    builder.max_branches = 10_000;
    builder.check(check);
}

struct Buffer {
    recorder: &'static Recorder,
    mapping: WriteMapping,
    layout: Layout,
}

fn layout(mode: BufferingMode, rolling_size: usize) -> Layout {
    layout_of_units(mode, rolling_size, 64)
}

fn layout_of_units(mode: BufferingMode, rolling_size: usize, unit_size: usize) -> Layout {
    let parts = Parts {
        losses_size: Layout::MIN_LOSSES_SIZE,
        durable_size: 64,
        rolling_buffers: if mode == BufferingMode::Oneshot { 1 } else { 2 },
        rolling_size,
        unit_size,
    };
    Layout::new(mode, parts).unwrap()
}

impl Buffer {
    /// Rolling buffers of three units of eight words: each holds the thread record and two
    /// instants.
    fn new(mode: BufferingMode, asymmetric: bool) -> Self {
        Self::with(layout(mode, 256), asymmetric)
    }

    fn with(layout: Layout, asymmetric: bool) -> Self {
        let mapping = WriteMapping::anonymous(layout.total_size());
        let recorder: &'static Recorder = Box::leak(Box::new(Recorder::new()));
        recorder.provide(1, asymmetric);
        recorder.add_slots(Box::leak((0..3).map(|_| Slot::new()).collect()));
        let loss_strings = LossStrings::register(|_| StringRef::EMPTY);
        let session = RecorderSession {
            mapping: mapping.clone(),
            layout,
            process: 1,
            clock: || 1,
            wake: &(),
            loss_strings,
        };
        recorder.begin(Box::new(session)).unwrap();
        recorder.start();
        Self { recorder, mapping, layout }
    }

    fn collector(&self) -> Collector {
        Collector::new(self.mapping.reader(), self.layout, IdentityPolicy::Own(1)).unwrap()
    }

    /// What is in the rolling buffer of this wrap: events with their timestamps.
    fn rolling(&self, wrapped_count: u32) -> Vec<(EventType, u64)> {
        events(&self.words(wrapped_count), 1)
    }

    /// Events with their first arguments, which are one word.
    fn scopes(&self, wrapped_count: u32) -> Vec<(EventType, u64)> {
        events(&self.words(wrapped_count), 2)
    }

    fn words(&self, wrapped_count: u32) -> Vec<u64> {
        let mut collector = self.collector();
        let mut words = Vec::new();
        collector.collect_durable(collector.durable_end(), &mut Vec::new());
        let save = collector.copy_rolling(wrapped_count);
        collector.sanitize(save, &mut words);
        assert_eq!(collector.stats().rejections(), 0, "{words:x?}");
        words
    }
}

fn header(event_type: EventType, words: usize) -> u64 {
    event_header(event_type, words, 0, CHUNK_THREAD, StringRef::EMPTY, StringRef::EMPTY)
}

fn instant(recorder: &Recorder, slot: &Slot, value: u64) -> bool {
    let Some(open) = slot.open(recorder, 2) else { return false };
    open.words()[1].store(value, Ordering::Relaxed);
    open.commit(header(EventType::Instant, 2));
    true
}

fn begin(recorder: &Recorder, slot: &Slot) -> OpenScope {
    let open = slot.open(recorder, 3).expect("there is room for one scope");
    open.words()[1].store(10, Ordering::Relaxed);
    OpenScope::begin(open, header(EventType::DurationBegin, 3), 10)
}

/// The events, each with its word of this index.
fn events(words: &[u64], index: usize) -> Vec<(EventType, u64)> {
    let mut rest = words;
    let mut events = Vec::new();
    while let Some(&first) = rest.first() {
        if first & 0xf == 4 {
            events.push((EventType::from_bits(event::EventType::get(first)).unwrap(), rest[index]));
        }
        rest = &rest[(first >> 4 & 0xfff) as usize..];
    }
    events
}

/// The model moves the one thread that uses a scope; the type does not allow it otherwise.
struct Scope(OpenScope);

// SAFETY: the scope is begun before the thread that ends it is started, and is used by that thread
// alone.
unsafe impl Send for Scope {}

/// A rolling buffer that was handed over does not change any more, and holds whole records only.
#[test]
fn handed_over_means_left_alone() {
    for asymmetric in [true, false] {
        model(move || {
            let buffer = Buffer::new(BufferingMode::Streaming, asymmetric);
            let recorder = buffer.recorder;
            let writer = thread::spawn(move || {
                let slot = recorder.attach(1).unwrap();
                u64::from(instant(recorder, slot, 1)) + u64::from(instant(recorder, slot, 2))
            });
            recorder.flush();
            recorder.quiesce(PATIENCE);
            let handed_over = recorder.current() == Some(1);
            let saved = if handed_over { buffer.rolling(0) } else { Vec::new() };
            let written = writer.join().unwrap();
            assert_eq!(written, 2, "there is room in the other rolling buffer");
            if handed_over {
                assert_eq!(buffer.rolling(0), saved);
            }
            let all = [buffer.rolling(0), buffer.rolling(1)].concat();
            assert_eq!(all, [(EventType::Instant, 1), (EventType::Instant, 2)]);
        });
    }
}

/// After a stop nothing is written, and what was written is whole.
#[test]
fn stopped_means_stopped() {
    for asymmetric in [true, false] {
        model(move || {
            let buffer = Buffer::new(BufferingMode::Oneshot, asymmetric);
            let recorder = buffer.recorder;
            let writer = thread::spawn(move || {
                let slot = recorder.attach(1).unwrap();
                instant(recorder, slot, 1)
            });
            recorder.stop(PATIENCE);
            let stopped = buffer.rolling(0);
            // From here on the session's description is freed memory, which the writer must not
            // look at.
            drop(recorder.end());
            let written = writer.join().unwrap();
            assert_eq!(buffer.rolling(0), stopped);
            assert_eq!(stopped.len(), usize::from(written), "committed is collected");
        });
    }
}

/// A stop and a switch at the same time: the next start goes on behind both.
#[test]
fn a_stop_during_a_switch_loses_no_epoch() {
    model(|| {
        let buffer = Buffer::new(BufferingMode::Circular, true);
        let recorder = buffer.recorder;
        let slot = recorder.attach(1).unwrap();
        for value in 0..6 {
            assert!(instant(recorder, slot, value), "three chunks of two instants");
        }
        let writer = thread::spawn(move || instant(recorder, slot, 6));
        let last = recorder.stop(PATIENCE).unwrap();
        let written = writer.join().unwrap();
        assert!(last == 1 || !written, "what was written is in an epoch that the stop knows of");
        assert_eq!(recorder.start(), Some(last + 1));
    });
}

/// Two threads that reserve at the same time get chunks of their own.
#[test]
fn chunks_are_disjoint() {
    model(|| {
        let buffer = Buffer::new(BufferingMode::Oneshot, true);
        let recorder = buffer.recorder;
        let write = move |thread, value| {
            let slot = recorder.attach(thread).unwrap();
            assert!(instant(recorder, slot, value));
        };
        let other = thread::spawn(move || write(1, 1));
        write(2, 2);
        other.join().unwrap();
        recorder.stop(PATIENCE);
        let mut found = buffer.rolling(0);
        found.sort_by_key(|(_, value)| *value);
        assert_eq!(found, [(EventType::Instant, 1), (EventType::Instant, 2)]);
    });
}

/// Two threads that find a rolling buffer full switch once, and nothing is lost while the other one
/// is free.
#[test]
fn a_full_buffer_is_switched_once() {
    model(|| {
        let buffer = Buffer::new(BufferingMode::Circular, true);
        let recorder = buffer.recorder;
        let slot = recorder.attach(1).unwrap();
        for value in 0..6 {
            assert!(instant(recorder, slot, value), "three chunks of two instants");
        }
        let other = thread::spawn(move || {
            let slot = recorder.attach(2).unwrap();
            assert!(instant(recorder, slot, 10));
        });
        assert!(instant(recorder, slot, 11));
        other.join().unwrap();
        assert_eq!(recorder.current(), Some(1));
        let mut found = buffer.rolling(1);
        found.sort_by_key(|(_, value)| *value);
        assert_eq!(found, [(EventType::Instant, 10), (EventType::Instant, 11)]);
        assert_eq!(buffer.rolling(0).len(), 6);
    });
}

/// Without the service thread, a rolling buffer is overwritten only when no other thread can write
/// to it any more.
#[test]
fn what_a_thread_may_write_to_is_not_overwritten() {
    for asymmetric in [true, false] {
        model(move || {
            // Rolling buffers of one unit, which holds two instants.
            let buffer = Buffer::with(layout(BufferingMode::Circular, 128), asymmetric);
            let recorder = buffer.recorder;
            let [slot, other] = [1, 2].map(|thread| recorder.attach(thread).unwrap());
            let writer = thread::spawn(move || instant(recorder, other, 100));
            let written: Vec<u64> =
                (0..5).filter(|value| instant(recorder, slot, *value)).collect();
            let other_written = writer.join().unwrap();
            let last = recorder.current().unwrap();
            are_whole(&buffer, last, &written, other_written);
        });
    }
}

/// The same for a scope that ends with another slot than it began with, as where its thread ends.
#[test]
fn a_scope_ends_with_another_slot_or_not_at_all() {
    for asymmetric in [true, false] {
        model(move || {
            let buffer = Buffer::with(layout(BufferingMode::Circular, 128), asymmetric);
            let recorder = buffer.recorder;
            let first = recorder.attach(1).unwrap();
            let at = Scope(begin(recorder, first));
            recorder.detach(first);
            let slot = recorder.attach(2).unwrap();
            let ends = thread::spawn(move || {
                let (scope, second) = (at, recorder.attach(1).unwrap());
                scope.0.end(second, recorder, || 20, |_| {});
            });
            let written: Vec<u64> =
                (0..4).filter(|value| instant(recorder, slot, *value)).collect();
            ends.join().unwrap();
            let last = recorder.current().unwrap();
            are_whole(&buffer, last, &written, false);
        });
    }
}

/// Checks that both rolling buffers are well-formed and hold the last of the values that one thread
/// has `written`.
fn are_whole(buffer: &Buffer, last: u32, written: &[u64], other_written: bool) {
    let wraps = last.saturating_sub(1)..=last;
    let found: Vec<_> = wraps.flat_map(|wrapped_count| buffer.rolling(wrapped_count)).collect();
    let instants = found.iter().filter(|(kind, _)| *kind == EventType::Instant);
    let (others, own): (Vec<u64>, Vec<u64>) =
        instants.map(|(_, value)| *value).partition(|value| *value == 100);
    assert!(written.ends_with(&own), "{found:?} of {written:?}");
    assert!(!own.is_empty() || written.len() < 3, "{found:?} of {written:?}");
    assert!(others.len() <= usize::from(other_written), "{found:?}");
}

/// A slot that is given back while another thread wants one is held by one thread at a time.
#[test]
fn a_slot_has_one_holder() {
    model(|| {
        let buffer = Buffer::new(BufferingMode::Oneshot, true);
        let recorder = buffer.recorder;
        let first = recorder.attach(1).unwrap();
        let other = thread::spawn(move || {
            let slot = recorder.attach(2).unwrap();
            assert!(instant(recorder, slot, 2));
            recorder.detach(slot);
        });
        assert!(instant(recorder, first, 1));
        recorder.detach(first);
        other.join().unwrap();
        recorder.stop(PATIENCE);
        assert_eq!(buffer.rolling(0).len(), 2);
    });
}

/// Slots that are added while threads take some: none is handed out twice, and one that is handed
/// out is known to the service thread.
#[test]
fn slots_are_added_while_threads_take_them() {
    model(|| {
        let recorder: &'static Recorder = Box::leak(Box::new(Recorder::new()));
        recorder.provide(1, true);
        let slots = |count| Box::leak((0..count).map(|_| Slot::new()).collect::<Box<[Slot]>>());
        recorder.add_slots(slots(1));
        let taken = [1, 2].map(|id| thread::spawn(move || Taken(recorder.attach(id))));
        recorder.add_slots(slots(1));
        let taken = taken.map(|thread| thread.join().unwrap().0);
        let last = recorder.attach(3);
        let held: Vec<&Slot> = taken.into_iter().chain([last]).flatten().collect();
        assert_eq!(held.len(), 2, "two of the three threads, whichever came first");
        assert!(!std::ptr::eq(held[0], held[1]));
        let known: Vec<u32> = recorder.slots().map(Slot::thread).collect();
        assert!(known.len() == 2 && !known.contains(&0), "{known:?}");
    });
}

struct Taken(Option<&'static Slot>);

/// A copy of a buffer whose older half is being overwritten holds whole records of one stretch:
/// nothing of what overwrites is taken for what was there.
#[test]
fn a_copy_takes_nothing_for_older_than_it_is() {
    // Three threads, and a reader that loads each word by itself: all executions would take hours.
    // A count that is published after the switch, or without the fence, is found among these.
    model_with(Some(150_000), || {
        // Rolling buffers of one unit.
        let layout = layout(BufferingMode::Circular, 128);
        let buffer = Buffer::with(layout, true);
        let recorder = buffer.recorder;
        let slot = recorder.attach(1).unwrap();
        for value in 0..4 {
            assert!(instant(recorder, slot, value), "both rolling buffers");
        }
        recorder.quiesce(PATIENCE);
        recorder.mark_saved(0);
        // One of them switches and one of them writes, perhaps the same. A third one is in the way
        // of a second switch.
        let _paused = recorder.attach(3).unwrap();
        let other = recorder.attach(2).unwrap();
        let writers = [slot, other].map(|slot| thread::spawn(move || instant(recorder, slot, 4)));
        let mut collector = buffer.collector();
        let (copy, mut words) = (collector.copy_live(), Vec::new());
        collector.finish_copy(copy, &mut words);
        assert!(writers.map(|writer| writer.join().unwrap()).contains(&true));
        assert_eq!(collector.stats().rejections(), 0, "{words:x?}");
        let found: Vec<u64> = events(&words, 1).into_iter().map(|(_, value)| value).collect();
        assert!(found.windows(2).all(|pair| pair[1] == pair[0] + 1), "{found:?}");
        assert!(found.contains(&3), "{found:?}");
    });
}
