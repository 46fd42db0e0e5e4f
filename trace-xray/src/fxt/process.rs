//! A process of an archive, and the limits of its log.

use super::error::ExportError;
use crate::map::MapError;
use crate::record::FunctionId;

/// The size of thread buffers. Each FXT record fits, except large blobs.
pub(super) const BUFFER_BYTES: u64 = 256 << 10;

/// A recorded process of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: u64,
    /// Its name.
    pub name: String,
}

/// Returns the next number of a function.
pub(super) fn next_function(count: usize) -> Result<FunctionId, ExportError> {
    let id = u32::try_from(count).ok().and_then(FunctionId::new);
    id.ok_or(ExportError::Map(MapError::TooManyFunctions))
}
