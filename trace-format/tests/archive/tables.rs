//! Strings and threads that the writer registers.

use trace_format::decode::Records;
use trace_format::layout::{BlobType, InstantScope, ThreadState};
use trace_format::{
    encode, Argument, Arguments, Backtrace, Blob, Event, EventKind, LargeBlob, LargeBlobEvent,
    LegacyContextSwitch, Log, Reader, Record, Text, Thread, ThreadKoids, Value, Writer,
};

use crate::{event, lines, MAGIC};

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

/// Writes a record as the first one of an archive, and returns it as it is stored.
fn stored<'a>(record: impl Into<Record<'a>>) -> Record<'static> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.record(&record.into()).unwrap();
    Records::new(writer.into_inner().leak()).last().unwrap().unwrap()
}

#[test]
fn strings_and_threads_of_each_record_are_registered() {
    let thread = Thread::Inline(ThreadKoids::new(1, 2));
    let (ticks, payload, category, name) = (1, &b"x"[..], "category".into(), "name".into());
    let blob_type = BlobType::DATA;
    let blob = Blob { name, blob_type, payload };
    assert_eq!(stored(blob), Blob { name: Text::Indexed(1), ..blob }.into());
    let log = Log { ticks, thread, message: payload };
    assert_eq!(stored(log), Log { thread: Thread::Indexed(1), ..log }.into());
    let backtrace = Backtrace { ticks, thread, frames: [7][..].into() };
    let expected = Backtrace { thread: Thread::Indexed(1), ..backtrace };
    assert_eq!(stored(backtrace), expected.into());

    let switch = LegacyContextSwitch {
        ticks,
        cpu: 0,
        outgoing_state: ThreadState::BLOCKED,
        outgoing: thread,
        incoming: Thread::Inline(ThreadKoids::new(1, 3)),
        outgoing_priority: 0,
        incoming_priority: 0,
    };
    let (outgoing, incoming) = (Thread::Indexed(1), Thread::Indexed(2));
    assert_eq!(stored(switch), LegacyContextSwitch { outgoing, incoming, ..switch }.into());

    let arguments = [Argument::new("argument", Value::String("value".into()))];
    let event = LargeBlobEvent { ticks, thread, arguments: (&arguments).into() };
    let blob = LargeBlob { category, name, event: Some(event), payload };
    let arguments = [Argument::new(Text::Indexed(3), Value::String("value".into()))];
    let event =
        LargeBlobEvent { thread: Thread::Indexed(1), arguments: (&arguments).into(), ..event };
    let (category, name) = (Text::Indexed(1), Text::Indexed(2));
    assert_eq!(stored(blob), LargeBlob { category, name, event: Some(event), payload }.into());
}

#[test]
fn strings_of_up_to_256_bytes_are_registered() {
    for (bytes, is_registered) in [(1, true), (256, true), (257, false)] {
        let name = "n".repeat(bytes);
        let blob = Blob { name: (&*name).into(), blob_type: BlobType::DATA, payload: b"" };
        let Record::Blob(blob) = stored(blob) else { panic!("not a blob") };
        assert_eq!(blob.name == Text::Indexed(1), is_registered, "{bytes} bytes");
    }
}

#[test]
fn a_provider_keeps_its_tables() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let event = event(1, "c", "n", Arguments::NONE);
    for id in [1, 2, 1, 1] {
        writer.provider(id, "p").unwrap();
        writer.record(&event).unwrap();
    }
    let archive = writer.into_inner();
    let strings =
        Records::new(&archive).filter(|record| matches!(record, Ok(Record::String { .. })));
    assert_eq!(strings.count(), 4, "two strings for each provider");
    let expected = [1, 2, 1, 1].map(|id| format!("Some({id}) \"p\" 1 ns 12/34 c n"));
    let found = lines(Reader::new(&*archive));
    assert!(found.iter().map(|line| line.split_once(": ").unwrap().1).eq(expected));
}
