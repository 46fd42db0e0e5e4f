//! The archive: its records, the queue of blocks to write, and the thread that writes them.
//!
//! ```text
//!  event loop                                   writer thread
//!  ----------                                   -------------
//!  block of whole records --> Spool ----------> write(2) --> file, pipe or socket
//!                               |   ^
//!                   beyond 64   v   | in order
//!                   MiB     unlinked file
//! ```
//!
//! The loop never waits for the reader of the archive: what the writer is behind goes to a file
//! that has no name.

mod offset_reader;
mod sink;
mod spool;
mod target;
mod writer;

pub(crate) use offset_reader::OffsetReader;
pub use sink::ArchiveSink;
#[cfg(test)]
pub(crate) use spool::{Block, BlockInfo};
pub(crate) use target::ArchiveOutput;
pub use target::ArchiveTarget;
#[cfg(test)]
pub(crate) use writer::ArchiveWriter;
pub(crate) use writer::{lower_priority, Prefix, WriterStatus};
