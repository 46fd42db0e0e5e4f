//! Draws an archive over time, as a web page or an SVG.
//!
//! [`Timeline::read`] arranges an archive in rows: for each process its threads and tracks with
//! nested durations, its async operations and its counters; and for each CPU the threads that ran
//! on it. Instants, log messages, flows and losses are in these rows. [`Timeline::html`] writes one
//! file that a browser opens without a network, with search and zoom. [`Timeline::svg`] draws a
//! static picture.
//!
//! # Security
//!
//! Texts of an archive are untrusted. In the page, all data of the archive is in base64, except the
//! title, and is shown as text only. A Content Security Policy with hashes forbids requests and all
//! scripts and styles except the page's own. Control characters, and characters that change the
//! direction of writing, are shown as escapes such as `\u{202e}`.
//!
//! # Memory
//!
//! A timeline is in memory: up to 80 bytes for an event while rows are built, and the arguments as
//! in the archive. The number of events has a limit; [`Timeline::left_out`] counts events beyond
//! it. [`slice`](crate::slice) writes a part of a long archive.
//!
//! # Records that are not drawn
//!
//! Objects, blobs without a time, profiler records, records of unknown types, values of counters
//! that are not finite numbers, and series of a counter beyond 64. The page has their number. Blobs
//! that carry parts of a JSON document are not counted.

mod arguments;

mod collect;
mod cpu;
mod durations;
mod encode;
mod flows;
mod html;
mod notes;
mod rows;
mod series;
mod svg;
#[cfg(test)]
mod tests;
mod tree;
mod visible;

use std::io::Read;

use trace_format::Reader;

use crate::ConvertError;
use collect::TimelineCollector;
use flows::Arrow;
use rows::Group;
pub use svg::Drawn;
use trace_analyze::catalog::Catalog;
use trace_analyze::Damage;

/// The default limit of events.
pub const DEFAULT_LIMIT: u64 = 2_000_000;

/// The limit of memory for strings and arguments, in bytes for each event of the limit of events.
pub const DETAIL_BYTES: u64 = 100;

/// An archive, arranged in rows.
#[derive(Debug)]
pub struct Timeline {
    catalog: Catalog,
    /// The arguments of all events, see [`arguments`].
    arguments: Vec<u8>,
    groups: Vec<Group>,
    arrows: Vec<Arrow>,
    /// The first and the last time, in nanoseconds.
    range: (u64, u64),
    /// The range without events of the tracing system itself.
    view: (u64, u64),
    /// Notes below the timeline, such as missing data.
    notes: Vec<String>,
    /// The number of events in the timeline.
    pub events: u64,
    /// The number of events beyond the limits of events and memory. They are not in the timeline.
    pub left_out: u64,
    /// The number of records of types that are not drawn.
    pub not_drawn: u64,
    /// The number of durations that end before they begin. They are drawn without a length.
    pub reversed: u64,
    /// The damage of the archive.
    pub damage: Damage,
}

impl Timeline {
    /// Reads at most `limit` events of an archive, with at most [`DETAIL_BYTES`] of strings and
    /// arguments for each event of the limit.
    ///
    /// # Errors
    ///
    /// The input is not an archive, or reading it failed.
    pub fn read<R: Read>(reader: Reader<R>, limit: u64) -> Result<Self, ConvertError> {
        let mut collector = TimelineCollector::new(limit);
        let damage = Damage::of_all(reader, |item| collector.record(item))?;
        Ok(collector.finish(damage))
    }
}
