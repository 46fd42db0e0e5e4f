//! Tests against words written by hand from the specification.

use super::*;

#[test]
fn fields_drop_higher_bits() {
    type Middle = Field<4, 15>;
    assert_eq!(Middle::MAX, 0xfff);
    assert_eq!(Middle::make(0x1_2345), 0x3450);
    assert_eq!(Middle::get(0xffff_ffff_ffff_123f), 0x123);
    assert_eq!(Middle::set(0xffff, 0), 0x000f);
    assert_eq!(Middle::set(0, u64::MAX), 0xfff0);
}

#[test]
fn a_field_can_have_64_bits() {
    type Word = Field<0, 63>;
    assert_eq!(Word::MAX, u64::MAX);
    assert_eq!(Word::set(7, u64::MAX), u64::MAX);
    assert_eq!(Field::<63, 63>::make(3), 0x8000_0000_0000_0000);
}

#[test]
fn magic_word_is_a_trace_info_record() {
    assert_eq!(record::Type::get(MAGIC_WORD), 0);
    assert_eq!(record::Size::get(MAGIC_WORD), 1);
    assert_eq!(metadata::Type::get(MAGIC_WORD), 4);
    assert_eq!(trace_info::Type::get(MAGIC_WORD), 0);
    assert_eq!(trace_info::Magic::get(MAGIC_WORD), MAGIC_NUMBER);
    assert_eq!(MAGIC_WORD.to_le_bytes(), *b"\x10\x00\x04\x46\x78\x54\x16\x00");
    assert_eq!(MAGIC_WORD.to_be_bytes(), MAGIC_WORD_REVERSED.to_le_bytes());
}

#[test]
fn event_header_places_each_field() {
    let header = event_header(
        EventType::FlowEnd,
        0x123,
        15,
        ThreadRef::indexed(0x45),
        StringRef::indexed(0x6789),
        StringRef::inline(0x0abc),
    );
    assert_eq!(header, 0x8abc_6789_45fa_1234);
}

#[test]
fn string_refs() {
    assert_eq!(StringRef::EMPTY.bits(), 0);
    assert_eq!(StringRef::indexed(0x7fff).bits(), 0x7fff);
    assert_eq!(StringRef::indexed(0x8001).bits(), 0x0001);
    assert_eq!(StringRef::inline(0), StringRef::EMPTY);
    assert_eq!(StringRef::inline(32_000).bits(), 0xfd00);
    assert_eq!(StringRef::from_bits(0x8005).inline_bytes(), Some(5));
    assert_eq!(StringRef::from_bits(0x8005).index(), None);
    assert_eq!(StringRef::from_bits(5).index(), Some(5));
    assert_eq!(StringRef::EMPTY.index(), None);
    assert_eq!(StringRef::EMPTY.inline_bytes(), None);
}

#[test]
fn thread_refs() {
    assert!(ThreadRef::INLINE.is_inline());
    assert!(!ThreadRef::indexed(255).is_inline());
    assert_eq!(ThreadRef::indexed(255).bits(), 255);
}

#[test]
fn type_numbers() {
    assert_eq!(RecordType::from_bits(10), Some(RecordType::Profiler));
    assert_eq!(RecordType::from_bits(11), None);
    assert_eq!(RecordType::Large.bits(), 15);
    assert_eq!(EventType::from_bits(4), Some(EventType::DurationComplete));
    assert_eq!(EventType::from_bits(11), None);
    assert_eq!(ArgumentType::Blob.bits(), 10);
    assert_eq!(MetadataType::from_bits(0), None);
}

#[test]
fn bytes_to_words() {
    assert_eq!([0, 1, 8, 9].map(words_for_bytes), [0, 1, 1, 2]);
}

#[test]
fn strings_are_cut_between_characters() {
    assert_eq!(cut_str("abc", 3), "abc");
    assert_eq!(cut_str("abc", 2), "ab");
    assert_eq!(cut_str("a\u{e9}b", 2), "a");
    assert_eq!(cut_str("\u{1f600}", 3), "");
}

#[test]
fn limits_in_bytes_and_words() {
    assert_eq!(MAX_RECORD_WORDS as u64, record::Size::MAX);
    assert_eq!(MAX_STRING_RECORD_BYTES, 32_752);
    assert_eq!(MAX_LARGE_RECORD_WORDS, 0xffff_ffff);
    assert_eq!(MAX_READ_BYTES, 0x1000_0000);
    assert_eq!(ARTIFICIAL_KOID_BIT, 0x8000_0000_0000_0000);
}
