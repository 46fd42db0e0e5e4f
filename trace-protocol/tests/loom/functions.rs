//! Scopes with function records.

use loom::thread;
use trace_format::layout::{EventType, StringRef};
use trace_protocol::buffer::function::FunctionWord;
use trace_protocol::buffer::header::{BufferingMode, Layout};
use trace_protocol::buffer::producer::{DurableWriter, OpenScope, Recorder, Slot};

use super::scopes::ends_before_the_stop_or_never;
use super::{layout, layout_of_units, model, Buffer, Scope, PATIENCE};

/// Rolling buffers of three units. Each holds a thread record, a base and a call.
fn buffer(mode: BufferingMode, asymmetric: bool) -> Buffer {
    buffer_of(layout(mode, 256), asymmetric)
}

fn buffer_of(layout: Layout, asymmetric: bool) -> Buffer {
    let buffer = Buffer::with(layout.with_function_records(true), asymmetric);
    let mut durable = DurableWriter::new(buffer.mapping.clone(), buffer.layout);
    durable.append(&[0x1_0001_0022, u64::from(b'f')]).unwrap();
    buffer
}

/// Begins a call, as the runtime does.
fn enter(recorder: &Recorder, slot: &Slot) -> OpenScope {
    let name = StringRef::indexed(1);
    let function = FunctionWord::new(name, name).unwrap();
    let direct = slot.open_direct(recorder, 3);
    if let Some(scope) = direct.and_then(|open| OpenScope::enter_direct(open, function, || 10)) {
        return scope;
    }
    let open = slot.open(recorder, 3).expect("there is room for one scope");
    OpenScope::enter(open, function, || 10)
}

/// A call that begins and ends while its rolling buffer is handed over is in it, or in the next
/// one, or begins in one and ends in the other.
#[test]
fn a_call_during_a_hand_over_is_whole() {
    for asymmetric in [true, false] {
        model(move || {
            // Units of two calls, so that the second one takes the direct path.
            let layout = layout_of_units(BufferingMode::Streaming, 512, 128);
            let buffer = buffer_of(layout, asymmetric);
            let recorder = buffer.recorder;
            let slot = recorder.attach(1).unwrap();
            let first = enter(recorder, slot);
            first.end(slot, recorder, || 20, |_| {});
            let writer = thread::spawn(move || {
                enter(recorder, slot).end(slot, recorder, || 20, |_| {});
            });
            recorder.flush();
            recorder.quiesce(PATIENCE);
            let saved = buffer.rolling(0);
            writer.join().unwrap();
            assert_eq!(buffer.rolling(0), saved, "handed over");
            let (complete, next) = ((EventType::DurationComplete, 10), buffer.rolling(1));
            match (&saved[..], &next[..]) {
                ([one, two], []) => assert_eq!([one, two], [&complete; 2]),
                ([one, (EventType::DurationBegin, 10)], [(EventType::DurationEnd, 20)])
                | ([one], [(EventType::DurationComplete, 10)]) => assert_eq!(*one, complete),
                other => panic!("{other:?}"),
            }
        });
    }
}

/// A call that ends while its rolling buffer is handed over is shown once.
#[test]
fn a_call_ends_once() {
    for (mode, asymmetric) in [BufferingMode::Streaming, BufferingMode::Circular]
        .map(|mode| [(mode, true), (mode, false)])
        .concat()
    {
        model(move || {
            let buffer = buffer(mode, asymmetric);
            let recorder = buffer.recorder;
            let slot = recorder.attach(1).unwrap();
            let at = Scope(enter(recorder, slot));
            let writer = thread::spawn(move || {
                let scope = at;
                scope.0.end(slot, recorder, || 20, |_| {});
            });
            recorder.flush();
            recorder.quiesce(PATIENCE);
            let saved = buffer.rolling(0);
            writer.join().unwrap();
            assert_eq!(buffer.rolling(0), saved, "handed over");
            match (&saved[..], mode) {
                ([(EventType::DurationBegin, 10)], BufferingMode::Streaming) => {
                    assert_eq!(buffer.rolling(1), [(EventType::DurationEnd, 20)])
                }
                // With its start: the begin may be overwritten.
                ([(EventType::DurationBegin, 10)], _) => {
                    assert_eq!(buffer.rolling(1), [(EventType::DurationComplete, 10)])
                }
                ([(EventType::DurationComplete, 10)], _) => assert_eq!(buffer.rolling(1), []),
                (other, _) => panic!("{other:?}"),
            }
        });
    }
}

/// At each moment, a copy has the call, with its end or not.
#[test]
fn a_copy_has_a_call_open_or_ended() {
    model(|| {
        let buffer = buffer(BufferingMode::Oneshot, true);
        let recorder = buffer.recorder;
        let slot = recorder.attach(1).unwrap();
        let at = Scope(enter(recorder, slot));
        let writer = thread::spawn(move || {
            let scope = at;
            scope.0.end(slot, recorder, || 20, |_| {});
            // Where a reader must not find what was there before.
            enter(recorder, slot);
        });
        match buffer.rolling(0)[..] {
            [(EventType::DurationBegin, 10)] | [(EventType::DurationComplete, 10)] => {}
            [(EventType::DurationComplete, 10), (EventType::DurationBegin, 10)] => {}
            ref other => panic!("{other:?}"),
        }
        writer.join().unwrap();
        assert_eq!(buffer.rolling(0).len(), 2);
    });
}

/// After a stop, no end is stored.
#[test]
fn a_call_ends_before_the_stop_or_never() {
    ends_before_the_stop_or_never(|asymmetric| buffer(BufferingMode::Circular, asymmetric), enter);
}
