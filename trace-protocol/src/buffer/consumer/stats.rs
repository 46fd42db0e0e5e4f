//! What was read from a provider, and what was refused.

use trace_format::notes::{omissions, Omission, Omitted};

/// Why a record from a provider did not reach the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(usize)]
pub enum Rejection {
    /// Its size is zero or reaches beyond its chunk; the rest of the chunk is refused with it.
    Framing = 0,
    /// It is a metadata record, which only the manager may write.
    Metadata = 1,
    /// Its type is none of the format's.
    UnknownType = 2,
    /// Its parts do not add up to its size, or a field has a value that the format does not define.
    Content = 3,
    /// It refers to a string that the provider did not register.
    StringRef = 4,
    /// It refers to a thread that the provider did not register.
    ThreadRef = 5,
    /// A string in it is not UTF-8.
    Utf8 = 6,
    /// It speaks for other processes: says what they did, or names them.
    Foreign = 7,
    /// It is a record that only the manager or a command writes, as a clock anchor.
    Reserved = 8,
}

impl Rejection {
    /// All reasons, in the order of their numbers.
    pub const ALL: [Self; 9] = [
        Self::Framing,
        Self::Metadata,
        Self::UnknownType,
        Self::Content,
        Self::StringRef,
        Self::ThreadRef,
        Self::Utf8,
        Self::Foreign,
        Self::Reserved,
    ];

    /// The reason in words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Framing => "size does not fit",
            Self::Metadata => "metadata from a provider",
            Self::UnknownType => "unknown record type",
            Self::Content => "malformed",
            Self::StringRef => "unregistered string",
            Self::ThreadRef => "unregistered thread",
            Self::Utf8 => "text is not UTF-8",
            Self::Foreign => "about other processes",
            Self::Reserved => "record that only the manager writes",
        }
    }
}

/// Counts over all that was read from a provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Event records that reached the archive.
    pub events: u64,
    /// Records that reached the archive, events with them.
    pub records: u64,
    /// Records of other types among them, such as blobs and logs, but not names and strings.
    pub others: u64,
    /// Duration begins among the events.
    pub begins: u64,
    /// Duration ends among the events.
    pub ends: u64,
    /// Records refused, by [`Rejection`].
    pub rejected: [u64; Rejection::ALL.len()],
    /// Records that the provider's own loss records account for.
    pub reported_losses: u64,
    /// What the provider says that it left out, by [`Omission`].
    pub omitted: Omitted,
    /// The highest timestamp of the events that were looked at one by one; 0 without any. Runs of
    /// events of one kind are not.
    pub last_ticks: u64,
    /// Rolling buffers of a circular buffer that younger ones overwrote.
    pub overwritten: u32,
    /// Ticks per second that the provider claims, once it has said so.
    pub ticks_per_second: Option<u64>,
}

impl Stats {
    /// Scopes that are open in what was read: begins beyond the ends.
    pub fn open_scopes(&self) -> u64 {
        self.begins.saturating_sub(self.ends)
    }

    /// Whether only names and strings reached the archive.
    pub fn is_empty(&self) -> bool {
        self.events == 0 && self.others == 0
    }

    /// What the provider left out, with how many they are; nothing that there is none of.
    pub fn omissions(&self) -> impl Iterator<Item = (Omission, u64)> {
        omissions(self.omitted)
    }

    /// Records refused, for any reason.
    pub fn rejections(&self) -> u64 {
        self.rejected.iter().sum()
    }
}
