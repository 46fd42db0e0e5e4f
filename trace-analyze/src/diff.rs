//! What became slower or faster from one archive to another, or from some
//! archives to others.
//!
//! Durations, operations and flows of the same category and name are compared
//! by their middle lengths. Two questions are asked, and both must say yes:
//!
//! - *Is it chance?* Lengths within a run hang together: they wait in the same
//!   queue and share the machine with the same other programs. So not each of
//!   them is taken for a sample of what the program does.
//!   - Of one archive against one, each run is cut into 64 stretches of time, with as many lengths
//!     each. The middle length of each is compared with that of the same stretch of the other run,
//!     since a program often does the same in the same order; what is asked is whether the changes
//!     go one way, by Student's test. The more a stretch is like the one before it, the less it
//!     counts; the same is done with 32 stretches, for operations and flows, which wait, also with
//!     16 and 8, and the most doubtful answer is taken. A row with few lengths has fewer stretches,
//!     of 2 lengths at least; one with fewer than 32 of them, or with less than 0.1 s from the
//!     first begin to the last, has no answer.
//!   - Of several archives against several, at least 3 on each side, each archive
//!     is one sample: its middle length (Welch's test). Only this tells what a
//!     program does from what the machine did all through one run.
//!
//!   The p-value is multiplied by the number of rows compared (Bonferroni), so
//!   that a whole table of rows that are alike shows a difference in no more than
//!   [`Options::significance`] of all cases.
//! - *Does it matter?* The change must be beyond [`Options::threshold`]: with
//!   enough lengths any change is beyond chance.
//!
//! A row is alike only if such a change would have been seen, else it is unclear.

mod json;
mod shift;

use std::collections::BTreeMap;
use std::io::Read;

use trace_format::{ReadError, Reader};

use crate::stats::{self, Distribution, Report, Row};
use shift::Shift;

/// When a difference is one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// The smallest change that matters, as a share; 0.03 by default.
    pub threshold: f64,
    /// How probable it may be that a change is chance; 0.001 by default.
    pub significance: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self { threshold: 0.03, significance: 0.001 }
    }
}

/// What kind of thing a row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Durations on threads.
    Duration,
    /// Operations across threads.
    Async,
    /// Flows, from begin to end.
    Flow,
}

impl Kind {
    /// Returns a word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Duration => "duration",
            Self::Async => "async",
            Self::Flow => "flow",
        }
    }
}

/// What is said of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It takes longer now.
    Slower,
    /// It takes less time now.
    Faster,
    /// No change that matters; it would have been seen.
    Alike,
    /// Lengths are too few, or differ too much, to tell.
    Unclear,
    /// It was there before only.
    Gone,
    /// It is there after only.
    New,
}

impl Verdict {
    /// Returns a word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::Faster => "faster",
            Self::Alike => "alike",
            Self::Unclear => "unclear",
            Self::Gone => "gone",
            Self::New => "new",
        }
    }
}

/// One category and name, before and after.
#[derive(Debug, Clone)]
pub struct Change {
    /// What it is.
    pub kind: Kind,
    /// The category.
    pub category: String,
    /// The name.
    pub name: String,
    /// The lengths before, in nanoseconds; empty if there are none.
    pub before: Distribution,
    /// The lengths after.
    pub after: Distribution,
    /// How much longer it takes, as a share: 0.05 is 5 % slower. `None` if
    /// there is too little to tell.
    pub change: Option<f64>,
    /// How probable it is that chance makes such a change, times the number of
    /// rows compared, at most 1.
    pub p: Option<f64>,
    /// What is said of it.
    pub verdict: Verdict,
}

impl Change {
    /// Returns how much more time it takes in all than if each still took what
    /// it took on average before, in nanoseconds.
    #[must_use]
    pub fn cost(&self) -> f64 {
        (self.after.mean() as f64 - self.before.mean() as f64) * self.after.count() as f64
    }
}

type Key<'a> = (Kind, &'a str, &'a str);

/// The rows of a category and name, of all archives that have it.
#[derive(Debug, Default)]
struct Rows<'a> {
    before: Vec<&'a Row>,
    after: Vec<&'a Row>,
}

/// Looks at all of an archive, to compare it.
///
/// # Errors
///
/// The input is not an archive, or reading it failed.
pub fn read<R: Read>(reader: Reader<R>) -> Result<Report, ReadError> {
    stats::sampled(reader)
}

/// Compares archives that were [read](read()). What costs most time comes first,
/// what saves most last.
#[must_use]
pub fn compare(before: &[Report], after: &[Report], options: &Options) -> Vec<Change> {
    let mut rows: BTreeMap<Key<'_>, Rows<'_>> = BTreeMap::new();
    for (kind, row) in before.iter().flat_map(rows_of) {
        rows.entry((kind, &row.category, &row.name)).or_default().before.push(row);
    }
    for (kind, row) in after.iter().flat_map(rows_of) {
        rows.entry((kind, &row.category, &row.name)).or_default().after.push(row);
    }
    let is_one = before.len() == 1 && after.len() == 1;
    let shift = |(key, rows): (&Key<'_>, &Rows<'_>)| rows.shift(key.0, is_one);
    let shifts: Vec<Option<Shift>> = rows.iter().map(shift).collect();
    let compared = shifts.iter().flatten().count();
    let with_shifts = rows.into_iter().zip(&shifts);
    let mut changes: Vec<Change> = with_shifts
        .map(|((key, rows), shift)| rows.judged(key, shift.as_ref(), compared, options))
        .collect();
    changes.sort_by(|a, b| b.cost().total_cmp(&a.cost()));
    changes
}

impl Rows<'_> {
    fn shift(&self, kind: Kind, is_one: bool) -> Option<Shift> {
        // What waits for the same hangs together for longer.
        let large = if kind == Kind::Duration { 32 } else { 8 };
        match (is_one, &self.before[..], &self.after[..]) {
            (true, [before], [after]) => Shift::of_run(&before.sample, &after.sample, large),
            (true, ..) => None,
            (false, before, after) => Shift::of_runs(&usual(before), &usual(after)),
        }
    }

    fn judged(
        &self,
        (kind, category, name): Key<'_>,
        shift: Option<&Shift>,
        compared: usize,
        options: &Options,
    ) -> Change {
        let p = shift.map(|shift| shift.p() * compared as f64);
        let verdict = match (&self.before[..], &self.after[..], shift) {
            ([], ..) => Verdict::New,
            (_, [], _) => Verdict::Gone,
            (.., None) => Verdict::Unclear,
            (.., Some(shift)) => verdict(shift, compared, options),
        };
        Change {
            kind,
            category: category.to_owned(),
            name: name.to_owned(),
            before: together(&self.before),
            after: together(&self.after),
            change: shift.map(Shift::share),
            p: p.map(|p| p.min(1.0)),
            verdict,
        }
    }
}

fn verdict(shift: &Shift, compared: usize, options: &Options) -> Verdict {
    let is_beyond_chance = |p: f64| p * (compared as f64) < options.significance;
    let change = shift.share();
    match is_beyond_chance(shift.p()) {
        true if change >= options.threshold => Verdict::Slower,
        true if change <= -options.threshold => Verdict::Faster,
        _ if is_beyond_chance(shift.p_of_share(options.threshold)) => Verdict::Alike,
        _ => Verdict::Unclear,
    }
}

/// Returns the logarithm of the middle length of each row.
fn usual(rows: &[&Row]) -> Vec<f64> {
    rows.iter().map(|row| shift::logarithm(row.lengths.quantile(0.5))).collect()
}

fn together(rows: &[&Row]) -> Distribution {
    let mut lengths = Distribution::default();
    rows.iter().for_each(|row| lengths.extend(&row.lengths));
    lengths
}

fn rows_of(report: &Report) -> impl Iterator<Item = (Kind, &Row)> {
    let kinds = [
        (Kind::Duration, &report.durations),
        (Kind::Async, &report.operations),
        (Kind::Flow, &report.flows),
    ];
    kinds.into_iter().flat_map(|(kind, rows)| rows.iter().map(move |row| (kind, row)))
}

#[cfg(test)]
mod tests;
