//! Scopes that end while recording stops, or their rolling buffer is handed over.

use std::sync::atomic::Ordering;

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
