//! The members of most events.

/// A member of an event that [`Event::get`](super::Event::get) returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// `ph`, a letter: the type of the event.
    Phase,
    /// `pid`
    Process,
    /// `tid`
    Thread,
    /// `ts`, in microseconds.
    Timestamp,
    /// `dur`, in microseconds.
    Duration,
    /// `id`
    Id,
    /// `name`
    Name,
    /// `cat`, a list of categories with commas between them.
    Category,
    /// `bp`, the slice that a flow binds to.
    Binding,
    /// `s`, the scope of an instant.
    Scope,
    /// `args`; see also [`Event::arguments`](super::Event::arguments).
    Args,
}

impl Field {
    /// The key of each field.
    pub(crate) const KEYS: [&str; 11] =
        ["ph", "pid", "tid", "ts", "dur", "id", "name", "cat", "bp", "s", "args"];

    pub(crate) const COUNT: usize = Self::KEYS.len();

    /// Returns the key.
    #[must_use]
    pub fn key(self) -> &'static str {
        Self::KEYS[self as usize]
    }

    /// Returns the field with a key. The parser does this for each member.
    #[inline(always)]
    pub(crate) fn of_key(key: &[u8]) -> Option<Self> {
        Some(match key {
            b"ph" => Self::Phase,
            b"name" => Self::Name,
            b"cat" => Self::Category,
            b"ts" => Self::Timestamp,
            b"dur" => Self::Duration,
            b"pid" => Self::Process,
            b"tid" => Self::Thread,
            b"id" => Self::Id,
            b"s" => Self::Scope,
            b"bp" => Self::Binding,
            b"args" => Self::Args,
            _ => return None,
        })
    }
}
