//! Records that the reader returns.

use trace_format::audit::Audit;
use trace_format::reader::UNKNOWN_STRING;
use trace_format::{encode, Decoder, Process, Provider, Reader, Stats};

use crate::{stats_of, words_lines, MAGIC, SECTION_1, SECTION_2};

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
fn providers_are_listed_in_the_order_of_their_first_records() {
    let words = [MAGIC, SECTION_2, 0x0030_0000_0011_0020, 0x0063_6261, SECTION_2];
    let bytes = encode::to_bytes(&words);
    let mut reader = Reader::new(&*bytes);
    let mut decoder = Decoder::default();
    decoder.feed(&bytes);
    assert_eq!(reader.providers().count(), 0);
    while reader.next().unwrap().is_some() {}
    while decoder.next().unwrap().is_some() {}
    let names = |provider: &Provider| (provider.id(), provider.name().to_owned());
    let expected = [(Some(2), String::new()), (Some(1), "abc".to_owned())];
    assert!(reader.providers().map(names).eq(expected.clone()));
    assert!(decoder.providers().map(names).eq(expected));
}

#[test]
fn processes_are_resolved() {
    // Thread 1 is of process 5.
    let bytes = encode::to_bytes(&[MAGIC, 0x0001_0033, 5, 6]);
    let mut reader = Reader::new(&*bytes);
    reader.next().unwrap();
    let item = reader.next().unwrap().unwrap();
    let processes = [Process::Indexed(1), Process::Indexed(2), Process::Inline(7)];
    assert_eq!(processes.map(|process| item.process(process)), [5, 0, 7]);
}
