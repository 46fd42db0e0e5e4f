//! Limits of the reader.

use trace_format::{encode, Limits, Reader};

use crate::{lines, MAGIC, SECTION_1, SECTION_2};

#[test]
fn large_records_are_limited() {
    let mut words = vec![MAGIC, 0x0000_0100_001f_004f, 0, 8];
    let large_words = 0x1_f004;
    words.resize(1 + large_words, 0);
    words.extend([0x0000_0000_0002_0044, 7, 8, 9]);
    let bytes = encode::to_bytes(&words);
    assert_eq!(lines(Reader::new(&*bytes)).len(), 1);
    let limits = Limits { record_bytes: 1 << 16, ..Limits::default() };
    let found = lines(Reader::with_limits(&*bytes, limits));
    assert_eq!(found.len(), 2);
    assert_eq!(found[0], "the record at byte 8 has 1015840 bytes, more than 65536; it is skipped");
    assert_eq!(found[1], "1015848: None \"\" 7 ns 8/9  ");
}

#[test]
fn memory_does_not_grow_with_a_claimed_size() {
    let words = [MAGIC, 0x0000_000f_ffff_ffff, 1, 2];
    let limits = Limits { record_bytes: u64::MAX, ..Limits::default() };
    let bytes = encode::to_bytes(&words);
    let expected = "the trace ends within the record at byte 8: 24 of 34359738360 bytes";
    assert_eq!(lines(Reader::with_limits(&*bytes, limits)), [expected]);
    let limits = Limits::default();
    assert_eq!(lines(Reader::with_limits(&*bytes, limits)), [expected]);
}

#[test]
fn providers_are_limited() {
    let limits = Limits { providers: 1, ..Limits::default() };
    let bytes = encode::to_bytes(&[MAGIC, SECTION_1, SECTION_1, SECTION_2, SECTION_1]);
    let found = lines(Reader::with_limits(&*bytes, limits));
    assert_eq!(found, ["more than 1 providers, at byte 24"]);
}
