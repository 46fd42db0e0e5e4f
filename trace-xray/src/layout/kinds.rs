//! The type numbers of records, actions and sleds, and the versions of the format.

use std::fmt;

/// The version of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(u16)]
pub enum Version {
    /// The specified version. A thread buffer ends with an EndOfBuffer record.
    V1 = 1,
    /// A thread buffer starts with its size.
    V2 = 2,
    /// The process is recorded.
    V3 = 3,
    /// Custom events have a CPU.
    V4 = 4,
    /// Custom events have a delta. There are typed events.
    #[default]
    V5 = 5,
}

impl Version {
    /// All versions, in order.
    pub const ALL: [Self; 5] = [Self::V1, Self::V2, Self::V3, Self::V4, Self::V5];

    /// Returns the version of a header's number, `None` if it is not known.
    #[must_use]
    pub fn from_number(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.number() == number)
    }

    /// Returns the number that is stored in the header.
    #[must_use]
    pub const fn number(self) -> u16 {
        self as u16
    }

    /// Returns whether a thread buffer starts with a BufferExtents record. Otherwise it ends with
    /// an EndOfBuffer record.
    #[inline]
    #[must_use]
    pub fn has_extents(self) -> bool {
        self >= Self::V2
    }
}

/// The kind of a metadata record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum MetadataKind {
    /// A thread buffer starts.
    NewBuffer = 0,
    /// A thread buffer ends, version 1 only.
    EndOfBuffer = 1,
    /// The thread runs on another CPU.
    NewCpuId = 2,
    /// A new base for deltas.
    TscWrap = 3,
    /// The wall-clock time.
    WallClock = 4,
    /// An event with a payload.
    CustomEvent = 5,
    /// An argument of a function.
    CallArgument = 6,
    /// The size of a thread buffer.
    BufferExtents = 7,
    /// An event with a type and a payload.
    TypedEvent = 8,
    /// The process.
    Pid = 9,
}

impl MetadataKind {
    /// All kinds, by number.
    pub const ALL: [Self; 10] = [
        Self::NewBuffer,
        Self::EndOfBuffer,
        Self::NewCpuId,
        Self::TscWrap,
        Self::WallClock,
        Self::CustomEvent,
        Self::CallArgument,
        Self::BufferExtents,
        Self::TypedEvent,
        Self::Pid,
    ];

    /// Returns the kind of a number, `None` if it is not known.
    #[inline]
    #[must_use]
    pub fn from_bits(bits: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(bits).ok()?).copied()
    }

    /// Returns the number.
    #[inline]
    #[must_use]
    pub const fn bits(self) -> u64 {
        self as u64
    }

    /// Returns the first version that has records of this kind.
    #[must_use]
    pub const fn since(self) -> Version {
        match self {
            Self::BufferExtents => Version::V2,
            Self::Pid => Version::V3,
            Self::TypedEvent => Version::V5,
            _ => Version::V1,
        }
    }
}

impl fmt::Display for MetadataKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// The action of a function record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Action {
    /// The function starts.
    Entry = 0,
    /// The function returns.
    Exit = 1,
    /// The function ends with a jump to another one, which returns to the caller.
    TailExit = 2,
    /// The function starts. Its arguments follow.
    EntryArgs = 3,
}

impl Action {
    /// All actions, by number.
    pub const ALL: [Self; 4] = [Self::Entry, Self::Exit, Self::TailExit, Self::EntryArgs];

    /// Returns the action of a number, `None` if it is not known.
    #[inline]
    #[must_use]
    pub const fn from_bits(bits: u64) -> Option<Self> {
        match bits {
            0 => Some(Self::Entry),
            1 => Some(Self::Exit),
            2 => Some(Self::TailExit),
            3 => Some(Self::EntryArgs),
            _ => None,
        }
    }

    /// Returns the number.
    #[inline]
    #[must_use]
    pub const fn bits(self) -> u64 {
        self as u64
    }

    /// Returns whether the function starts.
    #[inline]
    #[must_use]
    pub const fn is_entry(self) -> bool {
        matches!(self, Self::Entry | Self::EntryArgs)
    }
}

/// The kind of a sled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum SledKind {
    /// A function's entry.
    Entry = 0,
    /// A function's exit.
    Exit = 1,
    /// A jump to another function.
    TailExit = 2,
    /// A function's entry that can log arguments.
    LogArgsEntry = 3,
    /// A custom event.
    CustomEvent = 4,
    /// A typed event.
    TypedEvent = 5,
}

impl SledKind {
    /// All kinds, by number, with their names in YAML.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Entry, "function-enter"),
        (Self::Exit, "function-exit"),
        (Self::TailExit, "tail-exit"),
        (Self::LogArgsEntry, "log-args-enter"),
        (Self::CustomEvent, "custom-event"),
        (Self::TypedEvent, "typed-event"),
    ];

    /// Returns the kind of a number, `None` if it is not known.
    #[must_use]
    pub fn from_bits(bits: u8) -> Option<Self> {
        Self::ALL.get(usize::from(bits)).map(|(kind, _)| *kind)
    }

    /// Returns the name in YAML.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    /// Returns the kind of a name in YAML, `None` if it is not known.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
    }
}
