//! A process of an archive, and the limits of its log.

use super::error::ExportError;
use crate::map::MapError;
use crate::record::FunctionId;

/// The size of thread buffers. Each FXT record fits, except the largest blobs.
///
/// LLVM's tools lose the order of more than 16 thread buffers of a thread: these have 256 MiB. A
/// buffer takes no more space than its records, in the log and in memory, where there is one at a
/// time.
pub(super) const BUFFER_BYTES: u64 = 16 << 20;

/// A recorded program of an archive. A process that executes another program is two of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Process {
    /// The id of its process.
    pub pid: u64,
    /// The name of its process while it runs.
    pub name: String,
}

/// Returns the next number of a function.
pub(super) fn next_function(count: usize) -> Result<FunctionId, ExportError> {
    let id = u32::try_from(count).ok().and_then(FunctionId::new);
    id.ok_or(ExportError::Map(MapError::TooManyFunctions))
}
