//! Conversion of archives to other formats, and of other formats to archives.
//!
//! - [`chrome`] writes Chrome's JSON, the Trace Event Format.
//! - [`csv`] writes each event as a line of a table.
//! - [`perfetto`] writes Perfetto's native format.
//! - [`tef`] reads the Trace Event Format and writes an archive.
//! - [`text`] writes each record as a line of text.
//! - [`merge`] merges archives and aligns their clocks.
//! - [`samples`] names the functions of sampled call stacks.
//! - [`slice`](mod@slice) writes a part of an archive as an archive.
//! - [`symbolize`](mod@symbolize) adds the names of functions to the samples of an archive.
//! - [`stacks`] writes folded stacks and speedscope's JSON.
//! - [`timeline`] draws an archive as a web page or an SVG.
//!
//! All of them read the archive as a stream. Memory grows with the number of names and threads, not
//! with the length of the archive, with these exceptions:
//!
//! - [`merge`], [`slice`](mod@slice) and [`symbolize`](mod@symbolize) read the archive twice.
//! - [`stacks`] and [`samples`] keep each distinct stack in memory for folded output; [`timeline`]
//!   keeps all that it draws.
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
mod images;
mod json_error;
pub mod merge;
pub mod perfetto;
mod rewrite;
pub mod samples;
pub mod slice;
mod sorted;
pub mod stacks;
pub mod symbolize;
mod symbols;
pub mod tef;
#[cfg(test)]
#[path = "../../trace-analyze/src/testing.rs"]
mod testing;
pub mod text;
pub mod timeline;
mod visible;
mod weights;

pub use conversion::Conversion;
pub use error::ConvertError;
pub use symbols::Symbols;
pub use visible::{visible, visible_json};
