//! The tables of an archive.
//!
//! Names, types and units are stable within a [`SCHEMA_VERSION`]. Times are nanoseconds of the
//! archive's clock, signed, so that differences need no cast. Ids of the operating system and of
//! the program (`pid`, `tid`, `operation_id`, `flow_id`, `counter_id`) are unsigned with 64 bits,
//! as in the archive. Numbers that this crate gives (`id`, `thread_id`, `process_id`, `track_id`)
//! are signed.

mod archives;
mod args;
mod common;
mod counters;
mod events;
mod flows;
mod instants;
mod logs;
mod losses;
mod modules;
mod operations;
mod processes;
mod samples;
mod spans;
mod threads;
mod turns;
mod wakeups;

use datafusion::arrow::datatypes::SchemaRef;

pub(crate) use args::values_of;
pub(crate) use events::{
    thread_track, Emit, EventReader, EventRow, Threads, WideReader, DEPTH_COLUMN, KEY_COLUMNS,
    PARENT_COLUMN, WIDE,
};

use crate::columns::{schema, Column};
use crate::source::Source;

/// The version of the names, types and units of all tables. It changes if one of them does.
pub const SCHEMA_VERSION: u32 = 1;

/// A table.
#[derive(Debug)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// What a row is.
    pub about: &'static str,
    /// Its columns.
    pub columns: &'static [Column],
    /// The column with the time by which filters skip rows while the archive is read.
    pub time: Option<&'static str>,
    /// Where its rows come from.
    pub(crate) source: Source,
}

impl Table {
    /// Returns its schema.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        schema(self.columns)
    }
}

/// All tables.
pub static TABLES: [&Table; 15] = [
    &spans::TABLE,
    &instants::TABLE,
    &counters::TABLE,
    &operations::TABLE,
    &flows::TABLE,
    &args::TABLE,
    &logs::TABLE,
    &losses::TABLE,
    &turns::TABLE,
    &wakeups::TABLE,
    &samples::TABLE,
    &threads::TABLE,
    &processes::TABLE,
    &modules::TABLE,
    &archives::TABLE,
];
