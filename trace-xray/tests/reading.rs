//! Handmade logs, and the reader's results.

mod common;

use common::{header, items, Made};
use trace_xray::layout::{Action, ByteOrder, MetadataKind, Version};
use trace_xray::read::{DecodeError, Limits, ReadError};
use trace_xray::write::encode;
use trace_xray::{
    CustomEvent, EventTime, Format, FunctionId, FunctionRecord, Record, TypedEvent, WallClock,
};

/// A log with every kind of record that the version has.
fn everything(format: Format) -> Made {
    let mut log = Made::new(format, 1024);
    log.buffer(|log| {
        log.start(7, 8);
        log.function(Action::Entry, 1, 5);
        log.function(Action::EntryArgs, 2, 6);
        log.put(Record::CallArgument { value: 41 });
        log.put(Record::CallArgument { value: 42 });
        log.put(Record::TscWrap { tsc: 5000 });
        let time = match format.version {
            Version::V5 => EventTime::Delta(10),
            Version::V4 => EventTime::Absolute { tsc: 5010, cpu: Some(3) },
            _ => EventTime::Absolute { tsc: 5010, cpu: None },
        };
        log.put(Record::CustomEvent(CustomEvent { time, payload: b"custom" }));
        if format.version == Version::V5 {
            let event = TypedEvent { delta: -5, event_type: 9, payload: b"typed" };
            log.put(Record::TypedEvent(event));
        }
        log.function(Action::TailExit, 2, 1);
        log.put(Record::NewCpuId { cpu: 2, tsc: 6000 });
        log.function(Action::Exit, 1, 100);
    });
    log
}

fn all_formats() -> impl Iterator<Item = Format> {
    let orders = [ByteOrder::Little, ByteOrder::Big];
    let with = |order| Version::ALL.into_iter().map(move |version| Format { version, order });
    orders.into_iter().flat_map(with)
}

#[test]
fn every_record_of_every_version() {
    for format in all_formats() {
        let log = everything(format);
        let (items, errors) = items(&log.bytes, log.bytes.len());
        assert_eq!(errors, [""; 0], "{format:?}");
        let records: Vec<_> = items.iter().map(|item| item.record).collect();
        assert_eq!(records, log.records, "{format:?}");
        let offsets: Vec<_> = items.iter().map(|item| item.offset).collect();
        assert_eq!(offsets, log.offsets, "{format:?}");
    }
}

#[test]
fn times_cpus_threads_and_processes() {
    for format in all_formats() {
        let log = everything(format);
        let (items, _) = items(&log.bytes, log.bytes.len());
        let body: Vec<_> = items.iter().filter(|item| item.tsc >= 1000).collect();
        let v5 = format.version == Version::V5;
        let tail_exit = if v5 { 5006 } else { 5001 };
        let mut expected = vec![1000, 1005, 1011, 1011, 1011, 5000, 5010];
        expected.extend(v5.then_some(5005));
        expected.extend([tail_exit, 6000, 6100]);
        // The end of a buffer has the time of the record before.
        expected.extend((format.version == Version::V1).then_some(6100));
        assert_eq!(body.iter().map(|item| item.tsc).collect::<Vec<_>>(), expected, "{format:?}");
        let custom = body[6];
        assert_eq!(custom.cpu, if format.version == Version::V4 { 3 } else { 1 });
        assert_eq!(body[expected.len() - 1].cpu, 2);
        assert!(body.iter().all(|item| item.thread == 8));
        let process = (format.version >= Version::V3).then_some(7);
        assert!(body.iter().all(|item| item.process == process), "{format:?}");
        let wall_clock = Some(WallClock { seconds: 12, micros: 345_678 });
        assert!(body.iter().all(|item| item.wall_clock == wall_clock));
    }
}

#[test]
fn pieces_of_any_size_make_no_difference() {
    for format in all_formats() {
        let mut log = everything(format);
        log.extend(&everything(format));
        let whole = items(&log.bytes, log.bytes.len());
        for size in 1..200 {
            assert_eq!(items(&log.bytes, size), whole, "{format:?}, pieces of {size}");
        }
    }
}

#[test]
fn more_thread_buffers_and_more_logs() {
    for format in all_formats() {
        let one = everything(format);
        let mut log = Made::new(format, 1024);
        for _ in 0..3 {
            log.extend_buffers(&one);
        }
        for other in all_formats() {
            log.extend(&everything(other));
        }
        let (found, errors) = items(&log.bytes, log.bytes.len());
        assert_eq!(errors, [""; 0], "{format:?}");
        assert_eq!(found.len(), log.records.len(), "{format:?}");
    }
}

/// In version 1 the rest of a buffer has any content.
#[test]
fn padding_behind_the_end_of_buffer() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let format = Format { version: Version::V1, order };
        for garbage in [0x00, 0x01, 0x03, 0x5a, 0x80, 0xff] {
            let one = everything(format);
            let mut log = Made::new(format, 1024);
            for _ in 0..3 {
                let start = log.bytes.len();
                log.extend_buffers(&one);
                log.bytes.resize(start + 1024, garbage);
            }
            log.extend(&one);
            let (found, errors) = items(&log.bytes, 100);
            assert_eq!(errors, [""; 0], "{garbage:#x}");
            assert_eq!(found.len(), 4 * one.records.len(), "{garbage:#x}");
        }
    }
}

/// The log is cut off, or has another thread buffer before the end of the padding.
#[test]
fn padding_that_is_not_complete_is_an_error() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let one = everything(Format { version: Version::V1, order });
        let padded = |size: usize| [&one.bytes[..], &vec![0x5a; size]].concat();
        let two = [&one.bytes[..], &[0; 16], &one.bytes[32..]].concat();
        for log in [padded(1), padded(500), two] {
            let (offset, found) = (one.bytes.len(), log.len() - one.bytes.len());
            let expected = 1024 - (offset - 32);
            for size in [1, 100, 4096] {
                let (items, errors) = items(&log, size);
                assert_eq!(items.len(), one.records.len());
                let error = format!(
                    "PaddingTruncated {{ offset: {offset}, expected: {expected}, found: {found} }}"
                );
                assert_eq!(errors, [error], "{order:?}");
            }
        }
        let whole = padded(1024 - (one.bytes.len() - 32));
        assert_eq!(items(&whole, 100).1, [""; 0], "{order:?}");
    }
}

/// The ids of functions start at 1.
#[test]
fn function_0_is_an_error() {
    for format in all_formats() {
        let mut log = Made::new(format, 1024);
        log.buffer(|log| {
            log.start(7, 8);
            log.function(Action::Entry, 1, 5);
            let mut record = encode::function(&function(1, 6), format.order);
            // The id has the bits 4 to 31.
            match format.order {
                ByteOrder::Little => record[0] &= 0x0f,
                ByteOrder::Big => record[3] &= 0xf0,
            }
            log.raw(&record);
            log.function(Action::Exit, 1, 5);
        });
        let (found, errors) = items(&log.bytes, 100);
        assert_eq!(found.iter().map(|item| item.record).collect::<Vec<_>>(), log.records);
        let exit = found.iter().rfind(|item| item.record.kind().is_none()).unwrap();
        assert_eq!(exit.tsc, 1016, "the time of the record counts");
        let offset = exit.offset - 8;
        assert_eq!(errors, [format!("NoFunction {{ offset: {offset} }}")], "{format:?}");
    }
}

fn function(function: u32, delta: u32) -> FunctionRecord {
    FunctionRecord { action: Action::Entry, function: FunctionId::new(function).unwrap(), delta }
}

#[test]
fn a_header_that_looks_like_a_thread_buffer() {
    // Version 1, little endian: both start with byte 1. Thread 256 has the same first bytes.
    let format = Format::little(Version::V1);
    let mut log = Made::new(format, 0);
    log.buffer(|log| {
        log.start(0, 256);
        log.function(Action::Entry, 1, 5);
    });
    let one = log.bytes.clone();
    log.bytes.extend_from_slice(&one);
    let (found, errors) = items(&log.bytes, 7);
    assert_eq!((found.len(), errors.len()), (2 * log.records.len(), 0));
}

#[test]
fn zeros_between_and_behind_thread_buffers_are_padding() {
    for format in all_formats() {
        for zeros in [1, 7, 8, 16, 40, 4096] {
            let mut one = everything(format);
            // In version 1 the buffer has no space left.
            let size = one.bytes.len() as u64 - 32;
            one.bytes.splice(..32, header(format, size));
            let mut log = one.bytes.clone();
            log.resize(log.len() + zeros, 0);
            log.extend_from_slice(&one.bytes);
            log.resize(log.len() + zeros, 0);
            let (found, errors) = items(&log, 64);
            assert_eq!(errors, [""; 0], "{format:?}, {zeros} zeros");
            assert_eq!(found.len(), 2 * one.records.len(), "{format:?}, {zeros} zeros");
        }
    }
}

#[test]
fn a_log_cut_anywhere_keeps_the_records_before() {
    for format in all_formats() {
        let log = everything(format);
        for size in 33..log.bytes.len() {
            let (found, errors) = items(&log.bytes[..size], 50);
            let whole = log.offsets.iter().filter(|offset| **offset < size as u64).count();
            let ends_with_record = log.offsets.contains(&(size as u64));
            let expected = if ends_with_record { whole } else { whole - 1 };
            assert_eq!(found.len(), expected, "{format:?}, {size} bytes");
            assert_eq!(errors.len(), 1, "{format:?}, {size} bytes: {errors:?}");
        }
    }
}

#[test]
fn a_cut_header() {
    let log = header(Format::little(Version::V5), 1024);
    for size in 0..32 {
        let (found, errors) = items(&log[..size], 8);
        assert_eq!((found.len(), errors.len()), (0, 1));
        assert!(errors[0].starts_with("Header { offset: 0"), "{errors:?}");
    }
    assert_eq!(items(&log, 8), (vec![], vec![]));
}

/// A log of two thread buffers, the first of which is changed.
fn damaged(format: Format, change: impl Fn(&mut Made)) -> (usize, Vec<String>) {
    let one = everything(format);
    let mut log = Made::new(format, 1024);
    log.buffer(|log| {
        log.start(7, 8);
        change(log);
    });
    if !format.version.has_extents() {
        log.bytes.resize(32 + 1024, 0x5a);
    }
    log.extend_buffers(&one);
    let (found, errors) = items(&log.bytes, 100);
    let intact = &found[found.len() - one.records.len()..];
    let intact: Vec<_> = intact.iter().map(|item| item.record).collect();
    assert_eq!(intact, one.records, "the next thread buffer is read, {errors:?}");
    (found.len() - one.records.len(), errors)
}

#[test]
fn damaged_records_cost_the_rest_of_their_thread_buffer() {
    for format in all_formats() {
        let start = if format.version >= Version::V3 { 4 } else { 3 };
        let start = start + usize::from(format.version.has_extents());
        let unknown = if format.order == ByteOrder::Little { 0xff } else { 0xfe };
        let (found, errors) = damaged(format, |log| {
            log.function(Action::Entry, 1, 5);
            log.raw(&[unknown; 16]);
            log.function(Action::Exit, 1, 5);
        });
        assert_eq!((found, errors.len()), (start + 1, 1), "{format:?} {errors:?}");
        assert!(errors[0].contains("Kind { kind: 12"), "{errors:?}");
        let action = if format.order == ByteOrder::Little { 0x08 } else { 0x40 };
        let (found, errors) = damaged(format, |log| log.raw(&[action; 8]));
        assert_eq!((found, errors.len()), (start, 1), "{format:?} {errors:?}");
        assert!(errors[0].contains("Action { action: 4 }"), "{errors:?}");
    }
}

#[test]
fn unwritten_records_are_reported() {
    for format in all_formats() {
        let (_, errors) = damaged(format, |log| {
            log.function(Action::Entry, 1, 5);
            log.raw(&[0; 80]);
        });
        assert_eq!(errors.len(), 1, "{format:?} {errors:?}");
        assert!(errors[0].starts_with("Zeros"), "{errors:?}");
    }
}

#[test]
fn records_at_a_wrong_place_are_skipped() {
    for format in all_formats() {
        let (found, errors) = damaged(format, |log| {
            log.function(Action::Entry, 1, 5);
            log.put_unchecked(Record::CallArgument { value: 1 });
            log.put_unchecked(Record::WallClock(WallClock { seconds: 1, micros: 1 }));
            log.function(Action::Exit, 1, 5);
        });
        let body = if format.version.has_extents() { 2 } else { 3 };
        let start = if format.version >= Version::V3 { 4 } else { 3 };
        let start = start + usize::from(format.version.has_extents());
        assert_eq!(found, start + body, "{format:?}");
        let kinds = [MetadataKind::CallArgument, MetadataKind::WallClock];
        for (error, kind) in errors.iter().zip(kinds) {
            assert!(error.starts_with("Unexpected"), "{errors:?}");
            assert!(error.contains(&kind.to_string()), "{errors:?}");
        }
        assert_eq!(errors.len(), 2);
    }
}

#[test]
fn a_thread_buffer_without_a_start() {
    for version in [Version::V2, Version::V5] {
        let format = Format::little(version);
        let mut log = Made::new(format, 1024);
        log.buffer(|log| log.put(Record::NewBuffer { thread: 1 }));
        log.buffer(|log| log.function(Action::Entry, 1, 5));
        log.buffer(|_| {});
        let (found, errors) = items(&log.bytes, 100);
        assert_eq!(found.len(), 4);
        assert_eq!(errors.len(), 2, "{errors:?}");
        assert!(errors[0].starts_with("NoStart { offset: 64 }"), "{errors:?}");
        assert!(errors[1].starts_with("Unexpected { offset: 80, kind: None }"), "{errors:?}");
    }
}

#[test]
fn a_record_that_reaches_beyond_its_thread_buffer() {
    for version in [Version::V2, Version::V5] {
        let format = Format::little(version);
        let mut log = everything(format);
        let size = log.bytes.len() as u64 - 48 - 4;
        log.bytes[33..41].copy_from_slice(&size.to_le_bytes());
        let (_, errors) = items(&log.bytes, 100);
        let start = log.offsets[log.offsets.len() - 1];
        let overrun = format!("Overrun {{ offset: {start}, size: 8, left: 4 }}");
        let garbage = format!("NotABuffer {{ offset: {} }}", start + 4);
        assert_eq!(errors, [overrun, garbage]);
    }
}

#[test]
fn version_1_without_an_end_of_buffer() {
    let format = Format::little(Version::V1);
    let mut log = Made::new(format, 0);
    for _ in 0..2 {
        log.start(0, 5);
        log.function(Action::Entry, 1, 5);
    }
    let (found, errors) = items(&log.bytes, 100);
    assert_eq!(found.len(), log.records.len());
    let missing = |offset| format!("NoEndOfBuffer {{ offset: {offset} }}");
    assert_eq!(errors, [missing(32 + 56), missing(32 + 2 * 56)]);
}

#[test]
fn garbage_between_thread_buffers() {
    for format in all_formats().filter(|format| format.version.has_extents()) {
        let one = everything(format);
        let mut log = one.bytes.clone();
        let at = log.len();
        log.extend_from_slice(&[0x5a; 1000]);
        log.extend_from_slice(&one.bytes[32..]);
        for piece in [10, 100, 5000] {
            let (found, errors) = items(&log, piece);
            assert_eq!(errors, [format!("NotABuffer {{ offset: {at} }}")]);
            assert_eq!(found.len(), 2 * one.records.len());
        }
    }
}

#[test]
fn payloads_beyond_the_limit() {
    let format = Format::little(Version::V5);
    let mut log = Made::new(format, 1 << 20);
    log.buffer(|log| {
        log.start(7, 8);
        let payload = vec![0x5a; 100_000];
        let time = EventTime::Delta(10);
        log.put(Record::CustomEvent(CustomEvent { time, payload: &payload }));
        log.function(Action::Entry, 1, 5);
    });
    let limits = Limits { payload_bytes: 99_999 };
    let (found, errors) = common::items_with(&log.bytes, 1000, limits);
    assert_eq!(errors.len(), 1);
    assert!(errors[0].starts_with("PayloadTooLarge { offset: 112, size: 100016"), "{errors:?}");
    // The event is skipped, its time is applied.
    assert_eq!((found.len(), found[found.len() - 1].tsc), (6, 1015));
    let limits = Limits { payload_bytes: 100_000 };
    let (found, errors) = common::items_with(&log.bytes, 1000, limits);
    assert_eq!((found.len(), errors.len()), (7, 0));
}

/// Large sizes in a short log cost no memory and no time.
#[test]
fn hostile_sizes() {
    for version in Version::ALL {
        let format = Format::little(version);
        let mut log = Made::new(format, u64::MAX);
        if version.has_extents() {
            log.put(Record::BufferExtents { size: u64::MAX });
        }
        log.start(7, 8);
        log.raw(b"\x0b\xff\xff\xff\x7f\0\0\0\0\0\0\0\0\0\0\0");
        let (_, errors) = items(&log.bytes, 1000);
        assert!(errors[0].starts_with("PayloadTooLarge"), "{errors:?}");
    }
}

#[test]
fn errors_have_the_position() {
    let error = ReadError::Record { offset: 40, error: DecodeError::Kind { kind: 12 } };
    assert_eq!(error.to_string(), "invalid record at byte 40");
    assert_eq!(error.offset(), 40);
    let kind = Some(MetadataKind::CallArgument);
    let error = ReadError::Unexpected { offset: 40, kind };
    assert_eq!(error.to_string(), "a CallArgument record is not allowed at byte 40");
}

/// The size of a thread buffer reaches into the next ones.
#[test]
fn calls_belong_to_the_thread_whose_buffer_has_them() {
    for format in all_formats().filter(|format| format.version.has_extents()) {
        // The rest of fewer bytes than a record has, too.
        for surplus in [1, 7, 8, 15, 16, 150] {
            calls_with_wrong_extents(format, surplus);
        }
    }
}

/// The first of three thread buffers says that it has `surplus` more bytes than it has.
fn calls_with_wrong_extents(format: Format, surplus: u64) {
    let mut log = Made::new(format, 512);
    for thread in 8..11 {
        log.buffer(|log| {
            log.start(7, thread);
            log.function(Action::Entry, thread as u32, 5);
            log.function(Action::Exit, thread as u32, 5);
        });
    }
    let second = log.offsets.iter().zip(&log.records).filter_map(|(offset, record)| {
        matches!(record, Record::BufferExtents { .. }).then_some(*offset)
    });
    let second = second.collect::<Vec<_>>()[1];
    let Record::BufferExtents { size } = log.records[0] else { panic!() };
    let size = size + surplus;
    let mut extents = Vec::new();
    encode::record(&mut extents, &Record::BufferExtents { size }, format).unwrap();
    log.bytes[32..48].copy_from_slice(&extents);
    log.records[0] = Record::BufferExtents { size };
    for piece in 1..200 {
        let (items, errors) = items(&log.bytes, piece);
        let records: Vec<_> = items.iter().map(|item| item.record).collect();
        assert!(records == log.records, "{format:?}, {surplus}, pieces of {piece}");
        let wrong = format!("WrongExtents {{ offset: {second}, left: {surplus} }}");
        assert_eq!(errors, [wrong], "{format:?}, pieces of {piece}");
        for item in &items {
            if let Record::Function(function) = item.record {
                assert_eq!(item.thread as u32, function.function.number(), "{format:?}");
            }
        }
    }
}
