//! Logs that are written and then read.

mod common;

use std::time::Duration;

use common::{items, OwnedItem};
use proptest::collection::vec;
use proptest::prelude::*;
use trace_xray::layout::{Action, ByteOrder, Version, FILLER};
use trace_xray::write::{Anchor, Log, Stamp, WriteError};
use trace_xray::{Format, FunctionId, Header, Record};

/// An event of a thread.
#[derive(Debug, Clone, PartialEq)]
enum Event {
    Function(Action, u32),
    Entry(u32, Vec<u64>),
    Custom(Vec<u8>),
    Typed(u16, Vec<u8>),
}

/// An event with its thread, time and CPU.
#[derive(Debug, Clone, PartialEq)]
struct Happened {
    thread: i32,
    tsc: u64,
    cpu: u16,
    event: Event,
}

fn header(format: Format, buffer_size: u64) -> Header {
    Header {
        format,
        constant_tsc: true,
        nonstop_tsc: true,
        cycle_frequency: 2_000_000_000,
        buffer_size,
        map_id: 0,
    }
}

fn written(header: Header, events: &[Happened]) -> Vec<u8> {
    let anchor = Anchor { tsc: 1 << 40, time: Duration::from_secs(1000) };
    let mut log = Log::new(Vec::new(), header, anchor).unwrap();
    let mut threads: Vec<_> = (0..3).map(|thread| log.thread(7, thread)).collect();
    for happened in events {
        let thread = &mut threads[happened.thread as usize];
        let at = Stamp { tsc: happened.tsc, cpu: happened.cpu };
        let id = |number: &u32| FunctionId::new(*number).unwrap();
        match &happened.event {
            Event::Function(action, number) => log.function(thread, at, *action, id(number)),
            Event::Entry(number, values) => {
                log.entry_with_arguments(thread, at, id(number), values)
            }
            Event::Custom(payload) => log.custom_event(thread, at, payload),
            Event::Typed(event_type, payload) => log.typed_event(thread, at, *event_type, payload),
        }
        .unwrap();
    }
    threads.iter_mut().for_each(|thread| log.write(thread).unwrap());
    log.into_inner()
}

/// Returns the events of a log's records, without fillers.
fn happened(items: &[OwnedItem], version: Version) -> Vec<Happened> {
    let mut all: Vec<Happened> = Vec::new();
    for item in items {
        let event = match item.record {
            Record::Function(record) if record.action == Action::EntryArgs => {
                Event::Entry(record.function.number(), Vec::new())
            }
            Record::Function(record) => Event::Function(record.action, record.function.number()),
            Record::CallArgument { value } => {
                let Some(Happened { event: Event::Entry(_, values), .. }) = all.last_mut() else {
                    panic!("an argument without an entry");
                };
                values.push(value);
                continue;
            }
            Record::CustomEvent(event) if version == Version::V1 && event.is_filler() => continue,
            Record::CustomEvent(event) => Event::Custom(event.payload.to_vec()),
            Record::TypedEvent(event) => Event::Typed(event.event_type, event.payload.to_vec()),
            _ => continue,
        };
        all.push(Happened { thread: item.thread, tsc: item.tsc, cpu: item.cpu, event });
    }
    all
}

fn event(version: Version) -> BoxedStrategy<Event> {
    let action = prop_oneof![Just(Action::Entry), Just(Action::Exit), Just(Action::TailExit)];
    let id = prop_oneof![1..5u32, Just((1 << 28) - 1)];
    let payload = vec(any::<u8>(), 1..60);
    let typed = (any::<u16>(), payload.clone()).prop_map(|(kind, data)| Event::Typed(kind, data));
    let typed =
        if version == Version::V5 { typed.boxed() } else { Just(Event::Custom(vec![1])).boxed() };
    prop_oneof![
        4 => (action, id.clone()).prop_map(|(action, id)| Event::Function(action, id)),
        1 => (id, vec(any::<u64>(), 1..4)).prop_map(|(id, values)| Event::Entry(id, values)),
        1 => payload.prop_map(Event::Custom),
        1 => typed,
    ]
    .boxed()
}

fn events(version: Version) -> impl Strategy<Value = Vec<Happened>> {
    let step = prop_oneof![8 => 0..1000u64, 1 => 0..1u64 << 33, 1 => any::<u64>()];
    let one = (0..3i32, step, prop_oneof![9 => Just(0u16), 1 => any::<u16>()], event(version));
    vec(one, 0..200).prop_map(|steps| {
        let mut tsc = 1u64 << 40;
        let mut next = |(thread, step, cpu, event)| {
            tsc = tsc.wrapping_add(step);
            Happened { thread, tsc, cpu, event }
        };
        steps.into_iter().map(&mut next).collect()
    })
}

fn formats() -> impl Strategy<Value = Format> {
    let order = prop_oneof![Just(ByteOrder::Little), Just(ByteOrder::Big)];
    (0..5usize, order).prop_map(|(at, order)| Format { version: Version::ALL[at], order })
}

proptest! {
    #[test]
    fn written_logs_are_read(
        (format, events) in formats().prop_flat_map(|format| (Just(format), events(format.version))),
        size in 256..2000u64,
        piece in 1..4000usize,
    ) {
        let log = written(header(format, size), &events);
        let (items, errors) = items(&log, piece);
        prop_assert_eq!(errors, Vec::<String>::new());
        let found = happened(&items, format.version);
        for thread in 0..3 {
            let mut expected: Vec<_> = events.iter().filter(|one| one.thread == thread).cloned().collect();
            // The CPU of a custom event is not in logs of version 1 to 3, but before it.
            let of_thread = found.iter().filter(|one| one.thread == thread);
            expected.iter_mut().for_each(|one| one.thread = thread);
            prop_assert_eq!(of_thread.cloned().collect::<Vec<_>>(), expected);
        }
    }

    /// In version 1 all thread buffers have the same size, and their last record ends them.
    #[test]
    fn thread_buffers_of_version_1_are_full(
        events in events(Version::V1),
        size in 256..700u64,
    ) {
        let format = Format::little(Version::V1);
        let log = written(header(format, size), &events);
        let (items, _) = items(&log, 4000);
        let ends = items.iter().filter(|item| item.record == Record::EndOfBuffer);
        for (number, end) in ends.enumerate() {
            prop_assert_eq!(end.offset, 32 + size * (number as u64 + 1) - 16);
        }
        prop_assert_eq!((log.len() as u64 - 32) % size, 0);
        prop_assert!(log.len() > 32 || events.is_empty());
    }
}

fn one(event: Event) -> Happened {
    Happened { thread: 0, tsc: 1 << 40, cpu: 0, event }
}

#[test]
fn the_wall_clock_follows_the_ticks() {
    let header = header(Format::little(Version::V5), 256);
    let second = 2_000_000_000;
    let entry = |tsc| Happened { tsc, ..one(Event::Function(Action::Entry, 1)) };
    for (tsc, expected) in [
        ((1 << 40) + second * 5 + 3000, (1005, 1)),
        ((1 << 40) - second / 2, (999, 500_000)),
        (0, (450, 244_186)),
    ] {
        let log = written(header, &[entry(tsc)]);
        let wall_clock = items(&log, 100).0[4].wall_clock.unwrap();
        assert_eq!((wall_clock.seconds, wall_clock.micros), expected);
    }
}

#[test]
fn a_function_record_takes_8_bytes() {
    let header = header(Format::little(Version::V5), 16 << 10);
    let log = written(header, &vec![one(Event::Function(Action::Entry, 1)); 1000]);
    assert_eq!(log.len(), 32 + 5 * 16 + 1000 * 8);
}

#[test]
fn fillers_are_invisible_if_possible() {
    let header = header(Format::little(Version::V1), 256);
    let customs = |count| {
        let log = written(header, &vec![one(Event::Function(Action::Entry, 1)); count]);
        let (items, _) = items(&log, 100);
        items.iter().filter(|item| matches!(item.record, Record::CustomEvent(_))).count()
    };
    assert_eq!(customs(2), 0);
    assert_eq!(customs(24), 0, "the buffer is full");
    assert_eq!(customs(3), 1);
    let log = written(header, &[one(Event::Function(Action::Entry, 1))]);
    let (items, _) = items(&log, 100);
    let filler = items.iter().find_map(|item| match item.record {
        Record::CustomEvent(event) => Some(event.payload),
        _ => None,
    });
    assert_eq!(filler, Some(&FILLER[..]));
}

#[test]
fn invalid_records_are_refused() {
    let small = header(Format::little(Version::V5), 255);
    let anchor = Anchor { tsc: 0, time: Duration::ZERO };
    let error = Log::new(Vec::new(), small, anchor).unwrap_err();
    assert!(matches!(error, WriteError::BufferSize { size: 255 }));
    for version in Version::ALL {
        let header = header(Format::little(version), 256);
        let mut log = Log::new(Vec::new(), header, anchor).unwrap();
        let mut thread = log.thread(1, 1);
        let at = Stamp { tsc: 1, cpu: 0 };
        let function = FunctionId::new(1).unwrap();
        let none = FunctionId::from_bits(0);
        let error = log.function(&mut thread, at, Action::Entry, none).unwrap_err();
        assert!(matches!(error, WriteError::Encode(_)), "{error:?}");
        let error = log.entry_with_arguments(&mut thread, at, none, &[1]).unwrap_err();
        assert!(matches!(error, WriteError::Encode(_)), "{error:?}");
        let error = log.custom_event(&mut thread, at, b"").unwrap_err();
        assert!(matches!(error, WriteError::Encode(_)), "{error:?}");
        let error = log.custom_event(&mut thread, at, &[1; 300]).unwrap_err();
        assert!(matches!(error, WriteError::TooLarge { size: 316 }), "{error:?}");
        let error = log.entry_with_arguments(&mut thread, at, function, &[0; 15]).unwrap_err();
        assert!(matches!(error, WriteError::TooLarge { size: 248 }), "{error:?}");
        if version < Version::V5 {
            let error = log.typed_event(&mut thread, at, 1, b"abc").unwrap_err();
            assert!(matches!(error, WriteError::Encode(_)), "{error:?}");
        }
        assert!(thread.is_empty(), "nothing was written");
        log.write(&mut thread).unwrap();
        assert_eq!(log.into_inner().len(), 32);
    }
    assert_eq!([0, 1 << 28].map(FunctionId::new), [None; 2]);
}
