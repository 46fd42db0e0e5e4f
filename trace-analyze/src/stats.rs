//! How often things happened, how long they took, and how that is spread.
//!
//! | what       | a row for each                            | the values                        |
//! |------------|-------------------------------------------|-----------------------------------|
//! | durations  | category and name                         | from begin to end, see [`spans`](crate::spans) |
//! | async      | category and name                         | from begin to end of the operation with the same process, category, name and id |
//! | flows      | category and name                         | from the flow's begin to its end: same category, name and id |
//! | counters   | category, name, id and series             | what was counted                  |
//! | instants   | category and name                         | none, they are counted            |
//!
//! A begin and its end are paired by time: their records may stand in the
//! archive in any order.
//!
//! With [`Grouping`] there are such rows for each process or thread: that of
//! the beginning.
//!
//! Percentiles are values that occurred: the smallest one that at least so many
//! percent of all values do not exceed. Of more than 2048 values in a row they
//! are kept in 256 classes for each power of two, so that a percentile is right
//! within 0.2 %. Minimum, maximum, sum and mean are exact.
//!
//! Memory grows with how many rows there are, and with what is open at once.

mod collector;
mod counters;
mod distribution;
mod joined;
mod json;
mod sample;
mod table;

use std::collections::BTreeSet;
use std::io::Read;

use trace_format::{ReadError, Reader, ThreadKoids};

pub use crate::pairing::Unpaired;
use crate::schedule::Schedule;
use crate::spans::Oddities;
use crate::Damage;
use collector::Collector;
pub use counters::CounterRow;
pub use distribution::Distribution;
pub use joined::JoinedNames;
pub use json::PERCENTILES;
pub(crate) use sample::Sample;

/// What has rows of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Grouping {
    /// All processes and threads are taken together.
    #[default]
    Together,
    /// Each process.
    Process,
    /// Each thread.
    Thread,
}

/// What happened on whose part.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Group {
    /// The process, and with [`Grouping::Thread`] the thread, else 0.
    pub koids: ThreadKoids,
    /// The process's name, empty if the archive has none.
    pub process_name: String,
    /// The thread's name, empty if the archive has none.
    pub thread_name: String,
}

/// What has one category and name.
#[derive(Debug, Clone, Default)]
pub struct Row {
    /// The category.
    pub category: String,
    /// The name.
    pub name: String,
    /// On whose part; `None` with [`Grouping::Together`].
    pub group: Option<Group>,
    /// How long they took, in nanoseconds.
    pub lengths: Distribution,
    /// Of durations, how much of that no duration directly in them takes.
    pub self_nanos: u64,
    /// Of durations, how much of it they were on a processor; `None` if
    /// that is not known.
    pub on_cpu_nanos: Option<u64>,
    /// Some of them with their times, of those that [`diff`](crate::diff) reads.
    pub(crate) sample: Sample,
}

/// What an archive's events have in common.
#[derive(Debug, Default)]
pub struct Report {
    /// The categories of all events.
    pub categories: BTreeSet<String>,
    /// Durations on threads.
    pub durations: Vec<Row>,
    /// Operations across threads.
    pub operations: Vec<Row>,
    /// Flows.
    pub flows: Vec<Row>,
    /// Series of counters.
    pub counters: Vec<CounterRow>,
    /// Values of counters that are no numbers.
    pub counter_values_left_out: u64,
    /// Instants; their lengths are all 0.
    pub instants: Vec<Row>,
    /// Context switches, which [`Schedule::read`] makes something of.
    pub context_switches: u64,
    /// What of the durations did not fit together.
    pub oddities: Oddities,
    /// Operations of which one half is there.
    pub unpaired_operations: Unpaired,
    /// Flows of which one half is there.
    pub unpaired_flows: Unpaired,
    /// Names without a row, of the archives that [`diff`](crate::diff) reads.
    pub joined: JoinedNames,
    /// What is missing.
    pub damage: Damage,
}

/// Looks at all of an archive. With a schedule, durations have their time on a
/// processor.
///
/// # Errors
///
/// The input is not an archive, or reading it failed.
pub fn collect<R: Read>(
    reader: Reader<R>,
    grouping: Grouping,
    schedule: Option<&Schedule>,
) -> Result<Report, ReadError> {
    run(reader, Collector::new(grouping, schedule, false))
}

/// The same of all threads together, with samples.
pub(crate) fn sampled<R: Read>(reader: Reader<R>) -> Result<Report, ReadError> {
    run(reader, Collector::new(Grouping::Together, None, true))
}

fn run<R: Read>(reader: Reader<R>, mut collector: Collector<'_>) -> Result<Report, ReadError> {
    let damage = Damage::of_all(reader, |item| collector.record(item))?;
    Ok(Report { damage, ..collector.report() })
}

#[cfg(test)]
mod tests;
