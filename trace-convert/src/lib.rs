//! Archives in other formats, and other formats as archives.
//!
//! - [`chrome`] turns an archive into Chrome's JSON, the Trace Event Format.
//! - [`perfetto`] turns it into Perfetto's own format.
//! - [`tef`] reads the Trace Event Format and turns it into an archive.
//! - [`text`] writes each record as a line of text.
//! - [`merge`] puts archives together.
//! - [`slice`](mod@slice) cuts a part out of an archive.
//! - [`stacks`] is for flame graphs, speedscope and spreadsheets.
//! - [`timeline`] draws an archive as a web page or an SVG.
//!
//! All of them read an archive as a stream, in memory that does not depend on its length but on how
//! many names and threads there are, with exceptions:
//!
//! - [`merge`] and [`slice`](mod@slice) go through it more than once.
//! - [`stacks`] holds each different stack if they are folded, and [`timeline`] all that it draws.
//!
//! # Examples
//!
//! ```
//! use trace_convert::chrome;
//! use trace_format::Reader;
//!
//! # fn open() -> &'static [u8] { b"\x10\x00\x04\x46\x78\x54\x16\x00" }
//! let mut json = Vec::new();
//! let conversion = chrome::write(Reader::new(open()), &mut json)?;
//! assert_eq!(conversion.events, 0);
//! # Ok::<(), trace_convert::ConvertError>(())
//! ```
#![forbid(unsafe_code)]

mod blobs;
pub mod chrome;
mod conversion;
pub mod csv;
mod error;
mod export;
pub mod ftrace;
pub mod merge;
pub mod perfetto;
mod rewrite;
pub mod slice;
pub mod stacks;
pub mod tef;
#[cfg(test)]
#[path = "../../trace-analyze/src/testing.rs"]
mod testing;
pub mod text;
pub mod timeline;
mod visible;

pub use conversion::Conversion;
pub use error::ConvertError;
pub use visible::visible;
