//! A picture of an archive over time: a web page, or an SVG.
//!
//! [`Timeline::read`] puts an archive into rows: for each process its threads and tracks with
//! durations inside each other, its operations across threads and its counters; and for each CPU
//! what ran on it. Moments, log messages, flows and lost records stand in these rows.
//! [`Timeline::html`] writes all of it as one file that a browser opens without a network, to be
//! searched and zoomed; [`Timeline::svg`] draws a still picture.
//!
//! # Texts of an archive are not trusted
//!
//! In the page, all that comes out of the archive stands in base64, apart from its title, and is
//! shown as text only. The page forbids itself (by a Content Security Policy with hashes) all
//! scripts and styles but its own, and any request. Control characters and those that change the
//! direction of writing are shown as escapes, such as `\u{202e}`.
//!
//! # Memory
//!
//! A timeline is held as a whole: while it is put in rows, up to 80 bytes for an event, and its
//! arguments as they stand in the archive. There is a limit on the number of events; what is beyond
//! it is counted in [`Timeline::left_out`]. A part of a long archive is cut out by
//! [`slice`](crate::slice).
//!
//! # What is not drawn
//!
//! Objects, blobs that have no time, records of profilers and of unknown types; values of counters
//! that are no finite numbers, or of more than 64 series. They are counted, and the page says so;
//! what an archive only carries for the JSON that it was made of is not.

mod arguments;

mod collect;
mod cpu;
mod durations;
mod encode;
mod flows;
mod html;
mod rows;
mod series;
mod svg;
#[cfg(test)]
mod tests;
mod undrawn;
mod visible;

use std::io::Read;

use trace_format::Reader;

use crate::ConvertError;
use collect::Collector;
use flows::Arrow;
use rows::Group;
pub use svg::Drawn;
use trace_analyze::catalog::Catalog;
use trace_analyze::Damage;

/// The most events of a timeline, unless chosen otherwise.
pub const DEFAULT_LIMIT: u64 = 2_000_000;

/// How much memory the strings and arguments of the events may take, for each event of the limit,
/// in bytes.
pub const DETAIL_BYTES: u64 = 100;

/// An archive put into rows.
#[derive(Debug)]
pub struct Timeline {
    catalog: Catalog,
    /// Arguments of all events, see [`arguments`].
    arguments: Vec<u8>,
    groups: Vec<Group>,
    arrows: Vec<Arrow>,
    /// The first and the last time, in nanoseconds.
    range: (u64, u64),
    /// The same without events of the tracing system itself.
    view: (u64, u64),
    /// What else there is to say, in lines.
    notes: Vec<String>,
    /// How many events are in the timeline.
    pub events: u64,
    /// How many events are beyond the limit, or beyond the memory for strings and arguments, and
    /// not in the timeline.
    pub left_out: u64,
    /// How many records are nothing that is drawn.
    pub not_drawn: u64,
    /// What is missing in the archive.
    pub damage: Damage,
}

impl Timeline {
    /// Reads an archive, of which at most `limit` events are kept, with at most [`DETAIL_BYTES`] of
    /// strings and arguments for each event of the limit.
    ///
    /// # Errors
    ///
    /// The input is not an archive, or reading it failed.
    pub fn read<R: Read>(reader: Reader<R>, limit: u64) -> Result<Self, ConvertError> {
        let mut collector = Collector::new(limit);
        let damage = Damage::of_all(reader, |item| collector.record(item))?;
        Ok(collector.finish(damage))
    }
}
