//! Decoding of one header or record.
//!
//! Bytes are not trusted: each length is checked, and no memory is allocated.

use std::fmt;

use crate::layout::{
    buffer_extents, call_argument, custom_event, first_byte, function, header, new_buffer,
    new_cpu_id, pid, tsc_wrap, typed_event, wall_clock, Action, ByteOrder, MetadataKind, Version,
    FUNCTION_BYTES, HEADER_BYTES, METADATA_BYTES, TYPE_BASIC, TYPE_FDR,
};
use crate::record::{
    CustomEvent, EventTime, Format, FunctionId, FunctionRecord, Header, Record, TypedEvent,
    WallClock,
};

/// The bytes up to the flags of a header.
const MIN_START_BYTES: usize = 8;

/// The highest version of a log that may exist.
const MAX_PLAUSIBLE_VERSION: u16 = 255;

/// The fixed part of a metadata record.
type Metadata = [u8; METADATA_BYTES];

/// Why bytes are not the header of a log that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeaderError {
    /// There are less than 32 bytes.
    Truncated {
        /// The number of bytes.
        found: usize,
    },
    /// The file has another format.
    NotALog,
    /// The log was written in basic mode.
    BasicMode,
    /// The version is not known.
    Version {
        /// The version.
        version: u16,
    },
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { found } => write!(f, "the header is cut off after {found} bytes"),
            Self::NotALog => write!(f, "not an XRay log"),
            Self::BasicMode => write!(f, "the log is of basic mode, not of flight data recorder"),
            Self::Version { version } => write!(f, "version {version} is not supported"),
        }
    }
}

impl std::error::Error for HeaderError {}

/// Why a record cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes end before the record does.
    Truncated {
        /// The size of the record.
        expected: u64,
        /// The number of bytes.
        found: usize,
    },
    /// The kind of a metadata record is not known.
    Kind {
        /// The kind.
        kind: u8,
    },
    /// The action of a function record is not known.
    Action {
        /// The action.
        action: u8,
    },
    /// The size of a payload is not positive.
    PayloadSize {
        /// The size.
        size: i32,
    },
    /// The log's version has no records of this kind.
    NotInVersion {
        /// The kind.
        kind: MetadataKind,
        /// The log's version.
        version: Version,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { expected, found } => {
                write!(f, "a record of {expected} bytes is cut off after {found}")
            }
            Self::Kind { kind } => write!(f, "metadata kind {kind} is unknown"),
            Self::Action { action } => write!(f, "function action {action} is unknown"),
            Self::PayloadSize { size } => write!(f, "the payload size {size} is not positive"),
            Self::NotInVersion { kind, version } => {
                write!(f, "version {} has no {kind} records", version.number())
            }
        }
    }
}

impl std::error::Error for DecodeError {}

/// Decodes the header that `bytes` start with.
///
/// The byte order is the one in which the type is valid.
///
/// # Errors
///
/// There are too few bytes, or they are no header of a version that can be read.
pub fn header(bytes: &[u8]) -> Result<Header, HeaderError> {
    let Some(bytes) = bytes.first_chunk::<HEADER_BYTES>() else {
        return Err(HeaderError::Truncated { found: bytes.len() });
    };
    let order = byte_order(bytes)?;
    let number = header::Version::get(bytes, order);
    let version = Version::from_number(number).ok_or(HeaderError::Version { version: number })?;
    let flags = u64::from(header::Flags::get(bytes, order));
    let (constant_tsc, nonstop_tsc) = match order {
        ByteOrder::Little => {
            (header::little::ConstantTsc::get(flags), header::little::NonstopTsc::get(flags))
        }
        ByteOrder::Big => {
            (header::big::ConstantTsc::get(flags), header::big::NonstopTsc::get(flags))
        }
    };
    Ok(Header {
        format: Format { version, order },
        constant_tsc: constant_tsc != 0,
        nonstop_tsc: nonstop_tsc != 0,
        cycle_frequency: header::CycleFrequency::get(bytes, order),
        buffer_size: header::BufferSize::get(bytes, order),
        map_id: header::MapId::get(bytes, order),
    })
}

/// Returns whether a file that starts with `bytes` is a log, also one that [`header()`] refuses: it
/// is cut off, of basic mode or of an unknown version.
#[must_use]
pub fn is_plausible(bytes: &[u8]) -> bool {
    let is_in_order = |order| start_is_plausible(bytes, order);
    header(bytes).is_ok() || [ByteOrder::Little, ByteOrder::Big].into_iter().any(is_in_order)
}

/// Returns whether the first bytes are those of a log: a small version, the type, and no unknown
/// flags. A log of basic mode has zeros for the fields that it does not use.
fn start_is_plausible(bytes: &[u8], order: ByteOrder) -> bool {
    let mut start = [0; HEADER_BYTES];
    let found = bytes.len().min(HEADER_BYTES);
    for (to, from) in start.iter_mut().zip(bytes) {
        *to = *from;
    }
    let version = header::Version::get(&start, order);
    let flags = u64::from(header::Flags::get(&start, order));
    let reserved = match order {
        ByteOrder::Little => header::little::Reserved::get(flags),
        ByteOrder::Big => header::big::Reserved::get(flags),
    };
    let is_usual = found >= MIN_START_BYTES && version <= MAX_PLAUSIBLE_VERSION && reserved == 0;
    is_usual
        && match header::Type::get(&start, order) {
            TYPE_FDR => true,
            TYPE_BASIC => {
                let sizes =
                    [header::BufferSize::get(&start, order), header::MapId::get(&start, order)];
                version > 0 && found == HEADER_BYTES && sizes == [0, 0]
            }
            _ => false,
        }
}

fn byte_order(bytes: &[u8; HEADER_BYTES]) -> Result<ByteOrder, HeaderError> {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        match header::Type::get(bytes, order) {
            TYPE_FDR => return Ok(order),
            TYPE_BASIC if header::Version::get(bytes, order) != 0 => {
                return Err(HeaderError::BasicMode)
            }
            _ => {}
        }
    }
    Err(HeaderError::NotALog)
}

/// Returns whether a record that starts with `byte` is a metadata record.
#[inline]
#[must_use]
pub fn is_metadata(byte: u8, order: ByteOrder) -> bool {
    let byte = u64::from(byte);
    match order {
        ByteOrder::Little => first_byte::little::Metadata::get(byte) != 0,
        ByteOrder::Big => first_byte::big::Metadata::get(byte) != 0,
    }
}

/// Returns the size of the record that `bytes` start with, or, if `bytes` are too few to know it,
/// the size of the part that contains it.
///
/// # Errors
///
/// The kind is not known, or the size of a payload is not positive.
#[inline]
pub fn record_bytes(bytes: &[u8], format: Format) -> Result<u64, DecodeError> {
    match bytes.first() {
        None => Ok(FUNCTION_BYTES as u64),
        Some(byte) if !is_metadata(*byte, format.order) => Ok(FUNCTION_BYTES as u64),
        Some(_) => metadata_bytes(bytes, format),
    }
}

fn metadata_bytes(bytes: &[u8], format: Format) -> Result<u64, DecodeError> {
    let Some(fixed) = bytes.first_chunk::<METADATA_BYTES>() else {
        return Ok(METADATA_BYTES as u64);
    };
    let size = match kind(fixed, format)? {
        MetadataKind::CustomEvent => payload_bytes(custom_event::Size::get(fixed, format.order))?,
        MetadataKind::TypedEvent => payload_bytes(typed_event::Size::get(fixed, format.order))?,
        _ => 0,
    };
    Ok(METADATA_BYTES as u64 + u64::from(size))
}

fn payload_bytes(size: i32) -> Result<u32, DecodeError> {
    match u32::try_from(size) {
        Ok(bytes) if bytes > 0 => Ok(bytes),
        _ => Err(DecodeError::PayloadSize { size }),
    }
}

fn kind(fixed: &Metadata, format: Format) -> Result<MetadataKind, DecodeError> {
    let [first, ..] = *fixed;
    let bits = match format.order {
        ByteOrder::Little => first_byte::little::Kind::get(u64::from(first)),
        ByteOrder::Big => first_byte::big::Kind::get(u64::from(first)),
    };
    let kind = MetadataKind::from_bits(bits).ok_or(DecodeError::Kind { kind: bits as u8 })?;
    if kind == MetadataKind::EndOfBuffer && format.version.has_extents() {
        return Err(DecodeError::NotInVersion { kind, version: format.version });
    }
    Ok(kind)
}

/// Decodes the record that `bytes` start with. Bytes after it are ignored.
///
/// A kind of a later version is accepted, as LLVM's tools do; only an EndOfBuffer record is not
/// accepted from version 2 on.
///
/// # Errors
///
/// The record is not complete, or it has a number that is not known.
#[inline]
pub fn record(bytes: &[u8], format: Format) -> Result<Record<'_>, DecodeError> {
    let expected = record_bytes(bytes, format)?;
    let whole = usize::try_from(expected).ok().and_then(|size| bytes.get(..size));
    let Some(whole) = whole else {
        return Err(DecodeError::Truncated { expected, found: bytes.len() });
    };
    match whole.first_chunk::<FUNCTION_BYTES>() {
        Some(word) if whole.len() == FUNCTION_BYTES => {
            function(function::Word::get(word, format.order), format.order).map(Record::Function)
        }
        _ => metadata(whole, format),
    }
}

/// Decodes the fixed part of a metadata record, without the payload of an event.
pub(super) fn without_payload(bytes: &[u8], format: Format) -> Result<Record<'_>, DecodeError> {
    metadata(bytes.get(..METADATA_BYTES).unwrap_or_default(), format)
}

/// Decodes the word of a function record.
///
/// # Errors
///
/// The action is not known.
#[inline]
pub fn function(word: u64, order: ByteOrder) -> Result<FunctionRecord, DecodeError> {
    let (action, function, delta) = match order {
        ByteOrder::Little => (
            function::little::Action::get(word),
            function::little::Function::get(word),
            function::little::Delta::get(word),
        ),
        ByteOrder::Big => (
            function::big::Action::get(word),
            function::big::Function::get(word),
            function::big::Delta::get(word),
        ),
    };
    let Some(action) = Action::from_bits(action) else {
        return Err(DecodeError::Action { action: action as u8 });
    };
    Ok(FunctionRecord { action, function: FunctionId::from_bits(function), delta: delta as u32 })
}

/// Decodes a metadata record, which is complete.
fn metadata(whole: &[u8], format: Format) -> Result<Record<'_>, DecodeError> {
    let Some((fixed, payload)) = whole.split_first_chunk::<METADATA_BYTES>() else {
        let expected = METADATA_BYTES as u64;
        return Err(DecodeError::Truncated { expected, found: whole.len() });
    };
    let order = format.order;
    Ok(match kind(fixed, format)? {
        MetadataKind::NewBuffer => {
            Record::NewBuffer { thread: new_buffer::Thread::get(fixed, order) }
        }
        MetadataKind::EndOfBuffer => Record::EndOfBuffer,
        MetadataKind::NewCpuId => Record::NewCpuId {
            cpu: new_cpu_id::Cpu::get(fixed, order),
            tsc: new_cpu_id::Tsc::get(fixed, order),
        },
        MetadataKind::TscWrap => Record::TscWrap { tsc: tsc_wrap::Tsc::get(fixed, order) },
        MetadataKind::WallClock => Record::WallClock(WallClock {
            seconds: wall_clock::Seconds::get(fixed, order),
            micros: wall_clock::Micros::get(fixed, order),
        }),
        MetadataKind::CustomEvent => {
            Record::CustomEvent(CustomEvent { time: event_time(fixed, format), payload })
        }
        MetadataKind::CallArgument => {
            Record::CallArgument { value: call_argument::Value::get(fixed, order) }
        }
        MetadataKind::BufferExtents => {
            Record::BufferExtents { size: buffer_extents::Size::get(fixed, order) }
        }
        MetadataKind::TypedEvent => Record::TypedEvent(TypedEvent {
            delta: typed_event::Delta::get(fixed, order),
            event_type: typed_event::EventType::get(fixed, order),
            payload,
        }),
        MetadataKind::Pid => Record::Pid { pid: pid::Pid::get(fixed, order) },
    })
}

fn event_time(fixed: &Metadata, format: Format) -> EventTime {
    let order = format.order;
    if format.version >= Version::V5 {
        return EventTime::Delta(custom_event::Delta::get(fixed, order));
    }
    let has_cpu = format.version == Version::V4;
    EventTime::Absolute {
        tsc: custom_event::Tsc::get(fixed, order),
        cpu: has_cpu.then(|| custom_event::Cpu::get(fixed, order)),
    }
}
