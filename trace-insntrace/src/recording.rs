//! Recordings: the packets of several threads, and what is required to decode them.
//!
//! - [`Note`] is a fact about threads or code, such as a mapping.
//! - [`Writer`] writes the files of a recording, [`Recording`] reads them.
//! - [`Ring`] keeps the newest packets in memory.
//! - [`TraceDecoder`] decodes one trace with the code of its time.

mod decode;
mod files;
mod note;
mod ring;
mod side;
mod spaces;
mod unused;

pub use decode::TraceDecoder;
pub use files::{Anchor, Clock, Error, Recording, Trace, Writer};
pub use note::{Mapping, Note, SpaceId, ThreadEnd, TraceId};
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) use ring::since;
pub use ring::Ring;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) use side::{notes_of_archive, notes_to_archive};
