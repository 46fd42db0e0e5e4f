//! Hostile content and damaged archives.

use proptest::prelude::*;
use trace_format::{
    encode, Argument, Arguments, EventKind, ReadError, Reader, Record, Text, Value,
};

use super::{convert_bytes, head};
use crate::chrome::write;
use crate::testing::{archive, event};
use crate::ConvertError;

/// Returns the words of `record` as bytes.
fn bytes(record: &Record<'_>) -> Vec<u8> {
    let mut words = Vec::new();
    encode::append(&mut words, record).unwrap();
    encode::to_bytes(&words)
}

#[test]
fn a_cut_archive_becomes_complete_json() {
    let mut input = archive(&[event(EventKind::DurationBegin, Arguments::NONE)]);
    let last = bytes(&event(EventKind::DurationEnd, Arguments::NONE));
    input.extend_from_slice(&last[..last.len() - 3]);
    let (events, conversion) = convert_bytes(&input);
    assert_eq!(events, [head("B") + "}"]);
    assert!(matches!(conversion.damage.cut, Some(ReadError::Truncated { .. })));
    assert!(!conversion.damage.is_readable());
}

#[test]
fn records_after_a_malformed_one_are_converted() {
    let mut input = archive(&[]);
    // An initialization record with a rate of 0.
    input.extend_from_slice(&0x21_u64.to_le_bytes());
    input.extend_from_slice(&0_u64.to_le_bytes());
    input.extend_from_slice(&bytes(&event(EventKind::DurationEnd, Arguments::NONE)));
    let (events, conversion) = convert_bytes(&input);
    assert_eq!(events, [head("E") + "}"]);
    assert_eq!(conversion.damage.stats.bad_records, 1);
    assert!(matches!(conversion.damage.first_bad_record, Some(ReadError::Record { .. })));
}

#[test]
fn unresolved_references_are_shown_and_counted_once() {
    let mut input = archive(&[]);
    let mut record = event(EventKind::Instant { scope: None }, Arguments::NONE);
    if let Record::Event(event) = &mut record {
        event.name = Text::Indexed(77);
    }
    input.extend_from_slice(&bytes(&record));
    let (events, conversion) = convert_bytes(&input);
    assert_eq!(events, [head("i").replace(":\"name\"", ":\"<unknown string>\"") + ",\"s\":\"t\"}"]);
    assert_eq!(conversion.damage.audit.unknown_strings, 1);
    assert!(!conversion.damage.is_readable());
}

#[test]
fn other_formats_are_refused() {
    for input in [&b""[..], b"abc", &[0; 64], b"\x00\x16\x54\x78\x46\x04\x00\x11"] {
        let error = write(Reader::new(input), Vec::new()).unwrap_err();
        assert!(matches!(error, ConvertError::Read(_)), "{error:?}");
    }
}

#[test]
fn output_errors_are_returned() {
    let input = archive(&[]);
    let mut full: &mut [u8] = &mut [0; 10];
    let error = write(Reader::new(&input[..]), &mut full).unwrap_err();
    assert!(matches!(error, ConvertError::Write(_)), "{error:?}");
}

#[test]
fn control_characters_in_names_are_escaped() {
    let mut record = event(EventKind::DurationEnd, Arguments::NONE);
    if let Record::Event(event) = &mut record {
        event.category = Text::Inline(b"\"c\\\n");
        event.name = Text::Inline(b"n\x00\xc3");
    }
    let (events, _) = convert_bytes(&archive(&[record]));
    let names = "\"cat\":\"\\\"c\\\\\\n\",\"name\":\"n\\u0000\u{fffd}\"";
    assert!(events.concat().contains(names), "{events:?}");
}

fn value_of(number: u64, bytes: &[u8]) -> Value<'_> {
    match number % 8 {
        0 => Value::Uint64(number),
        1 => Value::Int64(number as i64),
        2 => Value::Double(f64::from_bits(number)),
        3 => Value::Pointer(number),
        4 => Value::Koid(number),
        5 => Value::Blob(bytes),
        6 => Value::Null,
        _ => Value::String(Text::Inline(bytes)),
    }
}

fn kind_of(number: u64) -> EventKind {
    let id = number;
    match number % 5 {
        0 => EventKind::Instant { scope: None },
        1 => EventKind::Counter { id },
        2 => EventKind::DurationComplete { end: id },
        3 => EventKind::AsyncBegin { id },
        _ => EventKind::FlowEnd { id },
    }
}

proptest! {
    /// `convert_bytes` parses the JSON.
    #[test]
    fn any_names_and_values_become_valid_json(
        strings in proptest::collection::vec(any::<Vec<u8>>(), 3..10),
        numbers in proptest::collection::vec(any::<u64>(), 10),
    ) {
        let list: Vec<Argument<'_>> = strings.iter().zip(&numbers).map(|(bytes, number)| {
            Argument { name: Text::Inline(bytes), value: value_of(*number, bytes) }
        }).collect();
        let mut record = event(kind_of(numbers[9]), &list[..]);
        if let Record::Event(event) = &mut record {
            event.ticks = numbers[0];
            event.category = Text::Inline(&strings[0]);
            event.name = Text::Inline(&strings[1]);
        }
        let (_, conversion) = convert_bytes(&archive(&[record, record]));
        prop_assert_eq!(conversion.events, 2);
    }

    #[test]
    fn any_bytes_after_the_magic_number_become_valid_json(words in proptest::collection::vec(any::<u64>(), 0..200)) {
        let mut input = archive(&[]);
        for word in words {
            // Small sizes lead to more records.
            input.extend_from_slice(&(word & !0xff00).to_le_bytes());
        }
        convert_bytes(&input);
    }
}
