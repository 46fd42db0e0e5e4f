//! The protocol's methods, arguments and errors.

use core::fmt;
use core::ops::Add;

/// A method of the protocol with its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// Begins a trace. Buffers are allocated one by one.
    Initialize(Allocation),
    /// Frees all buffers. A trace of CPUs is stopped before.
    Terminate,
    /// Returns the arguments of [`Call::Initialize`].
    GetAllocation,
    /// Allocates a buffer. In CPU mode its descriptor is the CPU's number.
    AllocateBuffer(BufferConfig),
    /// Assigns a buffer to a thread.
    AssignThreadBuffer(BufferDescriptor, ThreadKoid),
    /// Releases a buffer from its thread.
    ReleaseThreadBuffer(BufferDescriptor, ThreadKoid),
    /// Returns the configuration of a buffer.
    GetBufferConfig(BufferDescriptor),
    /// Returns the fill level of a buffer.
    GetBufferState(BufferDescriptor),
    /// Returns a read-only handle of one chunk of a buffer.
    GetChunkHandle(BufferDescriptor, u32),
    /// Frees a buffer.
    FreeBuffer(BufferDescriptor),
    /// Starts tracing.
    Start,
    /// Stops tracing; ignored if it is not started.
    Stop,
    /// Returns what is required to decode a buffer. Fuchsia's protocol does not have it: there, the
    /// kernel's trace has these data.
    GetSideData(BufferDescriptor),
}

/// The result of a method without an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply<Chunk> {
    /// No value.
    Done,
    /// Of [`Call::GetAllocation`]; `None` before [`Call::Initialize`].
    Allocation(Option<Allocation>),
    /// Of [`Call::AllocateBuffer`].
    Descriptor(BufferDescriptor),
    /// Of [`Call::GetBufferConfig`].
    Config(BufferConfig),
    /// Of [`Call::GetBufferState`].
    State(BufferState),
    /// Of [`Call::GetChunkHandle`].
    Chunk(Chunk),
    /// Of [`Call::GetSideData`].
    SideData(SideData<Chunk>),
}

/// The number of a buffer, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferDescriptor(pub u32);

/// The id of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadKoid(pub u64);

/// The unit of tracing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Mode {
    /// CPUs, with all code that runs on them.
    Cpu = 0,
    /// Threads.
    Thread = 1,
}

/// The allocation of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Allocation {
    /// The unit of tracing.
    pub mode: Mode,
    /// The number of buffers, 1 to 64. In CPU mode it is the number of CPUs.
    pub num_traces: u16,
}

/// The configuration of a buffer, and of tracing into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BufferConfig {
    /// The number of chunks, 1 to 4096.
    pub num_chunks: u32,
    /// The size of a chunk: 2^`chunk_order` pages; at most 8.
    pub chunk_order: u32,
    /// Whether the newest packets overwrite the oldest. Otherwise tracing stops at the end.
    pub is_circular: bool,
    /// The control register; see [`ctl`](super::ctl).
    pub ctl: u64,
    /// If not zero, the CR3 of the only traced address space.
    pub address_space_match: u64,
    /// The traced addresses, both ends included. A range of two zeros is no restriction.
    pub address_ranges: [(u64, u64); super::MAX_ADDRESS_RANGES as usize],
}

/// The fill level of a buffer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct BufferState {
    /// The offset where tracing stopped, counted over all chunks. A circular buffer may have
    /// packets after it too.
    pub capture_end: u64,
    /// Whether packets did not fit into the buffer: later ones are missing.
    pub is_full: bool,
    /// What is missing so far for another reason.
    pub losses: Losses,
}

/// What is required to decode a buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SideData<Chunk> {
    /// The number of bytes that were written to the buffer. A circular buffer has the last ones.
    pub written: u64,
    /// What is missing.
    pub losses: Losses,
    /// An archive of the threads and the code of the buffer.
    pub archive: Chunk,
}

/// What is missing of a trace. Only tracing by the processor loses something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Losses {
    /// How often packets did not fit into the area, or may not have: it was full up to a page.
    pub truncated: u64,
    /// How often packets are missing between others.
    pub gaps: u64,
    /// The number of records of the kernel that did not fit into their ring buffers, could not be
    /// read, or are more than are kept.
    pub records: u64,
}

impl Add for Losses {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            truncated: self.truncated + other.truncated,
            gaps: self.gaps + other.gaps,
            records: self.records + other.records,
        }
    }
}

/// Why a method failed. The numbers are those of Zircon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Status {
    /// The back end failed.
    Internal = -1,
    /// The back end does not support this.
    NotSupported = -2,
    /// All descriptors are in use.
    NoResources = -3,
    /// There is not enough memory.
    NoMemory = -4,
    /// An argument is wrong.
    InvalidArgs = -10,
    /// The call is not allowed now.
    BadState = -20,
    /// There is no such thread.
    NotFound = -25,
    /// The service has another client.
    AlreadyBound = -27,
    /// The thread may not be traced, or the client belongs to another user.
    AccessDenied = -30,
}

impl Status {
    /// All values.
    pub const ALL: [Self; 9] = [
        Self::Internal,
        Self::NotSupported,
        Self::NoResources,
        Self::NoMemory,
        Self::InvalidArgs,
        Self::BadState,
        Self::NotFound,
        Self::AlreadyBound,
        Self::AccessDenied,
    ];

    /// Returns the name of the status, without its prefix `ZX_ERR_`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Internal => "INTERNAL",
            Self::NotSupported => "NOT_SUPPORTED",
            Self::NoResources => "NO_RESOURCES",
            Self::NoMemory => "NO_MEMORY",
            Self::InvalidArgs => "INVALID_ARGS",
            Self::BadState => "BAD_STATE",
            Self::NotFound => "NOT_FOUND",
            Self::AlreadyBound => "ALREADY_BOUND",
            Self::AccessDenied => "ACCESS_DENIED",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Internal => "the tracing back end failed",
            Self::NotSupported => "not supported by the tracing back end",
            Self::NoResources => "all buffers are allocated",
            Self::NoMemory => "not enough memory",
            Self::InvalidArgs => "invalid argument",
            Self::BadState => "not allowed in this state",
            Self::NotFound => "there is no such thread",
            Self::AlreadyBound => "the service has another client",
            Self::AccessDenied => "permission denied",
        })
    }
}

impl core::error::Error for Status {}
