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
//! unnamed file.

mod contents;
mod offset_reader;
mod sink;
mod spool;
mod status;
mod target;
mod writer;

pub(crate) use contents::has_records;
pub(crate) use offset_reader::OffsetReader;
pub use sink::ArchiveSink;
#[cfg(test)]
pub(crate) use spool::{Block, BlockInfo};
pub(crate) use status::WriterStatus;
pub use target::ArchiveTarget;
pub(crate) use target::{ArchiveOutput, Backup};
#[cfg(test)]
pub(crate) use writer::ArchiveWriter;
pub(crate) use writer::{lower_priority, Prefix};
