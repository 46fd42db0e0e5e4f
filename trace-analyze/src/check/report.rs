//! The result of a check.

use trace_format::{ReadError, ThreadKoids};

use crate::catalog::Catalog;
use crate::pairing::Unpaired;
use crate::{Damage, Kinds};

/// The result of a check.
#[derive(Debug, Default)]
pub struct Report {
    /// The number of bytes that were read.
    pub bytes: u64,
    /// Missing and unreadable data, but for the errors.
    pub damage: Damage,
    /// Event records, but for those that the writer of the archive adds, such as clock anchors.
    pub events: u64,
    /// The numbers of records by kind. Missing context switches have no part in the verdict: some
    /// kernels of virtual machines write none from hidden threads.
    pub kinds: Kinds,
    /// The number of errors.
    pub error_count: u64,
    /// The first 10 errors.
    pub errors: Vec<String>,
    /// The error if the input is not an archive, which is also one of `errors`.
    pub no_archive: Option<ReadError>,
    /// All providers in the order of their first records. If there are records before the first
    /// section, these come first, without an id.
    pub providers: Vec<ProviderReport>,
    /// Rolling buffers that circular recording overwrote with newer ones.
    pub buffers_overwritten: u64,
    /// The dropped records by provider, thread and reason.
    pub dropped: Vec<Dropped>,
    /// Ends of durations without a begin.
    pub ends_without_begin: u64,
    /// Durations without an end.
    pub open_scope_count: u64,
    /// The first 1000 durations without an end.
    pub open_scopes: Vec<OpenScope>,
    /// Begins and ends of async operations that are unpaired.
    pub unpaired_operations: Unpaired,
    /// The names of threads and processes.
    pub names: Catalog,
}

/// The counts of a provider.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProviderReport {
    /// Its id, or `None` for records before the first section.
    pub id: Option<u32>,
    /// Its name, or an empty string if it has none.
    pub name: String,
    /// Records of any kind.
    pub records: u64,
    /// Event records.
    pub events: u64,
    /// Dropped records.
    pub records_dropped: u64,
}

/// Records that a thread dropped for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// The provider, or `None` for rows beyond the limit.
    pub provider: Option<u32>,
    /// The thread. Its koid is 0 for several threads of the process.
    pub thread: ThreadKoids,
    /// The reason.
    pub reason: String,
    /// The number of records.
    pub number: u64,
}

/// A duration without an end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenScope {
    /// Its thread.
    pub thread: ThreadKoids,
    /// Its category.
    pub category: String,
    /// Its name.
    pub name: String,
    /// The time of its begin, in nanoseconds of its provider's clock.
    pub nanos: u64,
}

/// The state of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Well-formed, and nothing is missing.
    Complete,
    /// Well-formed, but it reports missing data.
    Lossy,
    /// Not well-formed.
    Malformed,
}

impl Report {
    /// Returns whether a duration or an async operation has only a begin or only an end.
    #[must_use]
    pub fn has_unpaired(&self) -> bool {
        let Unpaired { begins, ends } = self.unpaired_operations;
        [self.ends_without_begin, self.open_scope_count, begins, ends]
            .iter()
            .any(|count| *count > 0)
    }

    /// Returns the state of the archive.
    ///
    /// Begins without an end, ends without a begin, and records of unknown types are neither errors
    /// nor losses.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        if self.error_count > 0 || !self.damage.is_readable() {
            Verdict::Malformed
        } else if !self.damage.is_none() {
            Verdict::Lossy
        } else {
            Verdict::Complete
        }
    }
}
