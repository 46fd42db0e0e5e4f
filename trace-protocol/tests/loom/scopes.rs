//! Scopes that end while recording stops, or their rolling buffer is handed over.

use std::sync::atomic::Ordering;
use std::time::Duration;

use loom::thread;
use trace_format::layout::{event, EventType};
use trace_protocol::buffer::header::BufferingMode;
use trace_protocol::buffer::producer::{OpenScope, Recorder, Slot};

use super::{begin, header, model, Buffer, Scope, PATIENCE};

/// Arguments of one word: unsigned 32, the key is the empty string, the values 1 and 2.
const BEGUN: u64 = 0x0000_0001_0000_0012;
const ENDED: u64 = 0x0000_0002_0000_0012;

fn begin_with_argument(recorder: &Recorder, slot: &Slot) -> OpenScope {
    let open = slot.open(recorder, 4).expect("there is room for one scope");
    open.words()[1].store(10, Ordering::Relaxed);
    open.words()[2].store(BEGUN, Ordering::Relaxed);
    let header = event::ArgumentCount::set(header(EventType::DurationBegin, 4), 1);
    OpenScope::begin(open, header, 10)
}

/// A scope that ends while its rolling buffer is handed over is shown once: turned there, or ended
/// in the next.
#[test]
fn a_scope_ends_once() {
    for asymmetric in [true, false] {
        model(move || {
            let buffer = Buffer::new(BufferingMode::Streaming, asymmetric);
            let recorder = buffer.recorder;
            let slot = recorder.attach(1).unwrap();
            let scope = begin(recorder, slot);
            let at = Scope(scope);
            let writer = thread::spawn(move || {
                let scope = at;
                scope.0.end(slot, recorder, || 20, |_| {});
            });
            recorder.flush();
            recorder.quiesce(PATIENCE);
            let saved = buffer.rolling(0);
            writer.join().unwrap();
            assert_eq!(buffer.rolling(0), saved, "handed over");
            match saved[..] {
                [(EventType::DurationBegin, 10)] => {
                    assert_eq!(buffer.rolling(1), [(EventType::DurationEnd, 20)])
                }
                [(EventType::DurationComplete, 10)] => assert_eq!(buffer.rolling(1), []),
                ref other => panic!("{other:?}"),
            }
        });
    }
}

/// A scope that ends with another argument has that one when it is seen ended, and the first one
/// when it is seen open.
#[test]
fn the_argument_of_a_scope_goes_with_its_end() {
    for asymmetric in [true, false] {
        model(move || {
            let buffer = Buffer::new(BufferingMode::Streaming, asymmetric);
            let recorder = buffer.recorder;
            let slot = recorder.attach(1).unwrap();
            let at = Scope(begin_with_argument(recorder, slot));
            let writer = thread::spawn(move || {
                let scope = at;
                scope.0.end_with(ENDED, slot, recorder, || 20);
            });
            recorder.flush();
            recorder.quiesce(PATIENCE);
            let saved = buffer.scopes(0);
            writer.join().unwrap();
            assert_eq!(buffer.scopes(0), saved, "handed over");
            match saved[..] {
                [(EventType::DurationBegin, BEGUN)] => {
                    assert_eq!(buffer.scopes(1), [(EventType::DurationEnd, ENDED)])
                }
                [(EventType::DurationComplete, ENDED)] => assert_eq!(buffer.scopes(1), []),
                ref other => panic!("{other:x?}"),
            }
        });
    }
}

/// A scope that ends while recording stops is turned before the stop returns, or not at all.
#[test]
fn a_scope_ends_before_the_stop_or_never() {
    ends_before_the_stop_or_never(
        |asymmetric| Buffer::new(BufferingMode::Circular, asymmetric),
        begin,
    );
}

pub(super) fn ends_before_the_stop_or_never(
    buffer: fn(bool) -> Buffer,
    begin: fn(&Recorder, &Slot) -> OpenScope,
) {
    for asymmetric in [true, false] {
        model(move || {
            let buffer = buffer(asymmetric);
            let recorder = buffer.recorder;
            let slot = recorder.attach(1).unwrap();
            let at = Scope(begin(recorder, slot));
            let writer = thread::spawn(move || {
                let scope = at;
                scope.0.end(slot, recorder, || 20, |_| {});
            });
            recorder.stop(PATIENCE);
            let stopped = buffer.rolling(0);
            drop(recorder.end());
            writer.join().unwrap();
            assert_eq!(buffer.rolling(0), stopped);
            assert_eq!(stopped.len(), 1);
        });
    }
}

/// A scope whose rolling buffer is handed over ends with a record of its own, while its recording
/// ends and the next one begins: the next one, which may have other strings, has none of it.
#[test]
fn an_end_is_not_in_the_next_recording() {
    for mode in [BufferingMode::Streaming, BufferingMode::Circular] {
        model(move || {
            let buffer = Buffer::new(mode, true);
            let recorder = buffer.recorder;
            let slot = recorder.attach(1).unwrap();
            let at = Scope(begin(recorder, slot));
            recorder.flush();
            recorder.quiesce(PATIENCE);
            let writer = thread::spawn(move || {
                let scope = at;
                scope.0.end(slot, recorder, || 20, |_| {});
            });
            recorder.stop(PATIENCE).unwrap();
            let next = recorder.start().unwrap();
            writer.join().unwrap();
            assert_eq!(buffer.rolling(next), []);
        });
    }
}

/// A circular recording begins to stream while a scope begins and ends, and its rolling buffer is
/// left: the scope is in what is saved once, whichever records it has.
#[test]
fn a_scope_that_begins_meanwhile_ends_once() {
    for asymmetric in [true, false] {
        model(move || {
            let buffer = Buffer::new(BufferingMode::Circular, asymmetric);
            let recorder = buffer.recorder;
            let slot = recorder.attach(1).unwrap();
            let writer = thread::spawn(move || {
                let scope = begin(recorder, slot);
                // Five instants fill the rolling buffer, so that some scopes end in the next one.
                for value in 0..5 {
                    super::instant(recorder, slot, value);
                }
                scope.end(slot, recorder, || 20, |_| {});
            });
            // At first without patience: a thread in a trace point leaves the recording as it was.
            let tried = recorder.stream(Duration::ZERO);
            let streamed = tried.or_else(|| recorder.stream(PATIENCE)).unwrap();
            assert_eq!(streamed.first, 0, "both rolling buffers are kept");
            writer.join().unwrap();
            recorder.stop(PATIENCE);
            let mut collector = buffer.collector();
            collector.stream_from(streamed.first);
            let mut words = Vec::new();
            collector.finish(&mut words);
            assert_eq!(collector.stats().rejections(), 0, "{words:x?}");
            let kinds = super::events(&words, 1).into_iter().map(|(kind, _)| kind);
            let kinds: Vec<_> = kinds.filter(|kind| *kind != EventType::Instant).collect();
            match kinds[..] {
                [EventType::DurationComplete] => {}
                [EventType::DurationBegin, EventType::DurationEnd] => {}
                ref other => panic!("{other:?}"),
            }
        });
    }
}

/// A thread switches while the change begins: the change knows of the switch, and no rolling buffer
/// that is to be saved is written to.
#[test]
fn a_switch_during_the_change_is_before_it() {
    for asymmetric in [true, false] {
        model(move || {
            let buffer = Buffer::with(super::layout(BufferingMode::Circular, 128), asymmetric);
            let recorder = buffer.recorder;
            let slot = recorder.attach(1).unwrap();
            let writer = thread::spawn(move || {
                (0..5).filter(|value| super::instant(recorder, slot, *value)).collect::<Vec<u64>>()
            });
            let streamed = recorder.stream(PATIENCE).unwrap();
            recorder.quiesce(PATIENCE);
            let wraps = streamed.first..streamed.current;
            let full: Vec<_> = wraps.clone().map(|wrap| buffer.rolling(wrap)).collect();
            let written = writer.join().unwrap();
            let after: Vec<_> = wraps.map(|wrap| buffer.rolling(wrap)).collect();
            assert_eq!(after, full, "{streamed:?}");
            assert!(recorder.current().unwrap() < streamed.first + 2, "nothing is saved");
            recorder.stop(PATIENCE);
            let (mut collector, mut words) = (buffer.collector(), Vec::new());
            collector.stream_from(streamed.first);
            collector.finish(&mut words);
            let kept: Vec<u64> = super::events(&words, 1).into_iter().map(|it| it.1).collect();
            let first = written.iter().position(|value| kept.first() == Some(value));
            let first = first.unwrap_or(written.len());
            assert_eq!(kept, written[first..], "a suffix of what was written");
        });
    }
}
