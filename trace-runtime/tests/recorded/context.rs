//! Records that the program encodes itself.

use trace_format::encode;
use trace_format::layout::{
    event_header, record, BlobType, EventType, RecordType, StringRef, ThreadKoids, ThreadRef,
};
use trace_format::record::{
    Argument, Blob, Event, EventKind, Log, Metadata, Record, Text, Thread, ThreadWakeup, Value,
};
use trace_runtime::context::{BufferingMode, Context};

use crate::archive::{alone, find, lines, this_thread, Recording};

fn words<'a>(record: impl Into<Record<'a>>) -> Vec<u64> {
    let mut words = Vec::new();
    encode::append(&mut words, &record.into()).unwrap();
    words
}

fn indexed(string: StringRef) -> Text<'static> {
    Text::Indexed(string.index().unwrap())
}

fn on(thread: ThreadRef) -> Thread {
    Thread::Indexed(thread.bits())
}

fn event<'a>(
    thread: Thread,
    category: Text<'a>,
    name: Text<'a>,
    arguments: &'a [Argument<'a>],
) -> Event<'a> {
    let kind = EventKind::AsyncBegin { id: 9 };
    Event { ticks: 77, thread, category, name, kind, arguments: arguments.into() }
}

#[test]
fn records_are_written_unchanged() {
    let recording = Recording::start();
    let context = Context::acquire().expect("something is recorded");
    assert!(context.is_current());
    assert_eq!(context.buffering_mode(), BufferingMode::Streaming);
    let [category, name, key] =
        ["raw", "made by hand", "key"].map(|text| context.register_string(text).unwrap());
    assert_eq!(context.register_string("raw"), Some(category));
    let other = context.register_thread(1, 4711).unwrap();
    assert_eq!(context.register_thread(1, 4711), Some(other));
    assert!(other.bits() >= 2);
    let arguments = [Argument::new(indexed(key), Value::Uint32(3))];
    let (category, name) = (indexed(category), indexed(name));
    assert!(context.write_record(&words(event(
        on(Context::THIS_THREAD),
        category,
        name,
        &arguments
    ))));
    assert!(context.write_record(&words(event(on(other), category, "inline".into(), &[]))));
    let inline = Thread::Inline(ThreadKoids::new(1, 4712));
    assert!(context.write_record(&words(event(inline, "raw".into(), name, &[]))));
    assert!(context.write_record(&words(Log {
        ticks: 5,
        thread: on(other),
        message: "raw message".as_bytes()
    })));
    assert!(context.write_record(&words(Blob {
        name,
        blob_type: BlobType::DATA,
        payload: &[1, 2, 3]
    })));
    let records = recording.end();
    assert_eq!(
        lines(&records, "raw/"),
        [
            "async begin(9) raw/made by hand key=3",
            "async begin(9) raw/inline",
            "async begin(9) raw/made by hand"
        ]
    );
    let threads: Vec<u64> = find(&records, "raw/").iter().map(|record| record.thread).collect();
    assert_eq!(threads, [this_thread(), 4711, 4712]);
    assert!(find(&records, "raw/")
        .iter()
        .all(|record| record.process == u64::from(std::process::id()) && record.ticks == 77));
    assert_eq!(find(&records, "log raw message")[0].thread, 4711);
    assert_eq!(find(&records, "blob 1 made by hand")[0].payload, [1, 2, 3]);
}

/// Records that the manager would refuse are refused, without an effect on others.
#[test]
fn wrong_records_are_refused() {
    let recording = Recording::start();
    let context = Context::acquire().unwrap();
    let good = words(event(on(Context::THIS_THREAD), "raw".into(), "good".into(), &[]));
    let (shorter, mut longer) = (&good[..good.len() - 1], good.clone());
    longer.push(0);
    let appended: Vec<u64> = std::iter::once(record::Size::set(good[0], longer.len() as u64))
        .chain(longer[1..].to_vec())
        .collect();
    let strange = [record::Type::make(RecordType::Event.bits()) | record::Size::make(1)];
    let unknown_string = event_header(
        EventType::Instant,
        2,
        0,
        Context::THIS_THREAD,
        StringRef::indexed(0x7000),
        StringRef::EMPTY,
    );
    let unknown_thread = event_header(
        EventType::Instant,
        2,
        0,
        ThreadRef::indexed(200),
        StringRef::EMPTY,
        StringRef::EMPTY,
    );
    let wakeup = ThreadWakeup { ticks: 1, cpu: 0, thread: 1, arguments: (&[]).into() };
    let string = Record::String { index: 1, value: b"forged" };
    let thread = Record::Thread { index: 1, koids: ThreadKoids::new(1, 1) };
    let broken_text =
        words(Log { ticks: 1, thread: on(Context::THIS_THREAD), message: &[0xff, 0xfe] });
    let wrong: [&[u64]; 15] = [
        &[],
        &[0],
        shorter,
        &longer,
        &appended,
        &strange,
        &[0xe | 0x10],
        &[unknown_string, 1],
        &[unknown_thread, 1],
        &words(wakeup),
        &words(string),
        &words(thread),
        &words(Record::Initialization { ticks_per_second: 1 }),
        &words(Metadata::ProviderSection { id: 7 }),
        &broken_text,
    ];
    for (index, record) in wrong.into_iter().enumerate() {
        assert!(!context.write_record(record), "{index}: {record:x?}");
    }
    assert!(context.write_record(&good));
    assert_eq!(lines(&recording.end(), "raw/"), ["async begin(9) raw/good"]);
}

/// Refs and contexts are valid only in their recording.
#[test]
fn a_context_belongs_to_its_recording() {
    let _alone = alone();
    assert_eq!(Context::acquire(), None);
    let recording = Recording::start();
    let old = Context::acquire().unwrap();
    let good = words(event(on(Context::THIS_THREAD), "raw".into(), "good".into(), &[]));
    recording.end();
    let refused = |context: Context| {
        assert!(!context.is_current());
        assert_eq!((context.register_string("late"), context.register_thread(1, 1)), (None, None));
        assert!(!context.write_record(&good));
    };
    refused(old);
    let recording = Recording::with(|builder| builder.circular());
    refused(old);
    let new = Context::acquire().unwrap();
    assert_eq!(new.buffering_mode(), BufferingMode::Circular);
    assert!(new.write_record(&good));
    assert_eq!(lines(&recording.end(), "raw/").len(), 1);
}

#[test]
fn there_are_254_threads() {
    let recording = Recording::start();
    let context = Context::acquire().unwrap();
    let threads: Vec<_> =
        (0..300).map_while(|thread| context.register_thread(1, 5000 + thread)).collect();
    assert_eq!(threads.len(), 254);
    for thread in &threads {
        assert!(context.write_record(&words(event(
            on(*thread),
            "raw".into(),
            "crowd".into(),
            &[]
        ))));
    }
    let records = recording.end();
    let found: Vec<u64> = find(&records, "raw/crowd").iter().map(|record| record.thread).collect();
    assert_eq!(found, Vec::from_iter(5000..5254));
}

/// Every accepted record is in the archive, which stays well-formed.
#[test]
fn accepted_records_are_archived() {
    const ROUNDS: u64 = 30_000;
    let recording = Recording::with(|builder| builder.buffer_size(32 << 20));
    let context = Context::acquire().unwrap();
    let name = indexed(context.register_string("name").unwrap());
    let thread = on(context.register_thread(1, 4711).unwrap());
    let arguments =
        [Argument::new("a", Value::String("text".into())), Argument::new(name, Value::Int64(-1))];
    let good = [
        words(event(thread, name, "inline".into(), &arguments)),
        words(Log { ticks: 1, thread, message: b"message" }),
        words(Blob { name, blob_type: BlobType::DATA, payload: b"payload" }),
        words(event(Thread::Inline(ThreadKoids::new(1, 2)), "category".into(), name, &[])),
    ];
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..ROUNDS {
        let mut record = good[next(good.len() as u64) as usize].clone();
        for _ in 0..next(4) {
            let word = next(record.len() as u64) as usize;
            record[word] ^= 1 << next(64);
        }
        match context.write_record(&record) {
            true => accepted += 1,
            false => refused += 1,
        }
    }
    let records = recording.end();
    assert!(accepted > 1000 && refused > 1000, "{accepted} and {refused}");
    // The archive also has names of threads, and events of the tracing system itself.
    assert!((accepted..accepted + 50).contains(&records.len()), "{accepted}, {}", records.len());
}
