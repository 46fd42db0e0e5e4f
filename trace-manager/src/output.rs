//! The files, pipes and sockets that archives are written to.
//!
//! | module | subject |
//! |---|---|
//! | `target` | where an archive goes, and its final name |
//! | `parts`, `completed_parts` | an archive that is cut into parts |
//! | `part_file` | a part that is written |
//! | `stream` | pipes and sockets |
//! | `contents`, `offset_reader` | what a file has already |

mod completed_parts;
mod contents;
mod offset_reader;
mod part_file;
mod parts;
pub(crate) mod stream;
mod target;

pub(crate) use completed_parts::{CompletedParts, PartsReader, WrittenPart};
pub(crate) use contents::has_records;
pub(crate) use offset_reader::OffsetReader;
pub(crate) use part_file::{BlockRole, PartBegin, PartFile, PartPlaces, MAGIC};
pub(crate) use parts::part_name;
pub use stream::StreamBounds;
pub use target::ArchiveTarget;
pub(crate) use target::{ArchiveOutput, Backup};
