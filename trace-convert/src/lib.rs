//! Reading of archives for people and other tools.
//!
//! - [`chrome`] turns an archive into Chrome's JSON, the Trace Event Format.
//! - [`perfetto`] turns it into Perfetto's own format.
//! - [`tef`] reads the Trace Event Format and turns it into an archive.
//! - [`text`] writes each record as a line of text.
//! - [`check`] tells whether an archive is well-formed and what it lacks.
//! - [`stats`] says how often, how long, and how it is spread.
//! - [`critical`] follows an operation or a flow.
//! - [`diff`] tells what became slower or faster.
//! - [`merge`] puts archives together.
//! - [`slice`](mod@slice) cuts a part out of an archive.
//! - [`stacks`] is for flame graphs, speedscope and spreadsheets.
//! - [`timeline`] draws an archive as a web page or an SVG.
//! - [`spans`] puts whole durations together, for an analysis of your own.
//!
//! All of them read an archive as a stream, in memory that does not depend on
//! its length but on how many names and threads there are, with exceptions:
//!
//! - [`critical`], [`merge`], [`slice`](mod@slice), and [`stats`] with a
//!   schedule go through it more than once.
//! - [`critical`] holds what a process did during the operation it follows,
//!   [`stacks`] each different stack if they are folded, and [`timeline`] all
//!   that it draws.
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

mod arguments;
mod base64;
pub mod catalog;
pub mod check;
pub mod chrome;
mod conversion;
pub mod critical;
pub mod csv;
mod damage;
pub mod diff;
mod error;
mod exact;
pub mod extent;
mod koids;
mod links;
mod loss;
pub mod merge;
mod pairing;
pub mod perfetto;
mod rewrite;
pub mod schedule;
pub mod slice;
pub mod spans;
pub mod stacks;
pub mod stats;
pub mod tef;
#[cfg(test)]
mod testing;
pub mod text;
pub mod timeline;
mod visible;
mod weights;

pub use conversion::Conversion;
pub use damage::Damage;
pub use error::ConvertError;
pub use exact::exact;
pub use loss::Loss;
pub use visible::visible;
