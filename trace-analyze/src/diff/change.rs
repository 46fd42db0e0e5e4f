//! The changes between archives, and the options for their verdicts.

use super::estimate::Estimate;
use crate::stats::{Distribution, GroupValue};

/// The limits for verdicts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// The smallest change that matters, as a share; 0.03 by default.
    pub threshold: f64,
    /// The share of false alarms among the rows that are called slower or faster; 0.005 by default.
    pub significance: f64,
    /// The largest difference between two runs of one program, as a share; 0.6 by default. With one
    /// run a side, smaller changes are not detected.
    pub run_noise: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self { threshold: 0.03, significance: 0.005, run_noise: 0.6 }
    }
}

impl Options {
    /// Returns the verdict on a change with its interval, all as logarithms.
    pub(super) fn verdict(&self, change: f64, (low, high): (f64, f64)) -> Verdict {
        let threshold = self.threshold.ln_1p();
        match () {
            () if low > 0.0 && change >= threshold => Verdict::Slower,
            () if high < 0.0 && change <= -threshold => Verdict::Faster,
            () if low > -threshold && high < threshold => Verdict::Alike,
            () => Verdict::Unclear,
        }
    }

    pub(super) fn is_clear(&self, change: f64, interval: (f64, f64)) -> bool {
        self.verdict(change, interval) != Verdict::Unclear
    }
}

/// The kind of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Durations on threads, other than polls.
    Duration,
    /// Polls of async operations.
    Poll,
    /// Async operations.
    Async,
    /// Flows, from begin to end.
    Flow,
}

impl Kind {
    /// Returns its name in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Duration => "duration",
            Self::Poll => "poll",
            Self::Async => "async",
            Self::Flow => "flow",
        }
    }
}

/// The verdict on a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It takes longer now.
    Slower,
    /// It takes less time now.
    Faster,
    /// It did not change by more than the threshold.
    Alike,
    /// Durations or runs are too few, or differ too much, for a verdict.
    Unclear,
    /// Too few of several runs have it.
    Rare,
    /// It is unclear, and takes little time.
    Minor,
    /// Only the archives before have it.
    Gone,
    /// Only the archives after have it.
    New,
}

impl Verdict {
    /// Returns its name in reports.
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
    pub(super) fn new(estimate: &Estimate, level: f64) -> Self {
        let (low, high) = estimate.interval(level);
        let [change, low, high] = [estimate.change, low, high].map(f64::exp_m1);
        Self { change, low, high }
    }
}

/// One category, name and value, before and after.
#[derive(Debug, Clone)]
pub struct Change {
    /// Its kind.
    pub kind: Kind,
    /// The category.
    pub category: String,
    /// The name.
    pub name: String,
    /// The value of the argument, if rows are separated by one.
    pub value: Option<GroupValue>,
    /// The lengths before, in nanoseconds.
    pub before: Distribution,
    /// The lengths after.
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
    /// Returns by how many nanoseconds a quantile of all lengths is larger after than before, or
    /// `None` if a side has no lengths.
    #[must_use]
    pub fn difference(&self, quantile: f64) -> Option<i64> {
        let has_both = self.before.count() > 0 && self.after.count() > 0;
        let of = |lengths: &Distribution| i128::from(lengths.quantile(quantile));
        let difference = of(&self.after) - of(&self.before);
        has_both.then(|| i64::try_from(difference).unwrap_or(i64::MAX))
    }

    /// Returns the additional time in nanoseconds: the change of the mean, for all durations after.
    #[must_use]
    pub fn cost(&self) -> f64 {
        (self.after.mean() as f64 - self.before.mean() as f64) * self.after.count() as f64
    }

    /// Returns whether it became slower by more than a share, and the interval excludes less.
    #[must_use]
    pub fn is_slower_than(&self, share: f64) -> bool {
        self.verdict == Verdict::Slower && self.median.is_some_and(|effect| effect.low > share)
    }

    /// Returns whether it is possible, but not certain, that it became slower by more than a share.
    #[must_use]
    pub fn may_be_slower_than(&self, share: f64) -> bool {
        let is_judged = matches!(self.verdict, Verdict::Slower | Verdict::Unclear);
        let is_possible =
            self.median.is_none_or(|effect| effect.low <= share && effect.high > share);
        is_judged && is_possible
    }
}
