//! Events that the tracing system adds to an archive about the archive itself.
//!
//! All are instants of the category [`CATEGORY`]. The format's document has no
//! such events; see `docs/format.md`.

/// The category of these events.
pub const CATEGORY: &str = "trace";

/// The event that has one moment on several clocks. Only the writer of the
/// archive adds it.
pub const CLOCK_ANCHOR: &str = "clock anchor";

/// The event that reports records that a provider dropped.
pub const RECORDS_DROPPED: &str = "records dropped";

/// The event that reports that a circular buffer overwrote older records. Only
/// the writer of the archive adds it.
pub const OVERWRITTEN: &str = "older records overwritten";

/// The events that no provider may write.
pub const RESERVED: [&str; 2] = [CLOCK_ANCHOR, OVERWRITTEN];

/// What a command reports if an archive has the byte order of big-endian machines.
pub const BIG_ENDIAN: &str = "big-endian archive";

/// What a command reports if an archive does not start with the magic number record.
pub const NO_MAGIC_NUMBER: &str = "archive without a magic number record";

/// What a command reports if an archive has times beyond `u64::MAX` nanoseconds.
pub const SATURATED: &str = "times beyond 2^64 ns, read as 2^64 - 1 ns";

/// What a command reports if an archive has arguments of types that it does not know.
pub const UNKNOWN_ARGUMENTS: &str = "arguments of unknown types";

/// Data that is missing although no record was dropped. An event reports each
/// kind, with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(usize)]
pub enum Omission {
    /// Trace points that are off, because the string table has no room for
    /// their strings.
    TracePoints = 0,
    /// Names of threads, tracks or the process that found no room.
    Names = 1,
    /// Alerts that were raised and not sent.
    Alerts = 2,
    /// Strings that were cut, because they or their record would be too long.
    Strings = 3,
    /// Records that the manager refused: malformed, or not the provider's to
    /// write.
    Refused = 4,
}

impl Omission {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 5] =
        [Self::TracePoints, Self::Names, Self::Alerts, Self::Strings, Self::Refused];

    /// The name of the argument that has their number, an unsigned 64-bit
    /// integer. There is no other argument.
    pub const NUMBER: &'static str = "number";

    /// Returns the name of the event.
    #[must_use]
    pub const fn event(self) -> &'static str {
        match self {
            Self::TracePoints => "trace points left off: no room for their names",
            Self::Names => "names left off: no room for them",
            Self::Alerts => "alerts not sent",
            Self::Strings => "strings cut: too long",
            Self::Refused => "records refused",
        }
    }

    /// Returns what they are, in the plural.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TracePoints => "trace points",
            Self::Names => "names",
            Self::Alerts => "alerts",
            Self::Strings => "ends of strings",
            Self::Refused => "refused records",
        }
    }

    /// Returns the omission that the event with this name reports.
    #[must_use]
    pub fn of_event(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|omission| omission.event() == name)
    }
}

/// A number for each [`Omission`], by its number.
pub type Omitted = [u64; Omission::ALL.len()];

/// What an archive lacks, as it reports itself. A summary of a recording and a
/// check of its archive come to the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// Records that were dropped.
    pub records: u64,
    /// Buffers that are reported full by the format's own record.
    pub buffers_full: u64,
    /// What else is missing, by [`Omission`].
    pub omitted: Omitted,
}

impl Missing {
    /// Tells whether the archive is complete: nothing is missing.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Adds `number` of an omission.
    pub fn omit(&mut self, omission: Omission, number: u64) {
        if let Some(sum) = self.omitted.get_mut(omission as usize) {
            *sum = sum.saturating_add(number);
        }
    }

    /// Returns the omissions that there are, with their numbers.
    pub fn omissions(&self) -> impl Iterator<Item = (Omission, u64)> {
        omissions(self.omitted)
    }
}

/// Returns the omissions of which there are any, with their numbers.
pub fn omissions(omitted: Omitted) -> impl Iterator<Item = (Omission, u64)> {
    Omission::ALL.into_iter().zip(omitted).filter(|(_, number)| *number != 0)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn anything_missing_makes_an_archive_incomplete() {
        assert!(Missing::default().is_nothing());
        assert!(!Missing { records: 1, ..Missing::default() }.is_nothing());
        assert!(!Missing { buffers_full: 1, ..Missing::default() }.is_nothing());
        for omission in Omission::ALL {
            let mut missing = Missing::default();
            missing.omit(omission, 3);
            assert!(!missing.is_nothing());
            assert_eq!(missing.omissions().collect::<Vec<_>>(), [(omission, 3)]);
            assert_eq!(Omission::of_event(omission.event()), Some(omission));
        }
    }
}
