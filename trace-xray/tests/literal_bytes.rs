//! Every kind of record beside its bytes, written by hand from the specification, in both byte
//! orders. Each is encoded and decoded.

use trace_xray::layout::{Action, ByteOrder, Version};
use trace_xray::read::decode;
use trace_xray::write::encode;
use trace_xray::{
    CustomEvent, EventTime, Format, FunctionId, FunctionRecord, Header, Record, TypedEvent,
    WallClock,
};

#[track_caller]
fn same(record: Record<'_>, version: Version, order: ByteOrder, bytes: &[u8]) {
    let format = Format { version, order };
    let mut encoded = Vec::new();
    encode::record(&mut encoded, &record, format).unwrap();
    assert_eq!(encoded, bytes, "{record:?} {format:?}");
    assert_eq!(decode::record_bytes(bytes, format), Ok(bytes.len() as u64));
    assert_eq!(decode::record(bytes, format), Ok(record), "{format:?}");
}

/// A record with the same bytes in all of `versions`.
#[track_caller]
fn both(record: Record<'_>, versions: &[Version], little: &[u8], big: &[u8]) {
    for version in versions {
        same(record, *version, ByteOrder::Little, little);
        same(record, *version, ByteOrder::Big, big);
    }
}

fn from(version: Version) -> Vec<Version> {
    Version::ALL.into_iter().filter(|other| *other >= version).collect()
}

#[test]
fn header() {
    let mut header = Header {
        format: Format { version: Version::V5, order: ByteOrder::Little },
        constant_tsc: true,
        nonstop_tsc: false,
        cycle_frequency: 0x0102_0304_0506_0708,
        buffer_size: 0x1112_1314_1516_1718,
        map_id: 0x2122_2324_2526_2728,
    };
    let little = [
        5, 0, 1, 0, 1, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12,
        0x11, 0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21,
    ];
    assert_eq!(encode::header(&header), little);
    assert_eq!(decode::header(&little), Ok(header));
    header.format = Format { version: Version::V1, order: ByteOrder::Big };
    (header.constant_tsc, header.nonstop_tsc) = (false, true);
    let big = [
        0, 1, 0, 1, 0x40, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16,
        0x17, 0x18, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,
    ];
    assert_eq!(encode::header(&header), big);
    assert_eq!(decode::header(&big), Ok(header));
}

#[test]
fn invalid_headers() {
    use trace_xray::read::HeaderError::{BasicMode, NotALog, Truncated, Version};
    let with = |start: [u8; 4]| {
        let mut bytes = [0; 32];
        bytes[..4].copy_from_slice(&start);
        decode::header(&bytes).unwrap_err()
    };
    assert_eq!(decode::header(&[5, 0, 1]), Err(Truncated { found: 3 }));
    assert_eq!(with([0, 0, 1, 0]), Version { version: 0 });
    assert_eq!(with([6, 0, 1, 0]), Version { version: 6 });
    assert_eq!(with([0, 6, 0, 1]), Version { version: 6 });
    assert_eq!(with([3, 0, 0, 0]), BasicMode);
    assert_eq!(with(*b"---\n"), NotALog);
    assert_eq!(with([0; 4]), NotALog);
}

#[test]
fn functions() {
    for (action, little, big) in [
        (Action::Entry, 0x30, 0x01),
        (Action::Exit, 0x32, 0x11),
        (Action::TailExit, 0x34, 0x21),
        (Action::EntryArgs, 0x36, 0x31),
    ] {
        let function = FunctionId::new(0x0123_4563).unwrap();
        let record = Record::Function(FunctionRecord { action, function, delta: 0xa1a2_a3a4 });
        let little = [little, 0x56, 0x34, 0x12, 0xa4, 0xa3, 0xa2, 0xa1];
        let big = [big, 0x23, 0x45, 0x63, 0xa1, 0xa2, 0xa3, 0xa4];
        both(record, &Version::ALL, &little, &big);
    }
}

#[test]
fn starts_of_thread_buffers() {
    both(
        Record::NewBuffer { thread: 0x0102_0304 },
        &Version::ALL,
        &[0x01, 4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        &[0x80, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    );
    both(
        Record::WallClock(WallClock { seconds: 0x0102_0304_0506_0708, micros: 0x0001_0203 }),
        &Version::ALL,
        &[0x09, 8, 7, 6, 5, 4, 3, 2, 1, 3, 2, 1, 0, 0, 0, 0],
        &[0x84, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2, 3, 0, 0, 0],
    );
    both(
        Record::NewCpuId { cpu: 0x0102, tsc: 0x1112_1314_1516_1718 },
        &Version::ALL,
        &[0x05, 2, 1, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0, 0, 0, 0, 0],
        &[0x82, 1, 2, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0, 0, 0, 0, 0],
    );
    both(
        Record::BufferExtents { size: 0x0102_0304_0506_0708 },
        &from(Version::V2),
        &[0x0f, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0],
        &[0x87, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0],
    );
    both(
        Record::Pid { pid: 0x0102_0304 },
        &from(Version::V3),
        &[0x13, 4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        &[0x89, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    );
}

#[test]
fn bodies_of_thread_buffers() {
    both(
        Record::TscWrap { tsc: 0x0102_0304_0506_0708 },
        &Version::ALL,
        &[0x07, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0],
        &[0x83, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0],
    );
    both(
        Record::CallArgument { value: 0x0102_0304_0506_0708 },
        &Version::ALL,
        &[0x0d, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0],
        &[0x86, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0],
    );
    both(
        Record::EndOfBuffer,
        &[Version::V1],
        &[0x03, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        &[0x81, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    );
}

#[test]
fn events() {
    let custom = |time| Record::CustomEvent(CustomEvent { time, payload: b"abc" });
    both(
        custom(EventTime::Absolute { tsc: 0x0102_0304_0506_0708, cpu: None }),
        &[Version::V1, Version::V2, Version::V3],
        b"\x0b\x03\0\0\0\x08\x07\x06\x05\x04\x03\x02\x01\0\0\0abc",
        b"\x85\0\0\0\x03\x01\x02\x03\x04\x05\x06\x07\x08\0\0\0abc",
    );
    both(
        custom(EventTime::Absolute { tsc: 0x0102_0304_0506_0708, cpu: Some(0x1112) }),
        &[Version::V4],
        b"\x0b\x03\0\0\0\x08\x07\x06\x05\x04\x03\x02\x01\x12\x11\0abc",
        b"\x85\0\0\0\x03\x01\x02\x03\x04\x05\x06\x07\x08\x11\x12\0abc",
    );
    both(
        custom(EventTime::Delta(-2)),
        &[Version::V5],
        b"\x0b\x03\0\0\0\xfe\xff\xff\xff\0\0\0\0\0\0\0abc",
        b"\x85\0\0\0\x03\xff\xff\xff\xfe\0\0\0\0\0\0\0abc",
    );
    both(
        Record::TypedEvent(TypedEvent { delta: 0x0102, event_type: 0x1112, payload: b"abc" }),
        &[Version::V5],
        b"\x11\x03\0\0\0\x02\x01\0\0\x12\x11\0\0\0\0\0abc",
        b"\x88\0\0\0\x03\0\0\x01\x02\x11\x12\0\0\0\0\0abc",
    );
}

#[test]
fn records_that_cannot_be_decoded() {
    use trace_xray::layout::MetadataKind;
    use trace_xray::read::DecodeError;
    let decode = |bytes: &[u8], version| {
        decode::record(bytes, Format::little(version)).map(|record| format!("{record:?}"))
    };
    let mut bytes = [0; 20];
    for kind in 10..=127 {
        bytes[0] = kind << 1 | 1;
        assert_eq!(decode(&bytes, Version::V5), Err(DecodeError::Kind { kind }));
    }
    for action in 4..=7 {
        bytes[0] = action << 1;
        assert_eq!(decode(&bytes, Version::V5), Err(DecodeError::Action { action }));
    }
    bytes[0] = 0x03;
    let (kind, version) = (MetadataKind::EndOfBuffer, Version::V2);
    assert_eq!(decode(&bytes, version), Err(DecodeError::NotInVersion { kind, version }));
    for (size, kind) in [(0, 0x0b), (-1, 0x0b), (i32::MIN, 0x11)] {
        bytes[0] = kind;
        bytes[1..5].copy_from_slice(&i32::to_le_bytes(size));
        assert_eq!(decode(&bytes, Version::V5), Err(DecodeError::PayloadSize { size }));
    }
    bytes[1] = 5;
    bytes[2..5].fill(0);
    let cut = DecodeError::Truncated { expected: 21, found: 20 };
    assert_eq!(decode(&bytes, Version::V5), Err(cut));
    let cut = DecodeError::Truncated { expected: 8, found: 7 };
    assert_eq!(decode(&[0; 7], Version::V5), Err(cut));
}

#[test]
fn records_that_a_version_does_not_have() {
    use trace_xray::layout::MetadataKind;
    use trace_xray::write::EncodeError;
    let record = |record: Record<'_>, version| {
        let mut bytes = Vec::new();
        let result = encode::record(&mut bytes, &record, Format::little(version));
        assert_eq!(bytes.is_empty(), result.is_err());
        result
    };
    let error = |kind, version| Err(EncodeError::NotInVersion { kind, version });
    let payload: &[u8] = b"abc";
    let extents = Record::BufferExtents { size: 1 };
    let typed = Record::TypedEvent(TypedEvent { delta: 0, event_type: 1, payload });
    let delta = Record::CustomEvent(CustomEvent { time: EventTime::Delta(0), payload });
    let (v1, v2, v4, v5) = (Version::V1, Version::V2, Version::V4, Version::V5);
    assert_eq!(record(extents, v1), error(MetadataKind::BufferExtents, v1));
    assert_eq!(record(Record::EndOfBuffer, v2), error(MetadataKind::EndOfBuffer, v2));
    assert_eq!(record(Record::Pid { pid: 1 }, v2), error(MetadataKind::Pid, v2));
    assert_eq!(record(typed, v4), error(MetadataKind::TypedEvent, v4));
    assert_eq!(record(delta, v4), error(MetadataKind::CustomEvent, v4));
    for cpu in [None, Some(1)] {
        let time = EventTime::Absolute { tsc: 1, cpu };
        let event = Record::CustomEvent(CustomEvent { time, payload });
        assert_eq!(record(event, v5), error(MetadataKind::CustomEvent, v5));
    }
    let empty = Record::CustomEvent(CustomEvent { time: EventTime::Delta(0), payload: b"" });
    assert_eq!(record(empty, v5), Err(EncodeError::PayloadSize { size: 0 }));
}
