//! Archives that the writer writes.

use trace_format::layout::{InstantScope, ProviderEvent, ThreadState};
use trace_format::{
    encode, Argument, Arguments, EncodeError, Event, EventKind, LegacyContextSwitch, Log, Reader,
    Record, Text, Thread, ThreadKoids, Value, WriteError, Writer,
};

use crate::{event, lines, MAGIC};

#[test]
fn written_records_are_read() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(7, "server").unwrap();
    writer.initialization(1_000_000).unwrap();
    let arguments = [Argument::new("size", Value::Int32(9))];
    writer.record(&event(3, "net", "send", (&arguments).into())).unwrap();
    writer.record(&event(4, "net", "send", Arguments::NONE)).unwrap();
    writer.provider_event(7, ProviderEvent::BUFFER_FULL).unwrap();
    writer.section(8).unwrap();
    writer.section(8).unwrap();
    writer.record(&event(5, "", "send", Arguments::NONE)).unwrap();
    writer.flush().unwrap();
    let archive = writer.into_inner();
    let expected = [
        "112: Some(7) \"server\" 3000 ns 12/34 net send size=Int32(9)",
        "136: Some(7) \"server\" 4000 ns 12/34 net send",
        "208: Some(8) \"\" 5 ns 12/34  send",
    ];
    assert_eq!(lines(Reader::new(&*archive)), expected);
}

#[test]
fn entries_of_full_tables_are_replaced() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let name = |n: u64| format!("name {n}");
    let count = 40_000;
    for n in 0..count {
        let koids = ThreadKoids::new(n, n + 1);
        let (category, name) = (Text::EMPTY, name(n));
        let record = Event {
            ticks: n,
            thread: Thread::Inline(koids),
            category,
            name: (&*name).into(),
            kind: EventKind::DurationEnd,
            arguments: Arguments::NONE,
        };
        writer.record(&record.into()).unwrap();
    }
    let archive = writer.into_inner();
    let mut reader = Reader::new(&*archive);
    let mut next = 0;
    while let Some(item) = reader.next().unwrap() {
        if let Record::Event(event) = item.record {
            assert_eq!(item.text(event.name), name(next));
            assert_eq!(item.thread(event.thread), ThreadKoids::new(next, next + 1));
            assert!(matches!(event.name, Text::Indexed(1..=0x7fff)));
            next += 1;
        }
    }
    assert_eq!(next, count);
}

#[test]
fn foreign_indices_are_refused() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let index_of = |error| match error {
        Err(WriteError::Encode(EncodeError::Index { index })) => index,
        other => panic!("{other:?}"),
    };
    let Record::Event(good) = event(1, "a", "b", Arguments::NONE) else { unreachable!() };
    let bad = Event { name: Text::Indexed(5), ..good };
    assert_eq!(index_of(writer.record(&bad.into())), 5);
    let bad = Event { thread: Thread::Indexed(6), ..good };
    assert_eq!(index_of(writer.record(&bad.into())), 6);
    let arguments = [Argument::new("x", Value::String(Text::Indexed(7)))];
    let bad = Event { arguments: (&arguments).into(), ..good };
    assert_eq!(index_of(writer.record(&bad.into())), 7);
    let string = Record::String { index: 8, value: b"x" };
    assert_eq!(index_of(writer.record(&string)), 8);
    writer.record(&good.into()).unwrap();
    let long = "x".repeat(32_000);
    let arguments = [Argument::new("x", Value::Blob(long.as_bytes())); 2];
    let too_long = Event { arguments: (&arguments).into(), ..good };
    let error = writer.record(&too_long.into());
    assert!(matches!(error, Err(WriteError::Encode(EncodeError::RecordTooLong { .. }))));
    writer.record(&good.into()).unwrap();
    assert_eq!(lines(Reader::new(&*writer.into_inner())).len(), 2);
}

#[test]
fn strings_of_long_records_are_registered() {
    let texts = ["a", "b", "c"].map(|text| text.repeat(32_000));
    let arguments = [Argument::new(&*texts[0], Value::String((&*texts[1]).into()))];
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.record(&event(1, "net", &texts[2], (&arguments).into())).unwrap();
    let archive = writer.into_inner();
    let mut reader = Reader::new(&*archive);
    loop {
        let item = reader.next().unwrap().unwrap();
        let Record::Event(event) = item.record else { continue };
        let argument = event.arguments.iter().next().unwrap();
        let Value::String(value) = argument.value else { panic!("{argument:?}") };
        let found = [argument.name, value, event.name].map(|text| item.text(text).into_owned());
        break assert!(found == texts);
    }
}

/// The first thread of a record has the oldest index of a full table, and the second one is new.
#[test]
fn threads_of_one_record_do_not_replace_each_other() {
    let koids = |thread| ThreadKoids::new(1, thread);
    let switch = |outgoing, incoming| LegacyContextSwitch {
        ticks: 1,
        cpu: 0,
        outgoing_state: ThreadState::BLOCKED,
        outgoing: Thread::Inline(koids(outgoing)),
        incoming: Thread::Inline(koids(incoming)),
        outgoing_priority: 0,
        incoming_priority: 0,
    };
    let pairs: Vec<(u64, u64)> = (0..127)
        .map(|pair| (2 * pair, 2 * pair + 1))
        .chain([(0, 300), (2, 301), (1, 302)])
        .collect();
    let mut writer = Writer::new(Vec::new()).unwrap();
    for (outgoing, incoming) in &pairs {
        writer.record(&switch(*outgoing, *incoming).into()).unwrap();
    }
    let archive = writer.into_inner();
    let (mut reader, mut found) = (Reader::new(&*archive), Vec::new());
    while let Some(item) = reader.next().unwrap() {
        if let Record::LegacyContextSwitch(switch) = item.record {
            found.push((item.thread(switch.outgoing).thread, item.thread(switch.incoming).thread));
        }
    }
    assert_eq!(found, pairs);
}

#[test]
fn empty_strings_are_not_registered() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let thread = Thread::Inline(ThreadKoids::new(12, 34));
    let kind = EventKind::Instant { scope: Some(InstantScope::Global) };
    let (category, name) = (Text::EMPTY, Text::EMPTY);
    let arguments = Arguments::NONE;
    let instant = Event { ticks: 5, thread, category, name, kind, arguments };
    writer.record(&instant.into()).unwrap();
    writer.record(&Log { ticks: 6, thread, message: b"abc" }.into()).unwrap();
    let expected = [
        MAGIC,
        0x0001_0033,
        12,
        34,
        0x0000_0000_0100_0034,
        5,
        2,
        0x0000_0001_0003_0039,
        6,
        0x0063_6261,
    ];
    assert_eq!(writer.into_inner(), encode::to_bytes(&expected));
}
