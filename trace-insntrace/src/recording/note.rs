//! Facts about the threads and the code of a recording.

/// The number of a trace: the instructions of one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TraceId(pub u32);

/// The number of an address space. A process that executes another program gets a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SpaceId(pub u32);

/// A fact about threads or code. The order of notes is the order in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// A trace begins, or its thread has new ids or a new name.
    Thread {
        /// The trace.
        trace: TraceId,
        /// The process.
        pid: u32,
        /// The thread.
        tid: u32,
        /// The thread's name.
        name: String,
    },
    /// A file is mapped as code.
    Mapping {
        /// The address space.
        space: SpaceId,
        /// The mapping.
        mapping: Mapping,
    },
    /// Code is executed for the first time, or has changed.
    Code {
        /// The address space.
        space: SpaceId,
        /// The first address.
        address: u64,
        /// The code.
        bytes: Vec<u8>,
    },
    /// From `offset` on, a trace executes the code of `space` as of this note.
    Position {
        /// The trace.
        trace: TraceId,
        /// The offset in the trace. Tracing is off there.
        offset: u64,
        /// The address space.
        space: SpaceId,
    },
    /// A trace ends.
    End {
        /// The trace.
        trace: TraceId,
        /// The reason.
        end: ThreadEnd,
    },
}

/// The memory of a note without code or a path.
const NOTE_BYTES: u64 = 128;

impl Note {
    /// Returns about how much memory the note takes.
    pub(crate) fn bytes(&self) -> u64 {
        let extra = match self {
            Self::Code { bytes, .. } => bytes.len(),
            Self::Mapping { mapping, .. } => mapping.path.len(),
            _ => 0,
        };
        NOTE_BYTES + extra as u64
    }
}

/// Memory with code of a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Mapping {
    /// The first address.
    pub address: u64,
    /// The number of bytes.
    pub size: u64,
    /// The offset in the file.
    pub offset: u64,
    /// The path of the file, a name such as `[vdso]`, or empty.
    pub path: String,
    /// The file's build id, if it has one.
    pub build_id: Option<Vec<u8>>,
}

impl Mapping {
    /// Returns whether `address` is in the mapping.
    #[must_use]
    pub fn contains(&self, address: u64) -> bool {
        address.checked_sub(self.address).is_some_and(|offset| offset < self.size)
    }

    /// Returns whether `other` is in the place of the mapping, and not the same.
    pub(crate) fn is_replaced_by(&self, other: &Self) -> bool {
        self.address < other.end() && other.address < self.end() && self != other
    }

    /// Returns the address behind the last one.
    pub(crate) fn end(&self) -> u64 {
        self.address.saturating_add(self.size)
    }

    /// Returns whether the mapping has the addresses and the file of `other`. Build ids are not
    /// compared.
    #[must_use]
    pub fn is_same_place(&self, other: &Self) -> bool {
        let place = |it: &Self| (it.address, it.size, it.offset);
        place(self) == place(other) && self.path == other.path
    }
}

/// Why a trace ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ThreadEnd {
    /// The thread exited; the status is that of its process.
    Exited(i32),
    /// A signal ended the process.
    Killed(i32),
    /// Tracing stopped, and the thread continued.
    Detached,
}
