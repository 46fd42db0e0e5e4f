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

mod position;
mod sink;
mod spool;
mod target;
mod writer;

pub(crate) use position::ReadFrom;
pub use sink::ArchiveSink;
#[cfg(test)]
pub(crate) use spool::{Block, Notes};
pub use target::ArchiveTarget;
pub(crate) use target::Output;
#[cfg(test)]
pub(crate) use writer::ArchiveWriter;
pub(crate) use writer::{give_way, Beginning, WriterStatus};
