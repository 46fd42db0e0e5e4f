//! What became slower or faster from one archive to another.
//!
//! Durations, operations and flows of the same category and name are compared
//! by all of their lengths. Two questions are asked, and both must say yes:
//!
//! - *Is it chance?* The Mann-Whitney test asks whether lengths of one archive
//!   tend to be larger than those of the other, whatever their distribution. It
//!   is two-sided, with the normal approximation, corrected for ties; its
//!   p-value is multiplied by the number of rows compared (Bonferroni), so that
//!   a whole table of rows that are alike shows a difference in no more than
//!   [`Options::significance`] of all cases.
//! - *Does it matter?* The change is the middle one of the changes of the
//!   percentiles 1 to 99, so that a few lengths that stand out do not decide,
//!   and must be beyond [`Options::threshold`]: with enough lengths any change
//!   is beyond chance, and two runs of one program are never quite alike, since
//!   the machine is not.
//!
//! Rows of fewer than 5 lengths on either side are not judged.

mod json;
mod test;

use std::collections::BTreeMap;

use crate::stats::{Distribution, Report, Row};

/// With fewer lengths nothing can be said.
const MIN_COUNT: u64 = 5;

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
    /// No change that is beyond chance and matters.
    Alike,
    /// There are too few lengths to tell.
    TooFew,
    /// Only the first archive has it.
    Gone,
    /// Only the second archive has it.
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
            Self::TooFew => "too few",
            Self::Gone => "gone",
            Self::New => "new",
        }
    }
}

/// One category and name in two archives.
#[derive(Debug, Clone)]
pub struct Change {
    /// What it is.
    pub kind: Kind,
    /// The category.
    pub category: String,
    /// The name.
    pub name: String,
    /// The lengths in the first archive, in nanoseconds; empty if it has none.
    pub before: Distribution,
    /// The lengths in the second archive.
    pub after: Distribution,
    /// How much longer it takes, as a share: 0.05 is 5 % slower. `None` if
    /// there are too few to tell.
    pub change: Option<f64>,
    /// How probable it is that lengths of the same distribution differ that
    /// much, times the number of rows compared, at most 1.
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
type Pair<'a> = (Option<&'a Row>, Option<&'a Row>);

/// Compares two archives' statistics, both collected without grouping. What
/// costs most time comes first, what saves most last.
#[must_use]
pub fn compare(before: &Report, after: &Report, options: &Options) -> Vec<Change> {
    let mut rows: BTreeMap<Key<'_>, Pair<'_>> = BTreeMap::new();
    for (kind, row) in rows_of(before) {
        rows.entry((kind, &row.category, &row.name)).or_default().0 = Some(row);
    }
    for (kind, row) in rows_of(after) {
        rows.entry((kind, &row.category, &row.name)).or_default().1 = Some(row);
    }
    let mut changes: Vec<Change> =
        rows.into_iter().map(|(key, pair)| unjudged(key, pair)).collect();
    let compared = changes.iter().filter(|change| is_comparable(change)).count();
    changes.iter_mut().for_each(|change| judge(change, compared, options));
    changes.sort_by(|a, b| b.cost().total_cmp(&a.cost()));
    changes
}

fn unjudged((kind, category, name): Key<'_>, (before, after): Pair<'_>) -> Change {
    let lengths = |row: Option<&Row>| row.map(|row| row.lengths.clone()).unwrap_or_default();
    Change {
        kind,
        category: category.to_owned(),
        name: name.to_owned(),
        before: lengths(before),
        after: lengths(after),
        change: None,
        p: None,
        verdict: Verdict::TooFew,
    }
}

fn rows_of(report: &Report) -> impl Iterator<Item = (Kind, &Row)> {
    let kinds = [
        (Kind::Duration, &report.durations),
        (Kind::Async, &report.operations),
        (Kind::Flow, &report.flows),
    ];
    kinds.into_iter().flat_map(|(kind, rows)| rows.iter().map(move |row| (kind, row)))
}

fn is_comparable(change: &Change) -> bool {
    change.before.count() >= MIN_COUNT && change.after.count() >= MIN_COUNT
}

fn judge(change: &mut Change, compared: usize, options: &Options) {
    if !is_comparable(change) {
        change.verdict = match (change.before.count(), change.after.count()) {
            (0, _) => Verdict::New,
            (_, 0) => Verdict::Gone,
            _ => Verdict::TooFew,
        };
        return;
    }
    let p = test::mann_whitney(&change.before, &change.after) * compared as f64;
    let ratio = test::middle_change(&change.before, &change.after);
    change.p = Some(p.min(1.0));
    change.change = Some(ratio);
    change.verdict = match p < options.significance && ratio.abs() >= options.threshold {
        true if ratio > 0.0 => Verdict::Slower,
        true => Verdict::Faster,
        false => Verdict::Alike,
    };
}

#[cfg(test)]
mod tests;
