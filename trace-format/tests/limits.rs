//! Limits of the encoder, and errors of records beyond them.

use trace_format::layout::{large, MAX_RECORD_WORDS};
use trace_format::{
    decode, encode, Argument, Arguments, Backtrace, Blob, EncodeError, Event, EventKind, LargeBlob,
    LargeBlobEvent, Metadata, Module, Process, Record, Text, Thread, ThreadKoids, UnknownRecord,
    Value,
};

fn encode_error<'a>(record: impl Into<Record<'a>>) -> EncodeError {
    let mut words = vec![1, 2, 3];
    let error = encode::append(&mut words, &record.into()).unwrap_err();
    assert_eq!(words, [1, 2, 3], "the sink is unchanged");
    error
}

fn event<'a>() -> Event<'a> {
    Event {
        ticks: 1,
        thread: Thread::Inline(ThreadKoids::UNKNOWN),
        category: Text::EMPTY,
        name: Text::EMPTY,
        kind: EventKind::DurationBegin,
        arguments: Arguments::NONE,
    }
}

#[test]
fn wrong_indices_and_too_many_arguments_are_refused() {
    let value: &[u8] = b"x";
    let index = |index| EncodeError::Index { index };
    assert_eq!(encode_error(Record::String { index: 0, value }), index(0));
    assert_eq!(encode_error(Record::String { index: 0x8000, value }), index(0x8000));
    let koids = ThreadKoids::UNKNOWN;
    assert_eq!(encode_error(Record::Thread { index: 0, koids }), index(0));

    let sixteen = [Argument::new("a", Value::Null); 16];
    let arguments = Arguments::from(&sixteen);
    let too_many = Event { arguments, ..event() };
    assert_eq!(encode_error(too_many), EncodeError::TooManyArguments);
}

#[test]
fn long_payloads_and_records_are_refused() {
    let long = "x".repeat(32_768);
    let blob = |bytes: usize| Blob {
        name: Text::EMPTY,
        blob_type: trace_format::layout::BlobType::DATA,
        payload: &long.as_bytes()[..bytes],
    };
    let (what, max, found) = ("blob", 32_767, 32_768);
    assert_eq!(encode_error(blob(found)), EncodeError::PartTooLong { what, max, found });
    assert_eq!(encode_error(blob(max)), EncodeError::RecordTooLong { words: 4097 });
    let mut words: Vec<u64> = Vec::new();
    assert_eq!(encode::append(&mut words, &blob(32_752).into()), Ok(()));

    let category = Text::from(&*long);
    let twice = Event { category, name: category, ..event() };
    let words = 4 + 4000 + 4000;
    assert_eq!(encode_error(twice), EncodeError::RecordTooLong { words });

    let arguments = [Argument::new(category, Value::String(category))];
    let large = LargeBlob {
        category: Text::EMPTY,
        name: Text::EMPTY,
        event: Some(trace_format::LargeBlobEvent {
            ticks: 1,
            thread: Thread::Indexed(1),
            arguments: (&arguments).into(),
        }),
        payload: &[],
    };
    let words = 1 + 4000 + 4000;
    assert_eq!(encode_error(large), EncodeError::RecordTooLong { words });
}

#[test]
fn long_strings_are_cut() {
    let long = "\u{e9}".repeat(16_001);
    let record = Event { name: (&*long).into(), ..event() };
    let mut words: Vec<u64> = Vec::new();
    encode::append(&mut words, &record.into()).unwrap();
    assert_eq!(words[0], 0xfd00_0000_0002_fa44);
    assert_eq!(words.len(), 4004);

    let name = &long.as_bytes()[..300];
    let mut words: Vec<u64> = Vec::new();
    encode::append(&mut words, &Metadata::ProviderInfo { id: 1, name }.into()).unwrap();
    assert_eq!(words[0], 0x0fe0_0000_0011_0210);
}

#[test]
fn the_lengths_of_build_ids_and_backtraces_have_8_bits() {
    let bytes = [b'x'; 256];
    let module = |build_id| Module {
        ticks: 1,
        process: Process::Indexed(1),
        module_id: 1,
        name: b"x",
        build_id,
    };
    let (max, found) = (255, 256);
    let what = "build id";
    assert_eq!(encode_error(module(&bytes)), EncodeError::PartTooLong { what, max, found });
    assert_eq!(decoded(module(&bytes[1..])), module(&bytes[1..]).into());

    let frames = [7; 256];
    let backtrace = |frames: &'static [u64]| Backtrace {
        ticks: 1,
        thread: Thread::Indexed(1),
        frames: frames.into(),
    };
    let what = "backtrace";
    let frames: &'static [u64] = Vec::leak(frames.to_vec());
    assert_eq!(encode_error(backtrace(frames)), EncodeError::PartTooLong { what, max, found });
    assert_eq!(decoded(backtrace(&frames[1..])), backtrace(&frames[1..]).into());
}

/// Encodes a record, and returns the decoded one.
fn decoded<'a>(record: impl Into<Record<'a>>) -> Record<'static> {
    let mut words: Vec<u64> = Vec::new();
    encode::append(&mut words, &record.into()).unwrap();
    decode::record(encode::to_bytes(&words).leak()).unwrap()
}

fn attachment<'a>(payload: &'a [u8]) -> LargeBlob<'a> {
    LargeBlob { category: Text::EMPTY, name: Text::EMPTY, event: None, payload }
}

#[test]
fn large_records_have_more_words_than_others() {
    let payload = vec![b'x'; (MAX_RECORD_WORDS + 1) * 8];
    let blob = attachment(&payload);
    assert_eq!(decoded(blob), blob.into());

    // Large type 1 is unknown.
    let header = large::Type::make(1) | 15;
    let unknown = UnknownRecord { header, payload: &payload };
    let Record::Unknown(found) = decoded(Record::Unknown(unknown)) else { panic!("known") };
    assert_eq!(large::Size::get(found.header), MAX_RECORD_WORDS as u64 + 2);
    assert_eq!(found.payload, payload);

    // Record type 11 is unknown, and not large.
    let unknown = Record::Unknown(UnknownRecord { header: 11, payload: &payload });
    let words = MAX_RECORD_WORDS + 2;
    assert_eq!(encode_error(unknown), EncodeError::RecordTooLong { words });
}

#[test]
fn an_argument_of_a_large_record_has_at_most_4095_words() {
    let bytes = vec![b'x'; MAX_RECORD_WORDS * 8];
    let with_argument = |value| {
        let arguments = vec![Argument::new(Text::EMPTY, Value::Blob(value))].leak();
        let event = LargeBlobEvent {
            ticks: 1,
            thread: Thread::Indexed(1),
            arguments: (&*arguments).into(),
        };
        LargeBlob { event: Some(event), ..attachment(&[]) }
    };
    let longest = with_argument(bytes[8..].to_vec().leak());
    assert_eq!(decoded(longest), longest.into());
    let words = MAX_RECORD_WORDS + 1;
    let longer = with_argument(bytes.leak());
    assert_eq!(encode_error(longer), EncodeError::RecordTooLong { words });
}

#[test]
fn error_texts() {
    let table = [
        (EncodeError::TooManyArguments, "a record has more than 15 arguments"),
        (EncodeError::RecordTooLong { words: 5000 }, "a record of 5000 words is too long"),
        (
            EncodeError::PartTooLong { what: "blob", max: 9, found: 10 },
            "the length of the blob is 10, the limit is 9",
        ),
        (EncodeError::Index { index: 0 }, "index 0 is not allowed"),
        (EncodeError::Full { words: 3 }, "no space for a record of 3 words"),
    ];
    for (error, text) in table {
        assert_eq!(error.to_string(), text);
    }
}
