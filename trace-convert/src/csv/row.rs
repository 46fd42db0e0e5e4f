//! A row of the table, and its form in the temporary file.

use std::cmp::{Ordering, Reverse};
use std::io::{self, Read};

use trace_analyze::catalog::{LabelId, ThreadId};
use trace_analyze::spans::Role;
use trace_format::{EventKind, ThreadKoids};

/// The words of a row before its text.
const WORDS: usize = 11;

const HEAD_BYTES: usize = WORDS * 8;

/// The order of rows: by thread and begin. Outer durations precede inner ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) koids: ThreadKoids,
    /// The provider's thread: one process can have several providers.
    pub(super) thread: ThreadId,
    pub(super) begin: u64,
    pub(super) end: Reverse<u64>,
    /// The number of the row.
    pub(super) number: u64,
}

impl Ord for Key {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        let in_thread = |key: &Self| (key.begin, key.end, key.number);
        match self.thread == other.thread && self.koids == other.koids {
            true => in_thread(self).cmp(&in_thread(other)),
            false => (self.koids, self.thread).cmp(&(other.koids, other.thread)),
        }
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The kind of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Duration,
    Poll,
    Drop,
    Async,
    AsyncInstant,
    Flow,
    FlowStep,
    Instant,
    Counter,
    Log,
}

impl Kind {
    const ALL: [Self; 10] = [
        Self::Duration,
        Self::Poll,
        Self::Drop,
        Self::Async,
        Self::AsyncInstant,
        Self::Flow,
        Self::FlowStep,
        Self::Instant,
        Self::Counter,
        Self::Log,
    ];

    /// Returns the kind of an event that has a row of its own.
    pub(super) fn of(kind: EventKind) -> Self {
        match kind {
            EventKind::AsyncInstant { .. } => Self::AsyncInstant,
            EventKind::FlowStep { .. } => Self::FlowStep,
            EventKind::Counter { .. } => Self::Counter,
            _ => Self::Instant,
        }
    }

    /// Returns its word in the table.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Duration => Role::Duration.as_str(),
            Self::Poll => Role::Poll.as_str(),
            Self::Drop => Role::Drop.as_str(),
            Self::Async => "async",
            Self::AsyncInstant => "async-instant",
            Self::Flow => "flow",
            Self::FlowStep => "flow-step",
            Self::Instant => "instant",
            Self::Counter => "counter",
            Self::Log => "log",
        }
    }
}

impl From<Role> for Kind {
    fn from(role: Role) -> Self {
        match role {
            Role::Duration => Self::Duration,
            Role::Poll => Self::Poll,
            Role::Drop => Self::Drop,
        }
    }
}

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row<'a> {
    pub(super) key: Key,
    /// `None` for log records.
    pub(super) label: Option<LabelId>,
    pub(super) kind: Kind,
    pub(super) length: Option<u64>,
    /// The self time of durations on the thread, which can be in others.
    pub(super) own: Option<u64>,
    pub(super) id: Option<u64>,
    /// The cells of arguments and message, or an empty text if both are empty.
    pub(super) text: &'a str,
}

impl<'a> Row<'a> {
    /// Appends the row's bytes.
    pub(super) fn encode(&self, bytes: &mut Vec<u8>) {
        let Key { koids, thread, begin, end, number } = self.key;
        let label = self.label.map_or(u64::MAX, |label| label.0.into());
        let known = [self.length, self.own, self.id].map(|number| u64::from(number.is_some()));
        let flags = known[0] | known[1] << 1 | known[2] << 2;
        let words: [u64; WORDS] = [
            koids.process,
            koids.thread,
            u64::from(thread.0) | (self.kind as u64) << 32 | flags << 40,
            begin,
            end.0,
            number,
            label,
            self.length.unwrap_or(0),
            self.own.unwrap_or(0),
            self.id.unwrap_or(0),
            self.text.len() as u64,
        ];
        words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        bytes.extend_from_slice(self.text.as_bytes());
    }

    /// Returns the row at the start of `bytes`.
    pub(super) fn decode(bytes: &'a [u8]) -> Option<Self> {
        let (words, _) = head(bytes)?;
        let [process, thread, packed, begin, end, number, label, length, own, id, size] = words;
        let text = bytes.get(HEAD_BYTES..)?.get(..size as usize)?;
        let (koids, id_of_thread) = (ThreadKoids::new(process, thread), ThreadId(packed as u32));
        let known = |bit: u32, number| (packed >> (40 + bit) & 1 == 1).then_some(number);
        Some(Self {
            key: Key { koids, thread: id_of_thread, begin, end: Reverse(end), number },
            label: u32::try_from(label).ok().map(LabelId),
            kind: Kind::ALL.get((packed >> 32 & 0xff) as usize).copied()?,
            length: known(0, length),
            own: known(1, own),
            id: known(2, id),
            text: std::str::from_utf8(text).ok()?,
        })
    }

    /// Returns the bytes of the row at the start of `bytes`.
    pub(super) fn encoded(bytes: &[u8]) -> Option<&[u8]> {
        let (_, size) = head(bytes)?;
        bytes.get(..HEAD_BYTES + size)
    }

    /// Reads the bytes of a row.
    pub(super) fn read(input: &mut impl Read, bytes: &mut Vec<u8>) -> io::Result<()> {
        bytes.resize(HEAD_BYTES, 0);
        input.read_exact(bytes)?;
        let size = head(bytes).map_or(0, |(_, size)| size);
        bytes.resize(HEAD_BYTES + size, 0);
        input.read_exact(bytes.get_mut(HEAD_BYTES..).unwrap_or_default())
    }
}

/// Returns the words before the text, and the size of the text.
fn head(bytes: &[u8]) -> Option<([u64; WORDS], usize)> {
    let mut words = [0; WORDS];
    for (word, bytes) in words.iter_mut().zip(bytes.get(..HEAD_BYTES)?.chunks_exact(8)) {
        *word = u64::from_le_bytes(bytes.try_into().ok()?);
    }
    Some((words, words[WORDS - 1] as usize))
}
