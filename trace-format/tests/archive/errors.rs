//! Malformed and incomplete archives.

use std::error::Error;

use trace_format::audit::Audit;
use trace_format::{encode, notes, DecodeError, Decoder, Limits, ReadError, Reader, Stats};

use crate::{lines, stats_of, words_lines, MAGIC};

#[test]
fn a_malformed_record_is_skipped() {
    let words = [MAGIC, 0x0001_0013, 0x000b_002b, 9, 0x0000_0000_0102_0024, 7];
    let found = words_lines(&words);
    assert_eq!(found, ["malformed record at byte 8", "32: None \"\" 7 ns 0/0  "]);
    let stats = Stats { records: 4, bad_records: 1, unknown_records: 1, ..Stats::default() };
    assert_eq!(stats_of(&words), (stats, Audit { unknown_threads: 1, ..Audit::default() }));
}

#[test]
fn the_end_within_a_record_is_reported() {
    let bytes = encode::to_bytes(&[MAGIC, 0x0031, 1]);
    let expected = |offset, found, of| {
        format!("the trace ends within the record at byte {offset}: {found} of {of} bytes")
    };
    assert_eq!(lines(Reader::new(&*bytes)), [expected(8, 16, 24)]);
    assert_eq!(lines(Reader::new(&bytes[..12])), [expected(8, 4, 8)]);
}

#[test]
fn size_zero_ends_the_archive() {
    let words = [MAGIC, 0x0004, 0x0021, 1];
    assert_eq!(words_lines(&words), ["the record at byte 8 has size 0"]);
}

#[test]
fn files_of_other_formats_are_refused() {
    let first_word_of = |bytes| match Reader::new(bytes).next() {
        Err(ReadError::NotAnArchive { first_word }) => first_word,
        other => panic!("{other:?}"),
    };
    assert_eq!(first_word_of(&b""[..]), None);
    assert_eq!(first_word_of(&b"{\"traceE"[..]), Some(0x4565_6361_7274_227b));
    assert_eq!(first_word_of(&b"GIF89a..................."[..]), Some(0x2e2e_6139_3846_4947));
    // A record with an appended word, one of an unknown type, and a truncated one.
    for words in [&[0x0000_0000_0102_0034, 7, 8][..], &[0x001e], &[0x0000_0000_0102_0024]] {
        let result = Reader::new(&*encode::to_bytes(words)).next().map(drop);
        assert!(matches!(result, Err(ReadError::NotAnArchive { .. })), "{words:?}");
    }
}

#[test]
fn an_archive_may_lack_the_magic_number() {
    let bytes = encode::to_bytes(&[0x0000_0000_0102_0024, 7]);
    let mut reader = Reader::new(&*bytes);
    assert!(matches!(reader.next(), Ok(Some(_))));
    assert!(reader.stats().lacks_magic_number && !reader.stats().is_big_endian);
    let limits = Limits { magic_number: true, ..Limits::default() };
    let error = Reader::with_limits(&*bytes, limits).next().unwrap_err();
    assert!(matches!(error, ReadError::NotAnArchive { .. }));
}

#[test]
fn the_form_of_an_archive_is_noted() {
    let notes = |stats: Stats| stats.notes().collect::<Vec<_>>();
    assert_eq!(notes(Stats::default()), [""; 0]);
    let stats = Stats { is_big_endian: true, ..Stats::default() };
    assert_eq!(notes(stats), [notes::BIG_ENDIAN]);
    let stats = Stats { lacks_magic_number: true, ..stats };
    assert_eq!(notes(stats), [notes::BIG_ENDIAN, notes::NO_MAGIC_NUMBER]);
}

/// Without the magic number, the first record has at most 32760 bytes.
#[test]
fn the_first_record_has_at_most_4095_words() {
    // A log message of 32744 bytes, which are 4093 words.
    let mut words = vec![0x0000_0001_7fe8_fff9, 7];
    words.resize(4095, 0x6161_6161_6161_6161);
    let stats = stats_of(&words).0;
    assert_eq!((stats.records, stats.lacks_magic_number), (1, true));
    // A large blob of 4096 words.
    let mut words = vec![0x0000_0100_0001_000f, 0, 4093 * 8];
    words.resize(4096, 0);
    assert_eq!(stats_of(&words).0.records, 0);
}

#[test]
fn a_big_endian_archive_can_be_empty() {
    let bytes = 0x0016_5478_4604_0010u64.to_be_bytes();
    let mut reader = Reader::new(&bytes[..]);
    assert!(reader.next().unwrap().is_some() && reader.next().unwrap().is_none());
    assert!(reader.stats().is_big_endian);
}

#[test]
fn only_errors_of_one_record_are_not_fatal() {
    let error = DecodeError::TickRateZero;
    let table = [
        (ReadError::Record { offset: 8, error }, false, false),
        (ReadError::RecordTooLarge { offset: 8, bytes: 32, limit: 16 }, false, false),
        (ReadError::Truncated { offset: 8, expected: 16, found: 8 }, true, false),
        (ReadError::SizeZero { offset: 8 }, true, false),
        (ReadError::TooManyProviders { offset: 8, limit: 1 }, true, false),
        (ReadError::NotAnArchive { first_word: None }, true, true),
    ];
    for (read_error, is_fatal, is_input_error) in table {
        let found = (read_error.is_fatal(), read_error.is_input_error());
        assert_eq!(found, (is_fatal, is_input_error), "{read_error}");
        let source = matches!(read_error, ReadError::Record { .. }).then(|| error.to_string());
        assert_eq!(read_error.source().map(ToString::to_string), source);
    }
}

#[test]
fn a_record_of_the_limit_can_come_in_chunks() {
    let limits = Limits { record_bytes: 16, ..Limits::default() };
    let bytes = encode::to_bytes(&[MAGIC, 0x0021, 7, 0x0031, 7, 8]);
    let mut decoder = Decoder::with_limits(limits);
    let (mut records, mut errors) = (0, Vec::new());
    for chunk in bytes.chunks(4) {
        decoder.feed(chunk);
        match decoder.next() {
            Ok(item) => records += usize::from(item.is_some()),
            Err(error) => errors.push(error.to_string()),
        }
    }
    decoder.finish();
    assert!(decoder.next().unwrap().is_none());
    assert_eq!(records, 2);
    assert_eq!(errors, ["the record at byte 24 has 24 bytes, more than 16; it is skipped"]);
    let stats = Stats { records: 3, bad_records: 1, ..Stats::default() };
    assert_eq!(decoder.stats(), stats);
}
