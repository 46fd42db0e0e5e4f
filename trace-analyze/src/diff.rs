//! Durations that became slower or faster from one archive to another, or from several to others.
//!
//! Durations, polls, operations and flows of the same category and name, or of the same value of an
//! argument ([`Groups`]), are compared by their median, or by the median of their self time
//! ([`Measure`]). A change is a ratio with a confidence interval:
//!
//! | verdict | the change | its interval |
//! |---|---|---|
//! | slower, faster | exceeds [`Options::threshold`] | excludes no change |
//! | alike | | is within the threshold |
//! | unclear | | includes no change and one beyond the threshold |
//!
//! **Several runs a side, at least 3.** The run is the unit, because all durations in a run share
//! the state of the machine. The value of a run is the logarithm of its median. The interval is
//! that of Welch's t-test of these values, made robust:
//! - The deviation of runs is at least that which the durations within a run cause alone.
//! - One run in five is excluded if it is more than five robust standard deviations (by the median
//!   absolute deviation) from both sides.
//! - A few runs estimate their deviation badly. It is averaged with the usual one of the rows of
//!   its kind, unless it is clearly larger, as in `limma` for genes (Smyth 2004).
//! - A difference of medians that exceeds [`Options::run_noise`], and four robust standard
//!   deviations, is a change regardless of the t-test, if all other runs of one side are above all
//!   of the other one: noise of a machine is bounded, not normal.
//!
//! **One run a side.** The run is cut into 64 stretches of time, and each is compared with the same
//! stretch of the other run. The interval is that of Student's t-test of these changes. It is wider
//! if neighbors are correlated, also with 32 stretches, and except for durations with 16 and 8. A
//! median change of durations beyond [`Options::run_noise`], and four robust standard deviations
//! of stretches, is a change regardless of correlation. One run does not show the state of the
//! machine throughout the run. So the interval extends [`Options::run_noise`] to either side, three
//! times as far for polls, which end early if they have to wait, and five times as far for
//! operations and flows, which wait for each other and for processors. The shortest quarter of the
//! durations has to agree, because other programs lengthen some durations but rarely all.
//!
//! A row in fewer than 3 of several runs of a side is `rare` instead of unclear, unless another run
//! has joined its name with others, because the archive has too many names.
//!
//! **Clock.** The clock's tick is found in the shortest durations. An interval is never narrower
//! than a tick.
//!
//! **Many rows.** At most a share of [`Options::significance`] of the rows that are called slower
//! or faster are so by chance (Benjamini and Hochberg). Rows with less than 0.1 % of the longest
//! row's time are a separate group, so that they take no power from the others; such a row is
//! `minor` instead of unclear. Rows are not selected by their change, because the largest changes
//! of noisy rows are noise.

mod change;
mod clock;
mod estimate;
mod json;
mod multiple;
mod plan;
mod runs;
mod stretches;

use std::collections::BTreeMap;
use std::io::Read;

use trace_format::{ReadError, Reader};

use crate::spans::Role;
pub use crate::stats::Measure;
use crate::stats::{self, Distribution, GroupValue, Groups, Report, Row};
pub use change::{Change, Effect, Kind, Options, Verdict};
use estimate::Estimate;
use runs::Run;

/// A row with a smaller share of the longest row's total time is minor.
const MINOR_SHARE: f64 = 0.001;

/// The least durations a side for which noise of a machine is bounded.
const MIN_BOUNDED: u64 = 30;

/// The noise of polls, as a multiple of that of durations. Both are logarithms.
const POLLING: f64 = 3.0;

/// The same of operations and flows, which wait for each other and for processors: on a machine
/// with eight times the load that it can run, their medians differ up to sixfold between runs.
const WAITING: f64 = 5.0;

/// The least durations in a run for a 99th percentile.
const MIN_TAIL: u64 = 100;

/// The least runs a side to advise: with fewer, none can be excluded as an outlier.
const ADVISED_RUNS: usize = 5;

/// The kind, the category, the name, and the value of an argument.
type Key<'a> = (Kind, &'a str, &'a str, Option<&'a GroupValue>);

/// The rows of a key, of all archives that have it.
#[derive(Debug, Default)]
struct Rows<'a> {
    before: Vec<&'a Row>,
    after: Vec<&'a Row>,
    estimate: Option<Estimate>,
    /// The deviations of runs, if there are several a side.
    deviations: Vec<f64>,
    /// The estimate for the 99th percentile.
    tail: Option<Estimate>,
    is_minor: bool,
    /// Whether a run without the row has joined its name with others.
    is_joined: bool,
    /// The total time of the runs that joined the name but where it took much time, before and
    /// after.
    joined_nanos: (u64, u64),
}

/// Reads an archive to compare it. `groups` separates the rows, or selects events: a
/// [`Grouping`](stats::Grouping), or [`Groups::read`] by an argument.
///
/// # Errors
///
/// The input is not an archive, or reading it failed.
pub fn read<'a, R: Read>(
    reader: Reader<R>,
    groups: impl Into<Groups<'a>>,
    measure: Measure,
) -> Result<Report, ReadError> {
    stats::sampled(reader, groups.into(), measure)
}

/// Compares archives that were [read](read()): one with one, or several with several. The change
/// that costs most time comes first.
#[must_use]
pub fn compare(before: &[Report], after: &[Report], options: &Options) -> Vec<Change> {
    let mut rows: BTreeMap<Key<'_>, Rows<'_>> = BTreeMap::new();
    for (key, row) in before.iter().flat_map(rows_of) {
        let rows = rows.entry(key).or_default();
        push(&mut rows.before, &mut rows.joined_nanos.0, row);
    }
    for (key, row) in after.iter().flat_map(rows_of) {
        let rows = rows.entry(key).or_default();
        push(&mut rows.after, &mut rows.joined_nanos.1, row);
    }
    mark_joined(&mut rows, before, after);
    let runs = (before.len(), after.len());
    let tick = clock::tick(before.iter().chain(after));
    rows.iter_mut().for_each(|((kind, ..), rows)| rows.estimate(*kind, runs, tick, options));
    if runs != (1, 1) {
        for kind in [Kind::Duration, Kind::Poll, Kind::Async, Kind::Flow] {
            let of_kind = rows.iter_mut().filter(|((of, ..), _)| *of == kind);
            runs::share_deviations(of_kind.filter_map(|(_, rows)| {
                let Rows { deviations, estimate, .. } = rows;
                Some((&deviations[..], estimate.as_mut()?))
            }));
        }
    }
    mark_minor(&mut rows, runs);
    let levels = [false, true].map(|is_minor| level(&rows, is_minor, options));
    let change = |(key, rows): (Key<'_>, Rows<'_>)| {
        rows.change(key, runs, levels[usize::from(rows.is_minor)], options)
    };
    let mut changes: Vec<Change> = rows.into_iter().map(change).collect();
    changes.sort_by(|a, b| b.cost().total_cmp(&a.cost()));
    changes
}

/// Adds a row with lengths to the list, or the total time of a joined name to the sum.
fn push<'a>(rows: &mut Vec<&'a Row>, joined_nanos: &mut u64, row: &'a Row) {
    match row.joined_nanos {
        0 => rows.push(row),
        nanos => *joined_nanos = joined_nanos.saturating_add(nanos),
    }
}

/// Marks the rows whose name or value is joined with others in a run.
fn mark_joined(rows: &mut BTreeMap<Key<'_>, Rows<'_>>, before: &[Report], after: &[Report]) {
    for ((_, category, name, value), rows) in rows.iter_mut() {
        let has_joined = |report: &Report| {
            let has_other_values = value.is_some() && report.other_values > 0;
            has_other_values || report.joined.contains(category, name, *value)
        };
        rows.is_joined = rows.before.len() < before.len() && before.iter().any(has_joined)
            || rows.after.len() < after.len() && after.iter().any(has_joined);
    }
}

/// Marks the rows with little total time.
fn mark_minor(rows: &mut BTreeMap<Key<'_>, Rows<'_>>, runs: (usize, usize)) {
    let mut longest: BTreeMap<Kind, f64> = BTreeMap::new();
    for ((kind, ..), rows) in rows.iter() {
        let longest = longest.entry(*kind).or_default();
        *longest = longest.max(rows.total(runs));
    }
    for ((kind, ..), rows) in rows.iter_mut() {
        rows.is_minor = rows.total(runs) < MINOR_SHARE * longest[kind];
    }
}

/// Returns the significance level of minor rows, or of the others.
fn level(rows: &BTreeMap<Key<'_>, Rows<'_>>, is_minor: bool, options: &Options) -> f64 {
    let of_group = rows.values().filter(|rows| rows.is_minor == is_minor);
    let p_values: Vec<f64> = of_group.filter_map(|rows| Some(rows.estimate?.p())).collect();
    multiple::level(&p_values, options.significance)
}

impl Rows<'_> {
    fn estimate(&mut self, kind: Kind, runs: (usize, usize), tick: u64, options: &Options) {
        let is_duration = kind == Kind::Duration;
        let noise = options.run_noise.ln_1p();
        let bound = (is_duration && self.is_bounded()).then_some(noise);
        let (estimate, least) = match (runs, &self.before[..], &self.after[..]) {
            ((1, 1), [before], [after]) => {
                // Waits for the same resource are correlated for longer, and their noise adds up.
                let (large, noise) = match kind {
                    Kind::Duration => (32, noise),
                    Kind::Poll => (8, POLLING * noise),
                    Kind::Async | Kind::Flow => (8, WAITING * noise),
                };
                (stretches::compare(&before.sample, &after.sample, large, bound), noise)
            }
            ((1, 1), ..) => (None, 0.0),
            _ => (self.of_runs(0.5, bound), 0.0),
        };
        self.estimate = estimate.map(|estimate| estimate.at_least(least.max(self.tick(0.5, tick))));
        if runs != (1, 1) {
            self.deviations =
                runs::deviations(&runs_of(&self.before, 0.5), &runs_of(&self.after, 0.5));
            let tail = self.has_tail().then(|| self.of_runs(0.99, None)).flatten();
            self.tail = tail.map(|estimate| estimate.at_least(self.tick(0.99, tick)));
        }
    }

    fn of_runs(&self, quantile: f64, allowance: Option<f64>) -> Option<Estimate> {
        let (before, after) = (runs_of(&self.before, quantile), runs_of(&self.after, quantile));
        runs::compare(&before, &after, allowance)
    }

    /// Returns the clock's tick as a share of the smallest quantile, as a logarithm.
    fn tick(&self, quantile: f64, tick: u64) -> f64 {
        let lengths = self.before.iter().chain(&self.after).map(|row| &row.lengths);
        let shortest = lengths.map(|lengths| lengths.quantile(quantile)).min().unwrap_or(0);
        (tick as f64 / shortest.max(1) as f64).ln_1p()
    }

    /// Returns whether all runs have a 99th percentile.
    fn has_tail(&self) -> bool {
        self.before.iter().chain(&self.after).all(|row| row.lengths.count() >= MIN_TAIL)
    }

    fn is_bounded(&self) -> bool {
        let count = |rows: &[&Row]| rows.iter().map(|row| row.lengths.count()).sum::<u64>();
        count(&self.before).min(count(&self.after)) >= MIN_BOUNDED
    }

    /// Returns the total time in a run, of the side that has more.
    fn total(&self, runs: (usize, usize)) -> f64 {
        let of = |rows: &[&Row], joined_nanos: u64, runs: usize| {
            let nanos = rows.iter().map(|row| row.lengths.sum() as f64).sum::<f64>();
            (nanos + joined_nanos as f64) / runs.max(1) as f64
        };
        let joined = self.joined_nanos;
        of(&self.before, joined.0, runs.0).max(of(&self.after, joined.1, runs.1))
    }

    fn verdict(&self, level: f64, options: &Options) -> Verdict {
        match (&self.before[..], &self.after[..], &self.estimate) {
            (.., None) if self.is_joined => Verdict::Unclear,
            ([], ..) => Verdict::New,
            (_, [], _) => Verdict::Gone,
            (.., None) => Verdict::Unclear,
            (.., Some(estimate)) => options.verdict(estimate.change, estimate.interval(level)),
        }
    }

    fn runs_needed(&self, runs: (usize, usize), level: f64, options: &Options) -> Option<usize> {
        match (runs, &self.estimate) {
            (_, None) if self.is_joined => None,
            ((1, 1), _) | (_, None) => Some(ADVISED_RUNS),
            (_, Some(estimate)) => plan::runs_needed(estimate, self.runs(), level, options),
        }
    }

    /// Returns the number of runs with the row.
    fn runs(&self) -> (usize, usize) {
        (self.before.len(), self.after.len())
    }

    /// Returns whether the runs are enough, but too few of them have the row.
    fn is_rare(&self, runs: (usize, usize)) -> bool {
        let is_few = |(before, after): (usize, usize)| before.min(after) < runs::MIN_RUNS;
        is_few(self.runs()) && !is_few(runs)
    }

    fn change(
        &self,
        (kind, category, name, value): Key<'_>,
        runs: (usize, usize),
        level: f64,
        options: &Options,
    ) -> Change {
        let verdict = match self.verdict(level, options) {
            Verdict::Unclear if self.is_minor => Verdict::Minor,
            Verdict::Unclear if !self.is_joined && self.is_rare(runs) => Verdict::Rare,
            verdict => verdict,
        };
        let is_unclear = verdict == Verdict::Unclear;
        Change {
            kind,
            category: category.to_owned(),
            name: name.to_owned(),
            value: value.cloned(),
            before: sum(&self.before),
            after: sum(&self.after),
            median: self.estimate.map(|estimate| Effect::new(&estimate, level)),
            p99: self.tail.map(|estimate| Effect::new(&estimate, level)),
            p: self.estimate.map(|estimate| estimate.p()),
            verdict,
            runs_needed: is_unclear.then(|| self.runs_needed(runs, level, options)).flatten(),
        }
    }
}

fn runs_of(rows: &[&Row], quantile: f64) -> Vec<Run> {
    rows.iter().map(|row| Run::new(&row.lengths, quantile)).collect()
}

/// Returns the lengths of all rows.
fn sum(rows: &[&Row]) -> Distribution {
    let mut lengths = Distribution::default();
    rows.iter().for_each(|row| lengths.extend(&row.lengths));
    lengths
}

fn rows_of(report: &Report) -> impl Iterator<Item = (Key<'_>, &Row)> {
    let of_duration = |row: &Row| if row.role == Role::Poll { Kind::Poll } else { Kind::Duration };
    let durations = report.durations.iter().map(move |row| (of_duration(row), row));
    let operations = report.operations.iter().map(|row| (Kind::Async, row));
    let flows = report.flows.iter().map(|row| (Kind::Flow, row));
    durations.chain(operations).chain(flows).map(|(kind, row)| {
        let value = row.group.as_ref().and_then(|group| group.value.as_ref());
        ((kind, &*row.category, &*row.name, value), row)
    })
}

#[cfg(test)]
mod tests;
