//! What a check has found.

use trace_format::audit::Audit;
use trace_format::notes::{Missing, Omitted};
use trace_format::{ReadError, Stats, ThreadKoids};

/// What a check has found.
#[derive(Debug, Default)]
pub struct Report {
    /// How much of the archive was read, in bytes.
    pub bytes: u64,
    /// What the reader has counted.
    pub stats: Stats,
    /// The references that lead nowhere.
    pub audit: Audit,
    /// Event records.
    pub events: u64,
    /// How much is wrong.
    pub error_count: u64,
    /// What is wrong, the first 10.
    pub errors: Vec<String>,
    /// Why the input is no archive at all, if it is none; also among `errors`.
    pub no_archive: Option<ReadError>,
    /// All providers, in the order of their first records; before them, if
    /// there are such records, whoever wrote those before the first section.
    pub providers: Vec<ProviderReport>,
    /// How often the archive says that something happened to a provider; the
    /// format knows of nothing but full buffers.
    pub buffers_full: u64,
    /// Rolling buffers that younger ones overwrote, as circular recording does: what was before
    /// them is not in the archive.
    pub buffers_overwritten: u64,
    /// Records that are missing, of which the archive tells itself.
    pub records_dropped: u64,
    /// What else is missing, by [`Omission`](trace_format::notes::Omission).
    pub omitted: Omitted,
    /// The dropped records by provider, thread and reason.
    pub dropped: Vec<Dropped>,
    /// Duration ends on threads with no duration begun.
    pub ends_without_begin: u64,
    /// How many durations have begun and not ended.
    pub open_scope_count: u64,
    /// Those durations, the first 1000.
    pub open_scopes: Vec<OpenScope>,
}

/// What there is of one provider.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProviderReport {
    /// Its id; `None` stands for whoever wrote before the first section.
    pub id: Option<u32>,
    /// Its name, empty if there is none.
    pub name: String,
    /// Records of any kind.
    pub records: u64,
    /// Event records.
    pub events: u64,
    /// Records that are missing.
    pub records_dropped: u64,
}

/// Records that one thread could not write for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// The provider; `None` in what was counted together.
    pub provider: Option<u32>,
    /// The thread.
    pub thread: ThreadKoids,
    /// The reason.
    pub reason: String,
    /// How many records.
    pub number: u64,
}

/// A duration that has begun and not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenScope {
    /// Its thread.
    pub thread: ThreadKoids,
    /// Its category.
    pub category: String,
    /// Its name.
    pub name: String,
    /// When it began, in nanoseconds of its provider's clock.
    pub nanos: u64,
}

/// How an archive is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Well-formed, and nothing is missing.
    Complete,
    /// Well-formed, and it reports itself that data is missing.
    Lossy,
    /// Not well-formed.
    Malformed,
}

impl Report {
    /// Returns what is missing, as the archive reports itself.
    #[must_use]
    pub fn missing(&self) -> Missing {
        Missing {
            records: self.records_dropped,
            buffers_full: self.buffers_full,
            omitted: self.omitted,
        }
    }

    /// Returns the worst that can be said of the archive.
    ///
    /// Open scopes and records of unknown types are neither wrong nor a loss.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let unknown = self.audit.unknown_strings + self.audit.unknown_threads;
        if self.error_count + unknown > 0 {
            Verdict::Malformed
        } else if !self.missing().is_empty() {
            Verdict::Lossy
        } else {
            Verdict::Complete
        }
    }
}
