//! Each kind of record in each version: the results of LLVM's reader and of ours.

use trace_xray::layout::{Action, MetadataKind, Version};
use trace_xray::write::encode;
use trace_xray::{CustomEvent, EventTime, Format, Record, TypedEvent, WallClock};

use crate::common::{items, Made};
use crate::text;
use crate::tools::{dump, verify};

/// The readers that accept a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Read {
    /// Both read it.
    Yes,
    /// Neither reads it.
    No,
    /// Only LLVM's reader reads it.
    Llvm,
}
use Read::{Llvm, No, Yes};

/// For each kind the versions 1 to 5.
const TABLE: [(MetadataKind, [Read; 5]); 10] = [
    (MetadataKind::NewBuffer, [Yes; 5]),
    (MetadataKind::EndOfBuffer, [Yes, No, No, No, No]),
    (MetadataKind::NewCpuId, [Yes; 5]),
    (MetadataKind::TscWrap, [Yes; 5]),
    (MetadataKind::WallClock, [Yes; 5]),
    (MetadataKind::CustomEvent, [Yes; 5]),
    (MetadataKind::CallArgument, [Yes; 5]),
    // In version 1 a thread buffer starts with NewBuffer. LLVM ignores what is before it.
    (MetadataKind::BufferExtents, [Llvm, Yes, Yes, Yes, Yes]),
    (MetadataKind::TypedEvent, [Yes; 5]),
    (MetadataKind::Pid, [Yes; 5]),
];

/// Returns a record of a kind in the form of a version.
fn record(kind: MetadataKind, version: Version) -> Record<'static> {
    let payload = b"payload";
    match kind {
        MetadataKind::NewBuffer => Record::NewBuffer { thread: 70_001 },
        MetadataKind::EndOfBuffer => Record::EndOfBuffer,
        MetadataKind::NewCpuId => Record::NewCpuId { cpu: 3, tsc: 2000 },
        MetadataKind::TscWrap => Record::TscWrap { tsc: 3000 },
        MetadataKind::WallClock => Record::WallClock(WallClock { seconds: 5, micros: 6 }),
        MetadataKind::CallArgument => Record::CallArgument { value: u64::MAX },
        MetadataKind::BufferExtents => Record::BufferExtents { size: 72 },
        MetadataKind::Pid => Record::Pid { pid: 12 },
        MetadataKind::TypedEvent => {
            Record::TypedEvent(TypedEvent { delta: 7, event_type: 8, payload })
        }
        MetadataKind::CustomEvent => {
            let time = match version {
                Version::V5 => EventTime::Delta(7),
                Version::V4 => EventTime::Absolute { tsc: 1007, cpu: Some(4) },
                _ => EventTime::Absolute { tsc: 1007, cpu: None },
            };
            Record::CustomEvent(CustomEvent { time, payload })
        }
    }
}

/// Appends a record in the form of a version, also if the version does not have it.
fn append(log: &mut Made, record: &Record<'_>) {
    let kind = record.kind().unwrap();
    let since = kind.since().max(log.format.version);
    let version = if kind == MetadataKind::EndOfBuffer { Version::V1 } else { since };
    encode::record(&mut log.bytes, record, Format { version, ..log.format }).unwrap();
}

/// Returns a log that has a record of the kind at its place.
fn log_with(kind: MetadataKind, version: Version) -> Vec<u8> {
    let record = record(kind, version);
    let mut log = Made::new(Format::little(version), 0);
    let is = |other| (kind == other).then_some(record);
    let content = |log: &mut Made| {
        append(log, &is(MetadataKind::NewBuffer).unwrap_or(Record::NewBuffer { thread: 8 }));
        let wall_clock = Record::WallClock(WallClock { seconds: 1, micros: 2 });
        append(log, &is(MetadataKind::WallClock).unwrap_or(wall_clock));
        if let Some(pid) = is(MetadataKind::Pid) {
            append(log, &pid);
        }
        append(log, &Record::NewCpuId { cpu: 1, tsc: 1000 });
        log.function(Action::EntryArgs, 1, 5);
        let at_start = [
            MetadataKind::NewBuffer,
            MetadataKind::WallClock,
            MetadataKind::Pid,
            MetadataKind::BufferExtents,
        ];
        if !at_start.contains(&kind) {
            append(log, &record);
        }
        if kind != MetadataKind::EndOfBuffer {
            log.function(Action::Exit, 1, 5);
        }
    };
    if version.has_extents() {
        let mut inner = Made::new(log.format, 0);
        content(&mut inner);
        append(&mut log, &Record::BufferExtents { size: inner.bytes.len() as u64 - 32 });
        log.raw(&inner.bytes[32..]);
    } else {
        if kind == MetadataKind::BufferExtents {
            append(&mut log, &record);
        }
        content(&mut log);
        if kind != MetadataKind::EndOfBuffer {
            append(&mut log, &Record::EndOfBuffer);
        }
    }
    log.bytes
}

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn kinds_and_versions() {
    for (kind, row) in TABLE {
        for (version, expected) in Version::ALL.into_iter().zip(row) {
            let log = log_with(kind, version);
            let (items, errors) = items(&log, 100);
            let ours = items.iter().any(|item| item.record.kind() == Some(kind));
            let theirs = verify(&log).is_ok();
            let found = match (theirs, ours && errors.is_empty()) {
                (true, true) => Yes,
                (true, false) => Llvm,
                (false, _) => No,
            };
            assert_eq!(found, expected, "{kind} in {version:?}: {errors:?}, {:?}", verify(&log));
            if expected == Yes {
                assert_eq!(dump(&log).unwrap(), text::dump(&items), "{kind} in {version:?}");
            }
            if expected == No {
                assert!(!errors.is_empty(), "{kind} in {version:?}");
            }
        }
    }
}

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn actions_and_versions() {
    for version in Version::ALL {
        for action in Action::ALL {
            let mut log = Made::new(Format::little(version), 0);
            log.buffer(|log| {
                log.start(7, 8);
                log.function(action, (1 << 28) - 1, u32::MAX);
            });
            let (items, errors) = items(&log.bytes, 100);
            assert_eq!(errors, [""; 0]);
            verify(&log.bytes).unwrap();
            let theirs = dump(&log.bytes).unwrap();
            assert_eq!(theirs, text::dump(&items), "{action:?} in {version:?}");
        }
    }
}
