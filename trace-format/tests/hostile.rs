//! Decoding of malformed records, and of records with unknown parts.

use proptest::prelude::*;
use trace_format::decode::Records;
use trace_format::{decode, encode, Argument, DecodeError, Record, Text, UnknownArgument, Value};

fn decode_error(words: &[u64]) -> DecodeError {
    decode::record(&encode::to_bytes(words)).unwrap_err()
}

fn short(what: &'static str, at: usize) -> DecodeError {
    DecodeError::Short { what, at }
}

#[test]
fn size_zero_is_an_error() {
    assert_eq!(decode_error(&[0x0004]), DecodeError::SizeZero);
    assert_eq!(decode_error(&[0x0000_0100_0000_000f]), DecodeError::SizeZero);
}

#[test]
fn the_error_of_a_truncated_record_has_its_size() {
    let truncated = |expected, found| DecodeError::Truncated { expected, found };
    assert_eq!(decode_error(&[0x0031, 1]), truncated(24, 16));
    assert_eq!(decode_error(&[0x0000_000f_ffff_ffff]), truncated(0x7_ffff_fff8, 8));
    assert_eq!(decode::record(b"abc"), Err(short("record header", 0)));
}

#[test]
fn fields_beyond_the_record_are_errors() {
    assert_eq!(decode_error(&[0x0011]), short("ticks per second", 8));
    assert_eq!(decode_error(&[0x0000_0009_0001_0022, 0]), short("string", 8));
    assert_eq!(decode_error(&[0x0001_0023, 1]), short("thread koid", 16));
    assert_eq!(decode_error(&[0x0003_0002_0104_0024, 1]), short("end time", 16));
    assert_eq!(decode_error(&[0x0003_8001_0104_0024, 1]), short("category", 16));
    assert_eq!(decode_error(&[0x0003_0002_0112_0024, 1]), short("argument header", 16));
    let words = [0x0003_0002_0112_0034, 1, 0x0004_0013];
    assert_eq!(decode_error(&words), short("argument value", 24));
    assert_eq!(decode_error(&[0x0000_0100_0000_003f, 0x0002_0001, u64::MAX]), short("payload", 24));
}

#[test]
fn arguments_of_wrong_sizes_are_errors() {
    let size = |words, at| DecodeError::ArgumentSize { words, at };
    let words = [0x0003_0002_0112_0034, 1, 0x0004_0000];
    assert_eq!(decode_error(&words), size(0, 16));
    let words = [0x0003_0002_0112_0034, 1, 0x0004_fff0];
    assert_eq!(decode_error(&words), size(4095, 16));
}

#[test]
fn wrong_values_are_errors() {
    let header = 0x0017_5478_4604_0010;
    assert_eq!(decode_error(&[header]), DecodeError::Magic { header });
    assert_eq!(decode_error(&[0x0021, 0]), DecodeError::TickRateZero);
}

#[test]
fn appended_words_are_skipped() {
    let bytes = encode::to_bytes(&[0x0041, 1000, 5, 6]);
    let ticks_per_second = 1000;
    assert_eq!(decode::record(&bytes), Ok(Record::Initialization { ticks_per_second }));
    let bytes = encode::to_bytes(&[0x0003_0002_0112_0054, 1, 0x0004_0023, 2, 3]);
    let Ok(Record::Event(event)) = decode::record(&bytes) else {
        panic!("not an event");
    };
    let argument = Argument::new(Text::Indexed(4), Value::Int64(2));
    assert_eq!(event.arguments, (&[argument]).into());
}

#[test]
fn arguments_of_unknown_types_are_separate() {
    let words = [0x0003_0002_0122_0054, 1, 0x0004_002b, 0, 0x0004_0010];
    let bytes = encode::to_bytes(&words);
    let Ok(Record::Event(event)) = decode::record(&bytes) else {
        panic!("not an event");
    };
    let argument = Argument::new(Text::Indexed(4), Value::Null);
    assert!(event.arguments.iter().eq([argument]));
    let header = 0x0004_002b;
    let unknown = UnknownArgument { header, name: Text::Indexed(4), payload: &[0; 8] };
    assert!(event.arguments.unknown().eq([unknown]));
    assert_ne!(event.arguments, (&[argument]).into());
}

#[test]
fn records_continue_after_a_malformed_one_and_end_after_size_zero() {
    let bytes = encode::to_bytes(&[0x0011, 0x0021, 7, 0, 0x0021, 7]);
    let found: Vec<_> = Records::new(&bytes).collect();
    let ticks_per_second = 7;
    let expected = [
        Err(short("ticks per second", 8)),
        Ok(Record::Initialization { ticks_per_second }),
        Err(DecodeError::SizeZero),
    ];
    assert_eq!(found, expected);
}

proptest! {
    #[test]
    fn decoding_random_bytes_does_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..512)) {
        for record in Records::new(&bytes) {
            let _ = format!("{record:?}");
        }
    }

    #[test]
    fn decoding_random_records_does_not_panic(
        record_type in 0u64..16,
        data in any::<u64>(),
        payload in proptest::collection::vec(prop_oneof![0u64..64, any::<u64>()], 0..32),
    ) {
        let size = payload.len() as u64 + 1;
        let header = (data & !0xffff) | (size << 4) | record_type;
        let mut words = vec![header];
        words.extend(payload);
        let bytes = encode::to_bytes(&words);
        if let Ok(record) = decode::record(&bytes) {
            let _ = format!("{record:?}");
        }
    }
}

/// Returns a log record with a message of one byte, and `padding` as the last byte of its padding.
fn log_of(message: u8, padding: u8) -> Vec<u8> {
    let words = [0x0000_0001_0001_0039u64, 1, u64::from(message) | u64::from(padding) << 56];
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn nonzero_padding_is_an_error() {
    assert!(decode::record(&log_of(b'x', 0)).is_ok());
    let error = DecodeError::Padding { what: "message", at: 16 };
    assert_eq!(decode::record(&log_of(b'x', 1)), Err(error));
    assert_eq!(decode::strict(&log_of(b'x', 1)), Err(error));
}

#[test]
fn strict_decoding_refuses_data_that_readers_skip() {
    let words = |words: &[u64]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
    let not_utf8 = log_of(0xff, 0);
    let unknown_record = words(&[0x1b]);
    let unknown_argument = words(&[0x0000_0000_0110_0034, 1, 0x1f]);
    let long_argument = words(&[0x0000_0000_0110_0044, 1, 0x20, 0]);
    let cases = [
        (not_utf8, DecodeError::Utf8 { what: "message", at: 16 }),
        (unknown_record, DecodeError::UnknownType { what: "record" }),
        (unknown_argument, DecodeError::UnknownType { what: "argument" }),
        (long_argument, DecodeError::ArgumentSize { words: 2, at: 16 }),
    ];
    for (bytes, error) in cases {
        assert!(decode::record(&bytes).is_ok(), "{error}");
        assert_eq!(decode::strict(&bytes), Err(error));
    }
    let appended = words(&[0x0000_0000_0102_0044, 1, 0, 0]);
    assert_eq!(decode::strict(&appended).map(|(_, words)| words), Ok(2));
}

#[test]
fn an_indexed_process_has_no_thread_word() {
    // A mapping with a process ref, three words, and an appended word.
    let bytes = encode::to_bytes(&[0x0000_5000_1051_006a, 0x64, 0x1000, 0x2000, 0x3000, 9]);
    let Ok(Record::Mmap(mmap)) = decode::record(&bytes) else { panic!("not a mapping") };
    assert_eq!((mmap.start, mmap.length, mmap.module_address), (0x1000, 0x2000, 0x3000));
}

#[test]
fn error_texts() {
    let table = [
        (DecodeError::SizeZero, "a record has size 0"),
        (
            DecodeError::Truncated { expected: 24, found: 16 },
            "a record of 24 bytes is cut off after 16",
        ),
        (short("name", 16), "the record ends before its name, at its byte 16"),
        (
            DecodeError::Padding { what: "name", at: 16 },
            "the padding of the name at the record's byte 16 is not zero",
        ),
        (
            DecodeError::Utf8 { what: "name", at: 16 },
            "the name at the record's byte 16 is not UTF-8",
        ),
        (DecodeError::UnknownType { what: "argument" }, "unknown argument type"),
        (
            DecodeError::ArgumentSize { words: 9, at: 16 },
            "an argument of 9 words does not fit, at the record's byte 16",
        ),
        (DecodeError::Magic { header: 0x10 }, "wrong magic number record 0x0000000000000010"),
        (DecodeError::TickRateZero, "the clock has 0 ticks per second"),
    ];
    for (error, text) in table {
        assert_eq!(error.to_string(), text);
    }
}
