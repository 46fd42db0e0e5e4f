//! Records and errors that the reader returns.

use trace_format::audit::Audit;
use trace_format::reader::UNKNOWN_STRING;
use trace_format::{encode, Limits, ReadError, Reader, Stats};

use crate::{lines, stats_of, words_lines, MAGIC, SECTION_1, SECTION_2};

#[test]
fn providers_have_separate_state() {
    let words = [
        MAGIC,
        0x0030_0000_0011_0020, // provider 1 "abc"
        0x0063_6261,
        0x0021, // 1000 ticks per second
        1000,
        0x0000_0001_0001_0022, // string 1 "x"
        0x78,
        0x0001_0033, // thread 1
        5,
        6,
        SECTION_2,
        0x0000_0001_0001_0022, // string 1 "y"
        0x79,
        0x0001_0001_0102_0024, // begin
        1,
        SECTION_1,
        0x0001_0001_0102_0024, // begin
        1,
    ];
    let expected = ["104: Some(2) \"\" 1 ns 0/0 y y", "128: Some(1) \"abc\" 1000000 ns 5/6 x x"];
    assert_eq!(words_lines(&words), expected);
    let stats = Stats { records: 10, ..Stats::default() };
    assert_eq!(stats_of(&words), (stats, Audit { unknown_threads: 1, ..Audit::default() }));
}

#[test]
fn a_malformed_record_is_skipped() {
    let words = [MAGIC, 0x0001_0013, 0x000b_002b, 9, 0x0000_0000_0102_0024, 7];
    let found = words_lines(&words);
    assert_eq!(found, ["bad record at byte 8", "32: None \"\" 7 ns 0/0  "]);
    let stats = Stats { records: 4, bad_records: 1, unknown_records: 1, ..Stats::default() };
    assert_eq!(stats_of(&words), (stats, Audit { unknown_threads: 1, ..Audit::default() }));
}

#[test]
fn unknown_strings_have_a_placeholder() {
    let words = [MAGIC, 0x0005_0006_0102_0024, 7];
    assert_eq!(
        words_lines(&words),
        [format!("8: None \"\" 7 ns 0/0 {UNKNOWN_STRING} {UNKNOWN_STRING}")]
    );
    assert_eq!(stats_of(&words).1.unknown_strings, 2);
}

#[test]
fn arguments_of_unknown_types_are_counted() {
    // An event and an object with an argument of type 13 each, which has the name with index 5.
    let words =
        [MAGIC, 0x0000_0000_0110_0034, 7, 0x0005_001d, 0x0000_0100_0001_0037, 9, 0x0005_001d];
    let audit = stats_of(&words).1;
    assert_eq!((audit.unknown_arguments, audit.unknown_strings), (2, 2));
}

#[test]
fn invalid_utf8_is_shown() {
    let words = [MAGIC, 0x0000_0002_0001_0022, 0xff41, 0x8002_0001_0102_0034, 7, 0x42ff];
    let found = words_lines(&words);
    assert_eq!(found, ["24: None \"\" 7 ns 0/0 A\u{fffd} \u{fffd}B"]);
}

#[test]
fn registrations_for_index_zero_are_ignored() {
    let words =
        [MAGIC, 0x0000_0001_0000_0022, 0x78, 0x0000_0033, 5, 6, 0x0000_0000_0002_0044, 7, 8, 9];
    assert_eq!(words_lines(&words), ["48: None \"\" 7 ns 8/9  "]);
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
