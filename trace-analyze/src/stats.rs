//! Counts, totals and percentiles.
//!
//! | rows       | one for each                  | values                                          |
//! |------------|-------------------------------|-------------------------------------------------|
//! | durations  | category, name and [`Role`]   | from begin to end, see [`spans`](crate::spans)  |
//! | async      | category and name             | from begin to end of the operation with the same process, category, name and id |
//! | flows      | category and name             | from begin to end of the flow with the same category, name and id |
//! | counters   | category, name, id and series | the counter's values                            |
//! | instants   | category and name             | none, they are counted                          |
//!
//! Begins and ends are paired by time: their records may be in any order.
//!
//! [`By`] separates the rows by the process or thread of the begin, by the value of an argument, or
//! by the ancestors of operations, or selects events by their arguments. [`Groups::read`] reads the
//! arguments of operations first, for their polls, and [`Groups::read_inherited`] those of
//! durations, for the events within them.
//!
//! A percentile is the smallest value that at least this share of all values does not exceed. A row
//! with more than 2048 values has 256 classes for each power of two, so that a percentile is right
//! within 0.2 %. Minimum, maximum, sum and mean are exact.
//!
//! Memory grows with the number of rows, and of open durations, operations and flows.

mod collector;
mod counters;
mod enclosing;
mod groups;
mod joined;
mod json;
mod polls;
mod sample;
mod table;

use std::io::Read;

use trace_format::{ReadError, Reader};

use crate::arguments::Condition;
pub use crate::distribution::{Distribution, PERCENTILES};
pub use crate::group::{Group, GroupValue};
pub use crate::pairing::Unpaired;
use crate::parents::Parents;
use crate::schedule::Schedule;
use crate::spans::{Oddities, Role};
use crate::Damage;
use collector::StatsCollector;
pub use counters::CounterRow;
pub use groups::Groups;
pub use joined::JoinedNames;
pub(crate) use sample::Sample;

/// The separation of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Grouping {
    /// A row has all processes and threads.
    #[default]
    Together,
    /// A row has one process.
    Process,
    /// A row has one thread.
    Thread,
}

/// The time of a duration that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Measure {
    /// From begin to end.
    #[default]
    Length,
    /// The time that no inner duration takes.
    SelfTime,
}

/// The groups of rows.
#[derive(Debug, Clone, Copy)]
pub enum By<'a> {
    /// Processes or threads.
    Group(Grouping),
    /// The values of the argument with this name, of the begin or else of the end. The first 1000
    /// values have rows, and all other values share one.
    Argument(&'a str),
    /// No groups: the rows have the events that meet all of these conditions, by the arguments of
    /// their begin or their end. At most [`MAX_CONDITIONS`](crate::arguments::MAX_CONDITIONS)
    /// count.
    Conditions(&'a [Condition]),
    /// The names of an operation's ancestors.
    Parent(&'a Parents),
}

impl From<Grouping> for By<'_> {
    fn from(grouping: Grouping) -> Self {
        Self::Group(grouping)
    }
}

/// The durations, operations, flows or instants of a category and name.
#[derive(Debug, Clone, Default)]
pub struct Row {
    /// The category.
    pub category: String,
    /// The name.
    pub name: String,
    /// The process or thread, or `None` with [`Grouping::Together`].
    pub group: Option<Group>,
    /// The part of durations in operations.
    pub role: Role,
    /// The lengths in nanoseconds.
    pub lengths: Distribution,
    /// The self time of durations: the time that no inner duration takes.
    pub self_nanos: u64,
    /// The time of durations on a processor, or `None` without scheduling records.
    pub on_cpu_nanos: Option<u64>,
    /// A sample of the lengths with their times, for [`diff`](crate::diff).
    pub(crate) sample: Sample,
    /// The total time of a [joined](JoinedNames) name, which has no lengths, in nanoseconds, for
    /// [`diff`](crate::diff).
    pub joined_nanos: u64,
    /// Those with the value of a duration or operation around them, see
    /// [`Groups::read_inherited`].
    pub inherited: u64,
}

/// The statistics of an archive.
#[derive(Debug, Default)]
pub struct Report {
    /// Durations on threads. Polls of operations, and drops of futures, have rows of their own.
    pub durations: Vec<Row>,
    /// Async operations.
    pub operations: Vec<Row>,
    /// Flows.
    pub flows: Vec<Row>,
    /// Series of counters.
    pub counters: Vec<CounterRow>,
    /// Values of counters that are not numbers.
    pub counter_values_left_out: u64,
    /// Instants; their lengths are all 0.
    pub instants: Vec<Row>,
    /// Events of [`By::Argument`] in the row of further values. [`diff`](crate::diff) has no such
    /// row.
    pub other_values: u64,
    /// Durations of [`By::Argument`] in the row without a value, and of [`By::Conditions`] without
    /// a row, because the archive has more than four million operations, or with
    /// [`Groups::read_inherited`] as many durations with a value.
    pub values_left_out: u64,
    /// Durations with a time on a processor that began before the scheduling records, or ended
    /// after them: that time is estimated.
    pub partly_scheduled: u64,
    /// Context switches, which [`Schedule::read`] uses.
    pub context_switches: u64,
    /// Unpaired and malformed durations.
    pub oddities: Oddities,
    /// Begins of operations without an end, and ends without a begin.
    pub unpaired_operations: Unpaired,
    /// Begins of flows without an end, and ends without a begin.
    pub unpaired_flows: Unpaired,
    /// Names that have no row, or one without lengths, because there are too many.
    pub joined: JoinedNames,
    /// Missing and unreadable data.
    pub damage: Damage,
}

/// Returns the statistics of an archive. `groups` can be [`Groups`], a [`By`] or a [`Grouping`].
/// With a schedule, durations have their time on a processor.
///
/// # Errors
///
/// The input is not an archive, or reading it failed.
pub fn collect<'a, R: Read>(
    reader: Reader<R>,
    groups: impl Into<Groups<'a>>,
    schedule: Option<&'a Schedule>,
) -> Result<Report, ReadError> {
    run(reader, StatsCollector::new(groups.into(), schedule, false))
}

/// Returns the same, of the durations, operations and flows that last longer than `nanos`.
///
/// # Errors
///
/// The input is not an archive, or reading it failed.
pub fn collect_over<'a, R: Read>(
    reader: Reader<R>,
    groups: impl Into<Groups<'a>>,
    schedule: Option<&'a Schedule>,
    nanos: u64,
) -> Result<Report, ReadError> {
    run(reader, StatsCollector::new(groups.into(), schedule, false).over(nanos))
}

/// Returns the statistics with samples. With [`Measure::SelfTime`], those of durations only.
pub(crate) fn sampled<R: Read>(
    reader: Reader<R>,
    groups: Groups<'_>,
    measure: Measure,
) -> Result<Report, ReadError> {
    let report = run(reader, StatsCollector::new(groups, None, true).measuring(measure))?;
    let (operations, flows) = match measure {
        Measure::Length => (report.operations, report.flows),
        Measure::SelfTime => Default::default(),
    };
    Ok(Report { operations, flows, ..report })
}

fn run<R: Read>(reader: Reader<R>, mut collector: StatsCollector<'_>) -> Result<Report, ReadError> {
    let damage = Damage::of_all(reader, |item| collector.record(item))?;
    Ok(Report { damage, ..collector.report() })
}

#[cfg(test)]
mod tests;
