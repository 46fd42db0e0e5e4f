//! The header and the records of a log as values.

use std::fmt;
use std::time::Duration;

use crate::layout::{
    Action, ByteOrder, MetadataKind, Version, FILLER, MAX_FUNCTION_ID, METADATA_BYTES,
};

/// The version and byte order of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Format {
    /// The version of the log.
    pub version: Version,
    /// The byte order of the log.
    pub order: ByteOrder,
}

impl Format {
    /// Returns the format of a little-endian log.
    #[must_use]
    pub const fn little(version: Version) -> Self {
        Self { version, order: ByteOrder::Little }
    }
}

/// The header of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Version and byte order.
    pub format: Format,
    /// Whether the counter ticks at a constant rate.
    pub constant_tsc: bool,
    /// Whether the counter ticks while the CPU sleeps.
    pub nonstop_tsc: bool,
    /// Ticks per second.
    pub cycle_frequency: u64,
    /// The size of each thread buffer in bytes. In version 1 it determines the position of the next
    /// one.
    pub buffer_size: u64,
    /// The id of the [map](crate::map::Map::id) with the names of functions; 0 if the ids of
    /// functions are those of a program.
    pub map_id: u64,
}

/// The id of a function in an instrumentation map: 1 and up, at most 28 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionId(u32);

impl FunctionId {
    /// Returns the id of a number, `None` if it is 0 or has more than 28 bits.
    #[inline]
    #[must_use]
    pub const fn new(number: u32) -> Option<Self> {
        if number == 0 || number > MAX_FUNCTION_ID {
            return None;
        }
        Some(Self(number))
    }

    /// Returns the id in the low 28 bits of `bits`. A log may have 0, which is no function.
    #[inline]
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits as u32 & MAX_FUNCTION_ID)
    }

    /// Returns the number.
    #[inline]
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }
}

impl fmt::Display for FunctionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// A record of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record<'a> {
    /// A function starts or ends.
    Function(FunctionRecord),
    /// A thread buffer starts.
    NewBuffer {
        /// The thread id.
        thread: i32,
    },
    /// A thread buffer of version 1 ends.
    EndOfBuffer,
    /// The thread runs on another CPU.
    NewCpuId {
        /// The CPU's number.
        cpu: u16,
        /// The time in ticks, the new base for deltas.
        tsc: u64,
    },
    /// A new base for deltas.
    TscWrap {
        /// The time in ticks.
        tsc: u64,
    },
    /// The wall-clock time at the start of a thread buffer.
    WallClock(WallClock),
    /// An event with a payload.
    CustomEvent(CustomEvent<'a>),
    /// An argument of the function entry before.
    CallArgument {
        /// The value, an integer or a pointer.
        value: u64,
    },
    /// The size of the thread buffer that follows.
    BufferExtents {
        /// The size in bytes, without this record.
        size: u64,
    },
    /// An event with a type and a payload.
    TypedEvent(TypedEvent<'a>),
    /// The process.
    Pid {
        /// The process id.
        pid: i32,
    },
}

impl Record<'_> {
    /// Returns the kind of a metadata record, `None` for a function record.
    #[must_use]
    pub const fn kind(&self) -> Option<MetadataKind> {
        Some(match self {
            Self::Function(_) => return None,
            Self::NewBuffer { .. } => MetadataKind::NewBuffer,
            Self::EndOfBuffer => MetadataKind::EndOfBuffer,
            Self::NewCpuId { .. } => MetadataKind::NewCpuId,
            Self::TscWrap { .. } => MetadataKind::TscWrap,
            Self::WallClock(_) => MetadataKind::WallClock,
            Self::CustomEvent(_) => MetadataKind::CustomEvent,
            Self::CallArgument { .. } => MetadataKind::CallArgument,
            Self::BufferExtents { .. } => MetadataKind::BufferExtents,
            Self::TypedEvent(_) => MetadataKind::TypedEvent,
            Self::Pid { .. } => MetadataKind::Pid,
        })
    }
}

/// A function record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FunctionRecord {
    /// Whether the function starts or ends.
    pub action: Action,
    /// The function. For a tail exit it is the one that ends.
    pub function: FunctionId,
    /// Ticks since the record before.
    pub delta: u32,
}

/// The wall-clock time of a thread buffer.
///
/// The clock is the writer's choice. LLVM's runtime and this project use `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct WallClock {
    /// Whole seconds.
    pub seconds: u64,
    /// Microseconds of the second.
    pub micros: u32,
}

impl From<Duration> for WallClock {
    fn from(time: Duration) -> Self {
        Self { seconds: time.as_secs(), micros: time.subsec_micros() }
    }
}

/// The time of a custom event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventTime {
    /// Up to version 4: the time itself. It is no base for deltas.
    Absolute {
        /// The time in ticks.
        tsc: u64,
        /// The CPU's number, in version 4.
        cpu: Option<u16>,
    },
    /// From version 5: ticks since the record before.
    Delta(i32),
}

/// A custom event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CustomEvent<'a> {
    /// The time of the event.
    pub time: EventTime,
    /// The data that the program recorded.
    pub payload: &'a [u8],
}

impl CustomEvent<'_> {
    /// Returns whether the event only fills a thread buffer, or starts one: the payload is
    /// [`FILLER`], and at most 15 zeros.
    #[must_use]
    pub fn is_filler(&self) -> bool {
        let rest = self.payload.strip_prefix(&FILLER);
        rest.is_some_and(|rest| rest.len() < METADATA_BYTES && rest.iter().all(|byte| *byte == 0))
    }
}

/// A typed event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypedEvent<'a> {
    /// Ticks since the record before.
    pub delta: i32,
    /// The type, which the program defines.
    pub event_type: u16,
    /// The data that the program recorded.
    pub payload: &'a [u8],
}
