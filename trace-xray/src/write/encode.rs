//! Encoding of one header or record, in any version and byte order.

use std::fmt;

use crate::layout::{
    buffer_extents, call_argument, custom_event, first_byte, function, header, new_buffer,
    new_cpu_id, pid, tsc_wrap, typed_event, wall_clock, ByteOrder, MetadataKind, Version,
    FUNCTION_BYTES, HEADER_BYTES, MAX_PAYLOAD_BYTES, METADATA_BYTES, TYPE_FDR,
};
use crate::record::{CustomEvent, EventTime, Format, FunctionRecord, Header, Record};

/// Why a record cannot be encoded. The output is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// The version has no such record.
    NotInVersion {
        /// The kind of the record.
        kind: MetadataKind,
        /// The version.
        version: Version,
    },
    /// The function's id is 0. The record of an entry may be all zeros, which are padding.
    NoFunction,
    /// The payload of an event is empty or has more than [`MAX_PAYLOAD_BYTES`].
    PayloadSize {
        /// Its size.
        size: usize,
    },
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotInVersion { kind, version } => {
                write!(f, "version {} has no such {kind} record", version.number())
            }
            Self::NoFunction => write!(f, "a function cannot have the id 0"),
            Self::PayloadSize { size } => {
                write!(f, "an event cannot have a payload of {size} bytes")
            }
        }
    }
}

impl std::error::Error for EncodeError {}

/// Returns the bytes of a header.
#[must_use]
pub fn header(header: &Header) -> [u8; HEADER_BYTES] {
    let Format { version, order } = header.format;
    let (constant, nonstop) = (u64::from(header.constant_tsc), u64::from(header.nonstop_tsc));
    let flags = match order {
        ByteOrder::Little => {
            header::little::ConstantTsc::make(constant) | header::little::NonstopTsc::make(nonstop)
        }
        ByteOrder::Big => {
            header::big::ConstantTsc::make(constant) | header::big::NonstopTsc::make(nonstop)
        }
    };
    let mut bytes = [0; HEADER_BYTES];
    header::Version::set(&mut bytes, order, version.number());
    header::Type::set(&mut bytes, order, TYPE_FDR);
    header::Flags::set(&mut bytes, order, flags as u32);
    header::CycleFrequency::set(&mut bytes, order, header.cycle_frequency);
    header::BufferSize::set(&mut bytes, order, header.buffer_size);
    header::MapId::set(&mut bytes, order, header.map_id);
    bytes
}

/// Appends a record.
///
/// # Errors
///
/// The version has no such record, or the payload is empty or too long.
pub fn record(
    output: &mut Vec<u8>,
    record: &Record<'_>,
    format: Format,
) -> Result<(), EncodeError> {
    let Some(kind) = record.kind() else {
        if let Record::Function(record) = record {
            output.extend_from_slice(&function(record, format.order));
        }
        return Ok(());
    };
    check(record, format.version)?;
    output.extend_from_slice(&fixed_part(record, kind, format.order));
    output.extend_from_slice(payload(record).unwrap_or_default());
    Ok(())
}

/// Returns the bytes of a function record.
#[inline]
#[must_use]
pub fn function(record: &FunctionRecord, order: ByteOrder) -> [u8; FUNCTION_BYTES] {
    let (action, delta) = (record.action.bits(), u64::from(record.delta));
    let id = u64::from(record.function.number());
    let word = match order {
        ByteOrder::Little => {
            function::little::Action::make(action)
                | function::little::Function::make(id)
                | function::little::Delta::make(delta)
        }
        ByteOrder::Big => {
            function::big::Action::make(action)
                | function::big::Function::make(id)
                | function::big::Delta::make(delta)
        }
    };
    let mut bytes = [0; FUNCTION_BYTES];
    function::Word::set(&mut bytes, order, word);
    bytes
}

/// Returns the first byte of a metadata record.
#[inline]
#[must_use]
pub fn metadata_byte(kind: MetadataKind, order: ByteOrder) -> u8 {
    let byte = match order {
        ByteOrder::Little => {
            first_byte::little::Metadata::make(1) | first_byte::little::Kind::make(kind.bits())
        }
        ByteOrder::Big => {
            first_byte::big::Metadata::make(1) | first_byte::big::Kind::make(kind.bits())
        }
    };
    byte as u8
}

/// Returns the payload of an event, `None` for all other records.
fn payload<'a>(record: &Record<'a>) -> Option<&'a [u8]> {
    match record {
        Record::CustomEvent(event) => Some(event.payload),
        Record::TypedEvent(event) => Some(event.payload),
        _ => None,
    }
}

/// Checks that a version has such a record.
pub(super) fn check(record: &Record<'_>, version: Version) -> Result<(), EncodeError> {
    let Some(kind) = record.kind() else { return Ok(()) };
    let fits = match record {
        Record::CustomEvent(CustomEvent { time, .. }) => match time {
            EventTime::Delta(_) => version >= Version::V5,
            EventTime::Absolute { cpu: Some(_), .. } => version == Version::V4,
            EventTime::Absolute { cpu: None, .. } => version < Version::V4,
        },
        Record::EndOfBuffer => !version.has_extents(),
        _ => version >= kind.since(),
    };
    if !fits {
        return Err(EncodeError::NotInVersion { kind, version });
    }
    match payload(record).map(<[u8]>::len) {
        Some(size) if size == 0 || size > MAX_PAYLOAD_BYTES => {
            Err(EncodeError::PayloadSize { size })
        }
        _ => Ok(()),
    }
}

fn fixed_part(record: &Record<'_>, kind: MetadataKind, order: ByteOrder) -> [u8; METADATA_BYTES] {
    let mut bytes = [0; METADATA_BYTES];
    let fixed = &mut bytes;
    let size = payload(record).map_or(0, <[u8]>::len) as i32;
    match *record {
        Record::Function(_) | Record::EndOfBuffer => {}
        Record::NewBuffer { thread } => new_buffer::Thread::set(fixed, order, thread),
        Record::NewCpuId { cpu, tsc } => {
            new_cpu_id::Cpu::set(fixed, order, cpu);
            new_cpu_id::Tsc::set(fixed, order, tsc);
        }
        Record::TscWrap { tsc } => tsc_wrap::Tsc::set(fixed, order, tsc),
        Record::WallClock(time) => {
            wall_clock::Seconds::set(fixed, order, time.seconds);
            wall_clock::Micros::set(fixed, order, time.micros);
        }
        Record::CustomEvent(event) => {
            custom_event::Size::set(fixed, order, size);
            event_time(fixed, order, event.time);
        }
        Record::CallArgument { value } => call_argument::Value::set(fixed, order, value),
        Record::BufferExtents { size } => buffer_extents::Size::set(fixed, order, size),
        Record::TypedEvent(event) => {
            typed_event::Size::set(fixed, order, size);
            typed_event::Delta::set(fixed, order, event.delta);
            typed_event::EventType::set(fixed, order, event.event_type);
        }
        Record::Pid { pid } => pid::Pid::set(fixed, order, pid),
    }
    let [first, ..] = fixed;
    *first = metadata_byte(kind, order);
    bytes
}

fn event_time(fixed: &mut [u8; METADATA_BYTES], order: ByteOrder, time: EventTime) {
    match time {
        EventTime::Delta(delta) => custom_event::Delta::set(fixed, order, delta),
        EventTime::Absolute { tsc, cpu } => {
            custom_event::Tsc::set(fixed, order, tsc);
            custom_event::Cpu::set(fixed, order, cpu.unwrap_or_default());
        }
    }
}
