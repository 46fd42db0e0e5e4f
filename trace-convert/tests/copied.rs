//! A slice of everything, and a merge of one archive, keep every record.

use proptest::collection::vec;
use proptest::prelude::*;
use trace_convert::merge::{Clocks, Merger};
use trace_convert::slice::{self, Plan, Selection};
use trace_convert::text;
use trace_format::layout::{
    argument, blob, event, record, string, ArgumentType, BlobType, EventType, ObjectType,
    RecordType, MAX_RECORD_WORDS, MAX_STRING_RECORD_BYTES, WORD_BYTES,
};
use trace_format::{
    encode, Argument, Blob, Event, EventKind, Item, KernelObject, LargeBlob, LargeBlobEvent,
    LegacyContextSwitch, Log, Metadata, Module, Process, Reader, Record, Text, Thread, ThreadKoids,
    UserspaceObject, Value,
};

/// Adds a record.
fn push(words: &mut Vec<u64>, record: impl Into<Record<'static>>) {
    encode::append(words, &record.into()).unwrap();
}

fn section(words: &mut Vec<u64>, id: u32) {
    push(words, Metadata::ProviderSection { id });
}

/// Adds a string record, which may exceed the encoder's limits.
fn register(words: &mut Vec<u64>, index: u16, bytes: usize) {
    words.push(
        record::Type::make(RecordType::String.bits())
            | record::Size::make(1 + bytes.div_ceil(WORD_BYTES) as u64)
            | string::Index::make(index.into())
            | string::Length::make(bytes as u64),
    );
    stream(words, bytes);
}

/// Adds a stream of letters.
fn stream(words: &mut Vec<u64>, bytes: usize) {
    let letter = b'a' + (words.len() % 26) as u8;
    let mut stream = vec![letter; bytes];
    stream.resize(bytes.next_multiple_of(WORD_BYTES), 0);
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
    words.extend(stream.chunks(WORD_BYTES).map(word));
}

fn push_blob(words: &mut Vec<u64>, name: u16, bytes: usize) {
    words.push(
        record::Type::make(RecordType::Blob.bits())
            | record::Size::make(1 + bytes.div_ceil(WORD_BYTES) as u64)
            | blob::NameRef::make(name.into())
            | blob::PayloadLength::make(bytes as u64)
            | blob::Type::make(BlobType::DATA.bits()),
    );
    stream(words, bytes);
}

/// Adds an event with string arguments from the table, and one of an unknown type, with a payload
/// of this size.
fn push_event(words: &mut Vec<u64>, ticks: u64, thread: u8, texts: &[u16], payload: usize) {
    let texts = &texts[..texts.len().min(14)];
    words.push(
        record::Type::make(RecordType::Event.bits())
            | record::Size::make((2 + texts.len() + 1 + payload + 1) as u64)
            | event::EventType::make(EventType::Counter.bits())
            | event::ArgumentCount::make(texts.len() as u64 + 1)
            | event::ThreadRef::make(thread.into())
            | event::CategoryRef::make(3)
            | event::NameRef::make(texts.first().copied().unwrap_or(1).into()),
    );
    words.push(ticks);
    for text in texts {
        words.push(
            argument::Type::make(ArgumentType::String.bits())
                | argument::Size::make(1)
                | argument::NameRef::make(u64::from(*text))
                | argument::ValueRef::make(u64::from(*text)),
        );
    }
    words.push(
        argument::Type::make(13)
            | argument::Size::make(1 + payload as u64)
            | argument::NameRef::make(7)
            | argument::Value32::make(ticks),
    );
    words.extend((0..payload as u64).map(|word| word.wrapping_mul(0x0101_0101_0101)));
    words.push(9);
}

/// One or several records.
#[derive(Debug, Clone)]
enum Part {
    Section(u32),
    String(u16, usize),
    Thread(u8, u64),
    Event { ticks: u64, thread: u8, texts: Vec<u16>, payload: usize },
    Duration { ticks: u64, end: u64, thread: u8 },
    Blob(u16, usize),
    Log(u64, u8),
    Objects(u8, u16),
    Switch(u64, u8, u8),
    Large(u64, u8, usize),
    Unknown(usize),
}

/// Lengths of strings: usual ones, those around a limit of our writer, and the longest.
fn length() -> impl Strategy<Value = usize> {
    prop_oneof![
        8 => 0usize..40,
        2 => 250usize..260,
        1 => Just(20_000),
        1 => Just(32_001),
        1 => Just(MAX_STRING_RECORD_BYTES),
    ]
}

fn ticks() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), 0u64..9, Just(u64::MAX), Just(u64::MAX - 1)]
}

fn part() -> impl Strategy<Value = Part> {
    // Index 9 is never registered.
    let (index, thread) = (1u16..10, 1u8..6);
    let texts = prop_oneof![4 => vec(1u16..10, 0..4), 1 => vec(1u16..10, 14)];
    let payload = prop_oneof![0usize..5, Just(MAX_RECORD_WORDS - 18)];
    let blob = prop_oneof![0usize..40, Just(32_001), Just(MAX_STRING_RECORD_BYTES)];
    prop_oneof![
        (1u32..3).prop_map(Part::Section),
        (1u16..9, length()).prop_map(|(index, length)| Part::String(index, length)),
        (1u8..5, any::<u64>()).prop_map(|(index, koid)| Part::Thread(index, koid)),
        (ticks(), thread.clone(), texts, payload).prop_map(|(ticks, thread, texts, payload)| {
            Part::Event { ticks, thread, texts, payload }
        }),
        (ticks(), ticks(), thread.clone()).prop_map(|(ticks, end, thread)| Part::Duration {
            ticks,
            end,
            thread
        }),
        (index.clone(), blob).prop_map(|(name, bytes)| Part::Blob(name, bytes)),
        (ticks(), thread.clone()).prop_map(|(ticks, thread)| Part::Log(ticks, thread)),
        (thread.clone(), index).prop_map(|(thread, name)| Part::Objects(thread, name)),
        (ticks(), thread.clone(), thread.clone())
            .prop_map(|(ticks, a, b)| Part::Switch(ticks, a, b)),
        (ticks(), thread, 0usize..70_000)
            .prop_map(|(ticks, thread, n)| Part::Large(ticks, thread, n)),
        (0usize..4).prop_map(Part::Unknown),
    ]
}

fn leaked(bytes: usize) -> &'static [u8] {
    static BYTES: [u8; 70_000] = [b'p'; 70_000];
    &BYTES[..bytes]
}

fn push_part(words: &mut Vec<u64>, part: &Part) {
    let (category, name) = (Text::Indexed(3), Text::Indexed(5));
    match *part {
        Part::Section(id) => section(words, id),
        Part::String(index, bytes) => register(words, index, bytes),
        Part::Thread(index, koid) => {
            push(words, Record::Thread { index, koids: ThreadKoids::new(koid, !koid) });
        }
        Part::Event { ticks, thread, ref texts, payload } => {
            push_event(words, ticks, thread, texts, payload);
        }
        Part::Duration { ticks, end, thread } => {
            let kind = EventKind::DurationComplete { end };
            let (thread, arguments) = (Thread::Indexed(thread), (&[]).into());
            push(words, Event { ticks, thread, category, name, kind, arguments });
        }
        Part::Blob(name, bytes) => push_blob(words, name, bytes),
        Part::Log(ticks, thread) => {
            push(words, Log { ticks, thread: Thread::Indexed(thread), message: leaked(32_000) });
        }
        Part::Objects(thread, name) => push_objects(words, thread, Text::Indexed(name)),
        Part::Switch(ticks, from, to) => {
            let (outgoing, incoming) = (Thread::Indexed(from), Thread::Indexed(to));
            let outgoing_state = trace_format::layout::ThreadState(3);
            let (cpu, outgoing_priority, incoming_priority) = (1, 2, 3);
            push(
                words,
                Record::LegacyContextSwitch(LegacyContextSwitch {
                    ticks,
                    cpu,
                    outgoing_state,
                    outgoing,
                    incoming,
                    outgoing_priority,
                    incoming_priority,
                }),
            );
        }
        Part::Large(ticks, thread, bytes) => {
            let thread = Thread::Indexed(thread);
            let event = Some(LargeBlobEvent { ticks, thread, arguments: (&[]).into() });
            push(words, LargeBlob { category, name, event, payload: leaked(bytes) });
        }
        Part::Unknown(length) => {
            words.push(record::Type::make(14) | record::Size::make(1 + length as u64));
            words.extend((0..length as u64).map(|word| !word));
        }
    }
}

fn push_objects(words: &mut Vec<u64>, thread: u8, name: Text<'static>) {
    let process = Process::Indexed(thread);
    // A record of the maximum size, which cannot hold the koid of its process.
    static LONG: [u8; 32_000] = [b'l'; 32_000];
    let rest = (MAX_RECORD_WORDS - 2 - 4000 - 2) * WORD_BYTES;
    static ARGUMENTS: std::sync::OnceLock<[Argument<'static>; 2]> = std::sync::OnceLock::new();
    let arguments = ARGUMENTS.get_or_init(|| {
        [
            Argument::new(Text::Indexed(1), Value::Blob(&LONG)),
            Argument::new(Text::Indexed(2), Value::Blob(&LONG[..rest])),
        ]
    });
    push(words, UserspaceObject { process, pointer: 99, name, arguments: arguments.into() });
    let (object_type, arguments) = (ObjectType::THREAD, (&[]).into());
    push(words, KernelObject { object_type, koid: 98, name, arguments });
    let (name, build_id) = (leaked(9), leaked(20));
    push(words, Module { ticks: 3, process, module_id: 5, name, build_id });
    push(words, Blob { name: Text::Indexed(4), blob_type: BlobType::DATA, payload: leaked(7) });
}

fn archive(parts: &[Part]) -> Vec<u8> {
    let mut words = Vec::new();
    push(&mut words, Metadata::MagicNumber);
    for (id, name) in [(1, &b"one"[..]), (2, b"two")] {
        push(&mut words, Metadata::ProviderInfo { id, name });
        // With ticks of a nanosecond, `merge` keeps all times.
        push(&mut words, Record::Initialization { ticks_per_second: 1_000_000_000 });
    }
    section(&mut words, 1);
    parts.iter().for_each(|part| push_part(&mut words, part));
    encode::to_bytes(&words)
}

/// Returns the content of a record: its line in a dump, and the parts that the line abbreviates.
fn content(item: &Item<'_>) -> Option<String> {
    if let Record::String { .. } | Record::Thread { .. } | Record::Metadata(_) = item.record {
        return None;
    }
    let mut line = String::new();
    text::line(&mut line, item).unwrap();
    let (_, line) = line.trim_start().split_once(' ').unwrap();
    let bytes = match &item.record {
        Record::Blob(blob) => blob.payload,
        Record::LargeBlob(blob) => blob.payload,
        Record::Unknown(unknown) => unknown.payload,
        _ => &[],
    };
    Some(format!("{line} {bytes:?} {}", item.bytes.len()))
}

fn contents(archive: &[u8]) -> Vec<String> {
    let (mut reader, mut contents) = (Reader::new(archive), Vec::new());
    while let Some(item) = reader.next().unwrap() {
        if !matches!(item.record, Record::Initialization { .. }) {
            contents.extend(content(&item));
        }
    }
    contents
}

fn sliced(archive: &[u8]) -> (Vec<u8>, slice::Summary) {
    let (selection, mut output) = (Selection::default(), Vec::new());
    let plan = Plan::read(Reader::new(archive), &selection).unwrap();
    let summary = slice::write(Reader::new(archive), &plan, &mut output).unwrap();
    (output, summary)
}

fn merged(archive: &[u8]) -> Vec<u8> {
    let (clocks, mut output) = (Clocks::read(Reader::new(archive)).unwrap(), Vec::new());
    let mut merger = Merger::new(&mut output, &[clocks]).unwrap();
    merger.add("file", Reader::new(archive)).unwrap();
    merger.finish().unwrap();
    output
}

/// Compares lists that are too long for a message.
fn assert_same(found: &[String], expected: &[String]) {
    let start = |text: &String| text.chars().take(300).collect::<String>();
    for (found, expected) in found.iter().zip(expected) {
        assert!(found == expected, "{}\nexpected {}", start(found), start(expected));
    }
    assert_eq!(found.len(), expected.len());
}

#[test]
fn long_strings_are_kept() {
    let strings = [1, 2, 3].map(|index| Part::String(index, 20_000));
    let texts = vec![1, 2, 3];
    let event = Part::Event { ticks: 5, thread: 1, texts, payload: 0 };
    let archive = archive(&[&strings[..], &[event]].concat());
    assert_same(&contents(&sliced(&archive).0), &contents(&archive));
    assert_same(&contents(&merged(&archive)), &contents(&archive));
}

#[test]
fn the_largest_blob_is_kept() {
    let archive = archive(&[Part::Blob(1, MAX_STRING_RECORD_BYTES)]);
    assert_same(&contents(&sliced(&archive).0), &contents(&archive));
    assert_same(&contents(&merged(&archive)), &contents(&archive));
}

#[test]
fn only_used_strings_and_threads_are_registered() {
    let parts = [
        Part::String(1, 10),
        Part::String(1, 20),
        Part::String(2, 30),
        Part::Thread(1, 7),
        Part::Thread(2, 8),
        Part::Blob(1, 8),
        Part::Blob(1, 8),
    ];
    let output = sliced(&archive(&parts)).0;
    let (mut reader, mut strings, mut threads) = (Reader::new(&*output), Vec::new(), Vec::new());
    while let Some(item) = reader.next().unwrap() {
        match item.record {
            Record::String { index, value } => strings.push((index, value.len())),
            Record::Thread { index, .. } => threads.push(index),
            _ => {}
        }
    }
    assert_eq!(strings, [(1, 20)]);
    assert_eq!(threads, [1], "a blob belongs to the thread of its chunk, which has index 1");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn every_record_is_kept(parts in vec(part(), 0..40)) {
        let archive = archive(&parts);
        let expected = contents(&archive);
        let (output, summary) = sliced(&archive);
        assert_same(&contents(&output), &expected);
        let slice::Summary { events, others, .. } = summary;
        let counts = (events.kept + others.kept, events.removed + others.removed);
        prop_assert_eq!(counts, (expected.len() as u64, 0));
        assert_same(&contents(&merged(&archive)), &expected);
    }
}
