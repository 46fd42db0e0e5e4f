//! Events by which an archive reports its own gaps and clocks, and other data about the archive.
//!
//! All events are instants of the category [`CATEGORY`]. They are not a part of the specification;
//! `docs/format.md` describes them.

/// The category of these events.
pub const CATEGORY: &str = "trace";

/// The event that has the time of several clocks at one point. Only the writer of the archive adds
/// it.
pub const CLOCK_ANCHOR: &str = "clock anchor";

/// The event that reports records that a provider dropped.
pub const RECORDS_DROPPED: &str = "records dropped";

/// The event that reports that a circular buffer overwrote older records. Only the writer of the
/// archive adds it.
pub const OVERWRITTEN: &str = "older records overwritten";

/// The event that reports that a provider recorded nothing while it got a new buffer. Only the
/// writer of the archive adds it.
pub const INTERRUPTED: &str = "recording interrupted";

/// The events that providers may not write.
pub const RESERVED: [&str; 3] = [CLOCK_ANCHOR, OVERWRITTEN, INTERRUPTED];

/// The blob with names of functions, of type data. Only `trace symbolize` adds it.
pub const SYMBOLS: &str = "trace symbols";

/// The event that has the weight of the thread's next sample, which has the same time. Without it,
/// the weight is 1. Its argument `weight` is unsigned, with 64 bits.
pub const SAMPLE_WEIGHT: &str = "sample weight";

/// The report of a command on an archive with the byte order of big-endian machines.
pub const BIG_ENDIAN: &str = "big-endian archive";

/// The report of a command on an archive that does not start with the magic number record.
pub const NO_MAGIC_NUMBER: &str = "archive without a magic number record";

/// The report of a command on an archive that was cut between two records.
pub const ENDS_EARLY: &str = "the archive ends early: providers whose last records may be missing";

/// The report of a command on an archive with times beyond `u64::MAX` nanoseconds.
pub const SATURATED: &str = "times beyond 2^64 ns, read as 2^64 - 1 ns";

/// The report of a command on an archive with arguments of unknown types.
pub const UNKNOWN_ARGUMENTS: &str = "arguments of unknown types";

/// A kind of missing data other than dropped records.
///
/// An event reports each kind, with the number of missing items as its only argument. The event of
/// an interruption has the begin and the end of the interruption instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(usize)]
pub enum Omission {
    /// Trace points that are disabled because the provider's buffer has no space for their strings.
    TracePoints = 0,
    /// Names of threads, tracks or the process that were dropped because the buffer was full.
    Names = 1,
    /// Alerts that were raised but not sent.
    Alerts = 2,
    /// Strings that were cut because they or their record were too long.
    Strings = 3,
    /// Records that the manager refused: malformed ones, and those that a provider may not write.
    Refused = 4,
    /// Buffers that were read while the provider wrote, because it did not answer the stop in time,
    /// or did not notice in time that its recorder was killed.
    Unfinished = 5,
    /// Providers that were cut off because they violated the protocol.
    CutOff = 6,
    /// Times at which a provider recorded nothing while it got a new buffer.
    Interruptions = 7,
    /// Connections of programs that the manager refused.
    Connections = 8,
    /// Bytes of a damaged archive that a recovery skipped.
    Bytes = 9,
    /// Dropped records that were not reported before the archive was cut into parts. A later part
    /// reports them.
    ReportedLater = 10,
    /// Buffers, at most, that providers had handed over to a recorder that was killed, and that are
    /// not in the archive.
    Buffers = 11,
    /// Helpers of the recorder that ended before it ended them, such as that of the kernel's
    /// events. Their later records are missing.
    Helpers = 12,
    /// Sources of a provider that failed, such as that of the kernel's events. Some of their
    /// records are missing. A log record has the first error.
    Sources = 13,
    /// Calls of functions with sleds that were not recorded: inside of too many open ones, in a
    /// signal handler that interrupted the recording of another one, or of a thread that had no
    /// memory for its open calls.
    Calls = 14,
    /// Milliseconds in which programs ran that had waited in vain for the begin of their recording.
    Beginning = 15,
    /// Programs and libraries of which no call was recorded, because their sleds cannot be patched.
    /// Events `cannot patch sleds` have the reasons.
    Sleds = 16,
}

impl Omission {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 17] = [
        Self::TracePoints,
        Self::Names,
        Self::Alerts,
        Self::Strings,
        Self::Refused,
        Self::Unfinished,
        Self::CutOff,
        Self::Interruptions,
        Self::Connections,
        Self::Bytes,
        Self::ReportedLater,
        Self::Buffers,
        Self::Helpers,
        Self::Sources,
        Self::Calls,
        Self::Beginning,
        Self::Sleds,
    ];

    /// The name of the argument with the number of missing items, an unsigned 64-bit integer.
    pub const NUMBER: &'static str = "number";

    /// Returns the name of the event.
    #[must_use]
    pub const fn event(self) -> &'static str {
        match self {
            Self::TracePoints => "trace points disabled: no space for their strings",
            Self::Names => "names dropped: buffer full",
            Self::Alerts => "alerts not sent",
            Self::Strings => "strings cut: too long",
            Self::Refused => "records refused",
            Self::Unfinished => "buffers read before the program stopped",
            Self::CutOff => "providers cut off",
            Self::Interruptions => INTERRUPTED,
            Self::Connections => "connections refused",
            Self::Bytes => "bytes skipped in a damaged archive",
            Self::ReportedLater => "records dropped, reported in a later part",
            Self::Buffers => "buffers lost: recorder killed",
            Self::Helpers => "helpers ended early",
            Self::Sources => "sources failed",
            Self::Calls => "calls not recorded",
            Self::Beginning => "recording began late",
            Self::Sleds => "sleds not patched",
        }
    }

    /// Returns the name of the missing items, in the plural.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TracePoints => "trace points",
            Self::Names => "names",
            Self::Alerts => "alerts",
            Self::Strings => "ends of strings",
            Self::Refused => "refused records",
            Self::Unfinished => "unfinished buffers",
            Self::CutOff => "providers cut off",
            Self::Interruptions => "interruptions",
            Self::Connections => "refused connections",
            Self::Bytes => "skipped bytes",
            Self::ReportedLater => "records dropped, which a later part reports",
            Self::Buffers => "lost buffers",
            Self::Helpers => "helpers that ended early",
            Self::Sources => "sources that failed",
            Self::Calls => "calls",
            Self::Beginning => "milliseconds before a late begin of recording",
            Self::Sleds => "programs and libraries whose sleds cannot be patched",
        }
    }

    /// Returns the kind that the event with this name reports.
    #[must_use]
    pub fn of_event(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|omission| omission.event() == name)
    }
}

/// The number of missing items of each [`Omission`], indexed by `Omission as usize`.
pub type Omitted = [u64; Omission::ALL.len()];

/// The data that is missing in an archive, according to its own reports.
///
/// The summary of a recording and `trace check` use the same definition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// The number of dropped records.
    pub records: u64,
    /// The number of provider events "buffer full".
    pub buffers_full: u64,
    /// The number of providers whose records end before their last clock anchor.
    pub ends_early: u64,
    /// Other missing data, by [`Omission`].
    pub omitted: Omitted,
}

impl Missing {
    /// Returns whether no data is missing: the archive is complete.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds `number` missing items of a kind. The sum saturates.
    pub fn omit(&mut self, omission: Omission, number: u64) {
        if let Some(sum) = self.omitted.get_mut(omission as usize) {
            *sum = sum.saturating_add(number);
        }
    }

    /// Returns the kinds of which items are missing, and their numbers.
    pub fn omissions(&self) -> impl Iterator<Item = (Omission, u64)> {
        omissions(self.omitted)
    }
}

/// Returns the kinds of which items are missing, and their numbers.
pub fn omissions(omitted: Omitted) -> impl Iterator<Item = (Omission, u64)> {
    Omission::ALL.into_iter().zip(omitted).filter(|(_, number)| *number != 0)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn an_archive_with_missing_data_is_incomplete() {
        assert!(Missing::default().is_empty());
        assert!(!Missing { records: 1, ..Missing::default() }.is_empty());
        assert!(!Missing { buffers_full: 1, ..Missing::default() }.is_empty());
        assert!(!Missing { ends_early: 1, ..Missing::default() }.is_empty());
        for omission in Omission::ALL {
            let mut missing = Missing::default();
            missing.omit(omission, 3);
            assert!(!missing.is_empty());
            assert_eq!(missing.omissions().collect::<Vec<_>>(), [(omission, 3)]);
            assert_eq!(Omission::of_event(omission.event()), Some(omission));
        }
    }
    #[test]
    fn names_of_missing_items() {
        let names = Omission::ALL.map(Omission::as_str);
        let expected = [
            "trace points",
            "names",
            "alerts",
            "ends of strings",
            "refused records",
            "unfinished buffers",
            "providers cut off",
            "interruptions",
            "refused connections",
            "skipped bytes",
            "records dropped, which a later part reports",
            "lost buffers",
            "helpers that ended early",
            "sources that failed",
            "calls",
            "milliseconds before a late begin of recording",
            "programs and libraries whose sleds cannot be patched",
        ];
        assert_eq!(names, expected);
    }
}
