//! Which durations became slower or faster from one archive to another, or from several to others.
//!
//! Durations, operations and flows of the same category and name are compared by their median. A
//! change is a ratio with an interval, and the verdict is read off the interval:
//!
//! | verdict | the change | its interval |
//! |---|---|---|
//! | slower, faster | exceeds [`Options::threshold`] | excludes no change |
//! | alike | | is within the threshold |
//! | unclear | | includes both no change and one beyond the threshold |
//!
//! **Several runs a side, at least 3.** The run is the unit, because all durations in a run share
//! what the machine does meanwhile. The value of a run is the logarithm of its median. The interval
//! is that of Welch's test of these values, made robust:
//! - The deviation of runs is at least what the durations within a run alone make.
//! - One run in five is left out if it is more than five robust standard deviations (by the median
//!   absolute deviation) from both sides.
//! - A few runs know their deviation badly. It is averaged with the usual one of the rows of
//!   its kind, unless it is clearly larger, as `limma` does for genes (Smyth 2004).
//! - A difference of medians that exceeds [`Options::run_noise`], and four robust standard
//!   deviations, is a change whatever the t-test says, if all other runs of one side are above all
//!   of the other one: noise of a machine is bounded, not normal.
//!
//! **One run against one.** The run is cut into 64 stretches of time, and each is compared with the
//! same stretch of the other run. The interval is that of Student's test of these changes, wider if
//! neighbors are correlated, also with 32 stretches, and for operations and flows with 16 and 8.
//! A median change of durations beyond [`Options::run_noise`], and four robust standard deviations
//! of stretches, is one however stretches are correlated.
//! This cannot show what the machine did all through one run. So the interval is at least
//! [`Options::run_noise`] wide on either side, thrice for operations and flows, which wait for each
//! other, and the shortest quarter of the durations has to agree, because other programs lengthen
//! some durations but rarely all of them.
//!
//! A row in fewer than 3 runs of a side, where more were given, is `rare` instead of unclear.
//!
//! **Clock.** The clock's tick is found in the shortest durations. An interval is never narrower
//! than a tick: neither a median nor its interval knows more.
//!
//! **Many rows.** Intervals have the level at which at most [`Options::significance`] of all rows
//! called slower or faster are so by chance (Benjamini and Hochberg). Rows with less than 0.1 % of
//! the time of the longest row are a group of their own, so that they take no power from the
//! others; such a row is `minor` instead of unclear. Rows are not selected by their change: that
//! would make small p-values of large noise.

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

use crate::stats::{self, Distribution, Report, Row};
use estimate::Estimate;
use runs::Run;

/// A row with a smaller share of the longest row's total time is minor.
const MINOR_SHARE: f64 = 0.001;

/// With as many durations on each side, noise of a machine has a bound.
const MIN_BOUNDED: u64 = 30;

/// Operations and flows wait, so that their noise is so many times as large, as a logarithm.
const WAITING: f64 = 3.0;

/// So many durations in a run have a 99th percentile that says something.
const MIN_TAIL: u64 = 100;

/// The least runs a side to advise: with fewer, none can be left out as an outlier.
const ADVISED_RUNS: usize = 5;

/// When a difference is one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// The smallest change that matters, as a share; 0.03 by default.
    pub threshold: f64,
    /// The share of false alarms among all rows that are called slower or faster; 0.005 by default.
    pub significance: f64,
    /// How much longer one run may take than another one of the same program, as a share; 0.6 by
    /// default. Of one run against one, smaller changes are not detected.
    pub run_noise: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self { threshold: 0.03, significance: 0.005, run_noise: 0.6 }
    }
}

impl Options {
    /// Returns the verdict on a change with its interval, all as logarithms.
    fn verdict(&self, change: f64, (low, high): (f64, f64)) -> Verdict {
        let threshold = self.threshold.ln_1p();
        match () {
            () if low > 0.0 && change >= threshold => Verdict::Slower,
            () if high < 0.0 && change <= -threshold => Verdict::Faster,
            () if low > -threshold && high < threshold => Verdict::Alike,
            () => Verdict::Unclear,
        }
    }

    fn is_clear(&self, change: f64, interval: (f64, f64)) -> bool {
        self.verdict(change, interval) != Verdict::Unclear
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
    /// Durations or runs are too few, or differ too much, to tell.
    Unclear,
    /// It is in too few of several runs to tell.
    Rare,
    /// It is not clear, and takes too little time to matter.
    Minor,
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
            Self::Rare => "rare",
            Self::Minor => "minor",
            Self::Gone => "gone",
            Self::New => "new",
        }
    }
}

/// A change, as a share: 0.05 is 5 % slower.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effect {
    /// The estimate.
    pub change: f64,
    /// The interval's lower end.
    pub low: f64,
    /// The interval's upper end.
    pub high: f64,
}

impl Effect {
    fn new(estimate: &Estimate, level: f64) -> Self {
        let (low, high) = estimate.interval(level);
        let [change, low, high] = [estimate.change, low, high].map(f64::exp_m1);
        Self { change, low, high }
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
    /// The durations before, in nanoseconds; empty if there are none.
    pub before: Distribution,
    /// The durations after.
    pub after: Distribution,
    /// The change of the median; `None` if there are too few durations.
    pub median: Option<Effect>,
    /// The change of the 99th percentile; `None` without several runs a side of 100 durations each.
    /// It has no part in the verdict.
    pub p99: Option<Effect>,
    /// The probability of such a change of the median by chance, by the t-test alone and not
    /// corrected for the number of rows; `None` if there are too few durations.
    pub p: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
    /// About how many runs a side would make an unclear row clear; `None` if it is not unclear, or
    /// no number of up to 1000 would.
    pub runs_needed: Option<usize>,
}

impl Change {
    /// Returns how much more time it takes in all than if each still took what
    /// it took on average before, in nanoseconds.
    #[must_use]
    pub fn cost(&self) -> f64 {
        (self.after.mean() as f64 - self.before.mean() as f64) * self.after.count() as f64
    }

    /// Returns whether it became slower by more than a share, and the interval excludes less.
    #[must_use]
    pub fn is_slower_than(&self, share: f64) -> bool {
        self.verdict == Verdict::Slower && self.median.is_some_and(|effect| effect.low > share)
    }

    /// Returns whether it may have become slower by more than a share, but need not.
    #[must_use]
    pub fn may_be_slower_than(&self, share: f64) -> bool {
        let is_judged = matches!(self.verdict, Verdict::Slower | Verdict::Unclear);
        let is_possible =
            self.median.is_none_or(|effect| effect.low <= share && effect.high > share);
        is_judged && is_possible
    }
}

type Key<'a> = (Kind, &'a str, &'a str);

/// The rows of a category and name, of all archives that have it.
#[derive(Debug, Default)]
struct Rows<'a> {
    before: Vec<&'a Row>,
    after: Vec<&'a Row>,
    estimate: Option<Estimate>,
    /// Of the runs, if there are several a side.
    deviations: Vec<f64>,
    /// Of the 99th percentile.
    tail: Option<Estimate>,
    is_minor: bool,
    /// Whether it is joined with others in an archive of the side that has no such row.
    is_joined: bool,
}

/// Looks at all of an archive, to compare it.
///
/// # Errors
///
/// The input is not an archive, or reading it failed.
pub fn read<R: Read>(reader: Reader<R>) -> Result<Report, ReadError> {
    stats::sampled(reader)
}

/// Compares archives that were [read](read()): one with one, or several with several. What costs
/// most time comes first, what saves most last.
#[must_use]
pub fn compare(before: &[Report], after: &[Report], options: &Options) -> Vec<Change> {
    let mut rows: BTreeMap<Key<'_>, Rows<'_>> = BTreeMap::new();
    for (kind, row) in before.iter().flat_map(rows_of) {
        rows.entry((kind, &row.category, &row.name)).or_default().before.push(row);
    }
    for (kind, row) in after.iter().flat_map(rows_of) {
        rows.entry((kind, &row.category, &row.name)).or_default().after.push(row);
    }
    mark_joined(&mut rows, before, after);
    let runs = (before.len(), after.len());
    let tick = clock::tick(before.iter().chain(after));
    rows.iter_mut().for_each(|((kind, ..), rows)| rows.estimate(*kind, runs, tick, options));
    if runs != (1, 1) {
        for kind in [Kind::Duration, Kind::Async, Kind::Flow] {
            let of_kind = rows.iter_mut().filter(|((of, ..), _)| *of == kind);
            runs::share_deviations(of_kind.filter_map(|(_, rows)| {
                let Rows { deviations, estimate, .. } = rows;
                Some((&deviations[..], estimate.as_mut()?))
            }));
        }
    }
    mark_minor(&mut rows, runs);
    let levels = [false, true].map(|is_minor| level(&rows, is_minor, options));
    let judged = |(key, rows): (Key<'_>, Rows<'_>)| {
        rows.judged(key, runs, levels[usize::from(rows.is_minor)], options)
    };
    let mut changes: Vec<Change> = rows.into_iter().map(judged).collect();
    changes.sort_by(|a, b| b.cost().total_cmp(&a.cost()));
    changes
}

/// Marks the rows that may have had values on the side that has none now.
fn mark_joined(rows: &mut BTreeMap<Key<'_>, Rows<'_>>, before: &[Report], after: &[Report]) {
    for ((_, category, name), rows) in rows.iter_mut() {
        let has_joined = |report: &Report| report.joined.contains(category, name);
        rows.is_joined = rows.before.is_empty() && before.iter().any(has_joined)
            || rows.after.is_empty() && after.iter().any(has_joined);
    }
}

/// Marks the rows that have little of the time.
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

/// Returns the level at which rows are judged, minor ones or the others.
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
                // What waits for the same is correlated for longer, and its noise adds up.
                let (large, noise) = if is_duration { (32, noise) } else { (8, WAITING * noise) };
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

    /// Returns whether the 99th percentile is known in all runs.
    fn has_tail(&self) -> bool {
        self.before.iter().chain(&self.after).all(|row| row.lengths.count() >= MIN_TAIL)
    }

    fn is_bounded(&self) -> bool {
        let count = |rows: &[&Row]| rows.iter().map(|row| row.lengths.count()).sum::<u64>();
        count(&self.before).min(count(&self.after)) >= MIN_BOUNDED
    }

    /// Returns the total time in a run, of the side that has more.
    fn total(&self, runs: (usize, usize)) -> f64 {
        let of = |rows: &[&Row], runs: usize| {
            rows.iter().map(|row| row.lengths.sum() as f64).sum::<f64>() / runs.max(1) as f64
        };
        of(&self.before, runs.0).max(of(&self.after, runs.1))
    }

    fn verdict(&self, level: f64, options: &Options) -> Verdict {
        match (&self.before[..], &self.after[..], &self.estimate) {
            _ if self.is_joined => Verdict::Unclear,
            ([], ..) => Verdict::New,
            (_, [], _) => Verdict::Gone,
            (.., None) => Verdict::Unclear,
            (.., Some(estimate)) => options.verdict(estimate.change, estimate.interval(level)),
        }
    }

    fn runs_needed(&self, runs: (usize, usize), level: f64, options: &Options) -> Option<usize> {
        match (runs, &self.estimate) {
            ((1, 1), _) => Some(ADVISED_RUNS),
            (_, None) => Some(ADVISED_RUNS),
            (_, Some(estimate)) => plan::runs_needed(estimate, self.runs(), level, options),
        }
    }

    /// Returns in how many runs the row is.
    fn runs(&self) -> (usize, usize) {
        (self.before.len(), self.after.len())
    }

    /// Returns whether the runs would be enough, but the row is in too few of them.
    fn is_rare(&self, runs: (usize, usize)) -> bool {
        let is_few = |(before, after): (usize, usize)| before.min(after) < runs::MIN_RUNS;
        is_few(self.runs()) && !is_few(runs)
    }

    fn judged(
        &self,
        (kind, category, name): Key<'_>,
        runs: (usize, usize),
        level: f64,
        options: &Options,
    ) -> Change {
        let verdict = match self.verdict(level, options) {
            Verdict::Unclear if self.is_minor => Verdict::Minor,
            Verdict::Unclear if self.is_rare(runs) => Verdict::Rare,
            verdict => verdict,
        };
        let is_unclear = verdict == Verdict::Unclear;
        Change {
            kind,
            category: category.to_owned(),
            name: name.to_owned(),
            before: together(&self.before),
            after: together(&self.after),
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
mod reproductions;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
