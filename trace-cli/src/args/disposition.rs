//! Buffer dispositions by name.

use clap::ValueEnum;
use trace_manager::controller::BufferDisposition;

/// The treatment of records in the buffers of a session that starts again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Disposition {
    /// Write them to the archive
    Retain,
    /// Drop all but the names of threads, tracks and processes
    ClearNondurable,
    /// Drop all
    ClearEntire,
}

impl From<Disposition> for BufferDisposition {
    fn from(disposition: Disposition) -> Self {
        match disposition {
            Disposition::Retain => Self::Retain,
            Disposition::ClearNondurable => Self::ClearNondurable,
            Disposition::ClearEntire => Self::ClearEntire,
        }
    }
}
