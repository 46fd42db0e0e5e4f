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
//! unnamed file. If the output has bounds ([`StreamBounds`]), the archive fails instead.
//!
//! An archive can be cut into parts (`parts`, `completed_parts`). Offsets for the guard and for
//! snapshots count the bytes of all parts.

mod completed_parts;
mod contents;
mod offset_reader;
mod part_file;
mod parts;
mod prefix;
mod sink;
mod spool;
mod status;
pub(crate) mod stream;
mod target;
mod writer;

pub(crate) use completed_parts::CompletedParts;
pub(crate) use contents::has_records;
pub(crate) use offset_reader::OffsetReader;
pub(crate) use parts::part_name;
pub(crate) use prefix::Prefix;
pub use sink::ArchiveSink;
#[cfg(test)]
pub(crate) use spool::{Block, BlockInfo};
pub(crate) use status::WriterStatus;
pub use stream::StreamBounds;
pub use target::ArchiveTarget;
pub(crate) use target::{ArchiveOutput, Backup};
pub(crate) use writer::lower_priority;
#[cfg(test)]
pub(crate) use writer::ArchiveWriter;
