//! The archive: its records, the queue of blocks, and the writer thread.
//!
//! ```text
//!  event loop                                   writer thread
//!  ----------                                   -------------
//!  block of records --------> Spool ----------> write(2) --> file, pipe or socket
//!                               |   ^
//!                   beyond 256  v   | in order
//!                   MiB     unnamed file
//! ```
//!
//! The loop never waits for the reader of the archive. Blocks that exceed the memory limit go to an
//! unnamed file. If the output has bounds (`StreamBounds`), the archive fails instead.
//!
//! An archive can be cut into parts (`output`). Offsets for the guard and for snapshots count the
//! bytes of all parts.

mod prefix;
mod sink;
mod spool;
mod status;
mod writer;

pub(crate) use prefix::Prefix;
pub use sink::ArchiveSink;
#[cfg(test)]
pub(crate) use spool::{Block, BlockInfo};
pub(crate) use status::WriterStatus;
#[cfg(test)]
pub(crate) use writer::ArchiveWriter;
pub(crate) use writer::{lower_priority, MEMORY_LIMIT};
