//! Several runs a side: the value of a run is the logarithm of its median.

use super::estimate::{logarithm, mean, median, variance, Estimate};
use crate::stats::Distribution;

/// The least runs a side for an estimate.
pub(super) const MIN_RUNS: usize = 3;

/// The runs a side of which one may be excluded.
const RUNS_FOR_AN_OUTLIER: usize = 5;

/// The robust deviations beyond which a run is an outlier.
const OUTLYING: f64 = 5.0;

/// The logarithm of 3. The speeds of a machine differ less.
const SPEEDS: f64 = 1.0986;

/// The sides are apart if the distance between them exceeds these robust deviations, and this share
/// of the machine's noise.
const DISTANT: f64 = 3.0;
const APART: f64 = 0.25;

/// The least deviation of runs. A few runs can agree by chance.
const LEAST_DEVIATION: f64 = 0.003;

/// Runs that all lie within this share of their standard error contradict it.
const AGREEING: f64 = 0.5;

/// The most degrees of freedom that the usual deviation of all rows adds to that of a row.
const SHARED_FREEDOM: f64 = 16.0;

/// The degrees of freedom of an independent row.
const FREEDOM_OF_ROW: f64 = 2.0;

/// The multiple of the usual variance beyond which a row keeps its own.
const NOISY: f64 = 4.0;

/// The least rows with a usual deviation.
const MIN_ROWS: usize = 4;

/// The value of a row in a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    /// The logarithm of a quantile.
    pub(super) value: f64,
    /// Its standard error from the durations within the run.
    pub(super) error: f64,
}

impl Run {
    pub(super) fn new(durations: &Distribution, quantile: f64) -> Self {
        let at = |quantile: f64| logarithm(durations.quantile(quantile.clamp(0.0, 1.0)));
        // The standard error of the quantile's rank, as a share of the durations.
        let share = (quantile * (1.0 - quantile) / durations.count() as f64).sqrt();
        Self { value: at(quantile), error: (at(quantile + share) - at(quantile - share)) / 2.0 }
    }
}

/// Compares runs. `allowance` is the noise of the machine, if the row has enough durations for a
/// bound. Returns `None` if the runs are too few.
pub(super) fn compare(before: &[Run], after: &[Run], allowance: Option<f64>) -> Option<Estimate> {
    if before.len().min(after.len()) < MIN_RUNS {
        return None;
    }
    let (values_before, values_after) = (values(before), values(after));
    let sides = Sides::new(&values_before, &values_after);
    let kept_before = sides.without_outliers(&values_before);
    let kept_after = sides.without_outliers(&values_after);
    let range = range(kept_before.iter().chain(&kept_after).copied());
    let [least_before, least_after] = [before, after].map(|runs| least_variance(runs, range));
    let estimate = welch((&kept_before, least_before), (&kept_after, least_after));
    // If sides overlap, or nearly so, the machine may cause the difference.
    let apart = distance(&kept_before, &kept_after);
    let allowance =
        allowance.filter(|allowance| apart > (DISTANT * sides.deviation).max(APART * allowance));
    let deviation = sides.deviation.max(least_before.max(least_after).sqrt());
    Some(estimate.bounded(sides.after - sides.before, deviation, allowance))
}

/// Returns the distance between the runs of both sides, which is negative if they overlap.
fn distance(before: &[f64], after: &[f64]) -> f64 {
    let least = |runs: &[f64]| runs.iter().copied().fold(f64::INFINITY, f64::min);
    let most = |runs: &[f64]| runs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (least(after) - most(before)).max(least(before) - most(after))
}

/// Returns the least variance of a side. If durations have two lengths, the median is either, which
/// a few runs may not show. But if the same requests are in each run, so that the median is the
/// same one, all runs of both sides agree: their `range` is much less than the error allows.
fn least_variance(runs: &[Run], range: f64) -> f64 {
    let error = median(runs.iter().map(|run| run.error));
    let within = if range < AGREEING * error { 0.0 } else { error };
    within.max(LEAST_DEVIATION).powi(2)
}

/// Returns the distance between the least and the largest value.
fn range(values: impl Iterator<Item = f64>) -> f64 {
    let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
    values.for_each(|value| (least, most) = (least.min(value), most.max(value)));
    most - least
}

/// The medians of both sides, and their deviation.
struct Sides {
    before: f64,
    after: f64,
    /// The standard deviation of runs, from the median absolute deviation.
    deviation: f64,
}

impl Sides {
    fn new(before: &[f64], after: &[f64]) -> Self {
        let medians = [median(before.iter().copied()), median(after.iter().copied())];
        let distances = |runs: &[f64], middle: f64| {
            runs.iter().map(move |run| (run - middle).abs()).collect::<Vec<f64>>()
        };
        let all = [distances(before, medians[0]), distances(after, medians[1])].concat();
        let count = all.len() as f64;
        // The factor 1.4826 holds for normal values. The two medians take two degrees of freedom.
        let deviation = 1.4826 * median(all) * count / (count - 2.0);
        let [before, after] = medians;
        Self { before, after, deviation: deviation.max(LEAST_DEVIATION) }
    }

    /// Removes one run in five if it is far from both sides. If the sides differ by more than
    /// [`SPEEDS`], the distance from its own side is enough: a machine has no such two speeds.
    fn without_outliers(&self, runs: &[f64]) -> Vec<f64> {
        let middle = median(runs.iter().copied());
        let is_huge = (self.after - self.before).abs() > SPEEDS;
        let is_far = |from: f64, run: f64| (run - from).abs() > OUTLYING * self.deviation;
        let is_outlier = |run: f64| {
            is_far(middle, run) && (is_huge || is_far(self.before, run) && is_far(self.after, run))
        };
        let mut spare = runs.len() / RUNS_FOR_AN_OUTLIER;
        let mut kept = runs.to_vec();
        kept.sort_unstable_by(|a, b| (b - middle).abs().total_cmp(&(a - middle).abs()));
        kept.retain(|run| {
            let is_removed = spare > 0 && is_outlier(*run);
            spare -= usize::from(is_removed);
            !is_removed
        });
        kept
    }
}

/// Returns the difference of means, with the error and the degrees of freedom of Welch's t-test.
/// Each side has a least variance.
fn welch((before, least_before): (&[f64], f64), (after, least_after): (&[f64], f64)) -> Estimate {
    let square = |runs: &[f64], least: f64| variance(runs).max(least) / runs.len() as f64;
    let (a, b) = (square(before, least_before), square(after, least_after));
    let freedom = |runs: &[f64]| (runs.len() - 1) as f64;
    let freedom = (a + b).powi(2) / (a * a / freedom(before) + b * b / freedom(after));
    Estimate::new(mean(after) - mean(before), (a + b).sqrt(), freedom)
}

/// Returns the distance of each run from the mean of its side, in units of the row's deviation. The
/// distance of an outlier is 0.
pub(super) fn deviations(before: &[Run], after: &[Run]) -> Vec<f64> {
    let (before, after) = (values(before), values(after));
    let sides = Sides::new(&before, &after);
    let of_side = |runs: &[f64]| -> Vec<f64> {
        let kept = sides.without_outliers(runs);
        let distance = |run: &f64| if kept.contains(run) { run - mean(&kept) } else { 0.0 };
        runs.iter().map(distance).collect()
    };
    let all = [of_side(&before), of_side(&after)].concat();
    let scale = norm(&all).max(f64::MIN_POSITIVE);
    all.iter().map(|run| run / scale).collect()
}

fn values(runs: &[Run]) -> Vec<f64> {
    runs.iter().map(|run| run.value).collect()
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|value| value.powi(2)).sum::<f64>().sqrt()
}

/// Returns the effective number of independent rows: 1 if all deviate alike, because of the
/// machine.
fn independent(rows: &[&[f64]]) -> f64 {
    let runs = rows.iter().map(|row| row.len()).max().unwrap_or(0);
    let complete: Vec<_> = rows.iter().filter(|row| row.len() == runs).collect();
    let mean_of = |run: usize| complete.iter().map(|row| row[run]).sum::<f64>();
    let common: Vec<f64> = (0..runs).map(|run| mean_of(run) / complete.len() as f64).collect();
    let all = complete.iter().map(|row| norm(row).powi(2)).sum::<f64>() / complete.len() as f64;
    (all / norm(&common).powi(2).max(f64::MIN_POSITIVE)).max(1.0)
}

/// Averages the deviation of each row with the usual one of all rows, unless it is clearly larger,
/// because a few runs estimate it badly. Deviations that all rows share are no evidence about a
/// row.
pub(super) fn share_deviations<'a>(rows: impl Iterator<Item = (&'a [f64], &'a mut Estimate)>) {
    let (deviations, estimates): (Vec<&[f64]>, Vec<&mut Estimate>) = rows.unzip();
    if estimates.len() < MIN_ROWS {
        return;
    }
    let shared = (FREEDOM_OF_ROW * (independent(&deviations) - 1.0)).min(SHARED_FREEDOM);
    let usual = median(estimates.iter().map(|estimate| estimate.error.powi(2)));
    for estimate in estimates {
        let own = estimate.error.powi(2);
        if own <= NOISY * usual {
            let freedom = estimate.freedom + shared;
            let sum = shared * usual + estimate.freedom * own;
            estimate.error = (sum / freedom).sqrt();
            estimate.freedom = freedom;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(before: &[f64], after: &[f64], allowance: Option<f64>) -> Option<Estimate> {
        let exact = |values: &[f64]| -> Vec<Run> {
            values.iter().map(|value| Run { value: *value, error: 0.0 }).collect()
        };
        compare(&exact(before), &exact(after), allowance)
    }

    /// Against scipy.stats.ttest_ind(a, b, equal_var=False).
    #[test]
    fn known_tests_of_runs() {
        let cases = [
            (&[1.0, 2.0, 3.0, 4.0][..], &[3.0, 5.0, 4.0, 6.0, 7.0][..], 0.034_938_782_359_964_01),
            (&[0.1, 0.11, 0.09], &[0.2, 0.3, 0.4], 0.072_768_812_408_194_84),
        ];
        for (a, b, expected) in cases {
            let p = compared(a, b, None).unwrap().p();
            assert!((p / expected - 1.0).abs() < 1e-6, "{p} against {expected}");
        }
        assert!(compared(&[1.0, 2.0], &[1.0, 2.0, 3.0], None).is_none());
        assert_eq!(compared(&[1.0; 3], &[1.0; 3], None).unwrap().p(), 1.0);
        assert!(compared(&[1.0; 3], &[2.0; 3], None).unwrap().p() < 1e-6);
    }

    /// Half of the durations take twice as long as the others: the median is either length.
    #[test]
    fn a_median_between_two_lengths_is_uncertain() {
        let run = |more: u64| {
            let mut durations = Distribution::default();
            (0..60).for_each(|number| durations.add(if number < 30 + more { 100 } else { 200 }));
            Run::new(&durations, 0.5)
        };
        let (short, long) = (vec![run(1); 5], vec![Run { value: 200_f64.ln(), ..run(1) }; 5]);
        assert!(run(1).error > 0.3 && run(10).error == 0.0, "{:?}", run(1));
        assert!(compare(&short, &long, Some(0.5)).unwrap().p() > 0.01);
        // Each run has the same durations.
        let (low, high) =
            compare(&short, &[&short[1..], &long[..1]].concat(), None).unwrap().interval(0.005);
        assert!(-0.02 < low && low < 0.0 && 0.0 < high && high < 0.02, "{low} {high}");
    }

    fn outliers(before: &[f64], after: &[f64]) -> [usize; 2] {
        let sides = Sides::new(before, after);
        [before, after].map(|runs| runs.len() - sides.without_outliers(runs).len())
    }

    const CALM: [f64; 5] = [1.0, 1.01, 0.99, 1.02, 0.98];

    #[test]
    fn one_run_in_five_is_removed_if_it_is_far_from_both_sides() {
        let near = |by: f64| CALM.map(|run| run + by);
        let with = |outlier: f64| [outlier, 1.01, 0.99, 1.02, 0.98];
        assert_eq!(outliers(&CALM, &near(0.3)), [0, 0]);
        assert_eq!(outliers(&with(2.0), &near(0.3)), [1, 0]);
        assert_eq!(outliers(&with(1.3), &near(0.3)), [0, 0], "like the other side");
        assert_eq!(outliers(&with(1.8), &near(0.8)), [0, 0], "like the other side, twofold");
        assert_eq!(outliers(&with(2.2), &near(1.2)), [1, 0], "like the other side, threefold");
        assert_eq!(outliers(&[2.0, 3.0, 0.99, 1.02, 0.98], &CALM), [1, 0]);
        assert_eq!(outliers(&[2.0, 1.0, 1.0, 1.0], &CALM), [0, 0]);
    }

    #[test]
    fn a_bound_of_noise_is_for_large_differences() {
        let after = [2.0, 2.0, 2.0, 2.0, 3.5];
        let noisy = [0.8, 0.8, 1.0, 1.2, 1.2];
        assert!(compared(&CALM, &after, Some(0.5)).unwrap().most < 0.6);
        assert!(compared(&CALM, &after.map(|run| run - 0.6), Some(0.5))
            .unwrap()
            .most
            .is_infinite());
        assert!(compared(&noisy, &noisy.map(|run| run + 0.7), Some(0.5))
            .unwrap()
            .most
            .is_infinite());
    }

    /// A run takes one time or twice as long, of the same program.
    #[test]
    fn no_bound_where_the_sides_overlap() {
        let runs = |speeds: &[f64]| speeds.iter().map(|speed| speed.ln()).collect::<Vec<f64>>();
        let cases: [(&[f64], &[f64]); 5] = [
            (&[1.0, 1.01, 1.0, 2.0, 2.0], &[2.01, 2.01, 2.02, 2.01, 2.02]),
            (&[1.0, 1.0, 1.0, 2.0, 2.0], &[1.0, 1.0, 2.0, 2.0, 2.0]),
            (&[1.0, 1.0, 2.0], &[1.0, 2.0, 2.0]),
            (&[1.0, 1.0, 1.0, 1.0, 2.0], &[1.0, 2.0, 2.0, 2.0, 2.0]),
            (&[1.0, 1.0, 1.0, 1.0, 2.0], &[1.0, 2.04, 2.05, 2.05, 2.05]),
        ];
        for (before, after) in cases {
            let estimate = compared(&runs(before), &runs(after), Some(1.6_f64.ln())).unwrap();
            assert!(estimate.most.is_infinite() && estimate.p() > 0.005, "{before:?} {after:?}");
        }
    }

    #[test]
    fn deviations_are_shared_but_not_those_of_noisy_rows() {
        let mut rows: Vec<Estimate> = [1.0, 1.0, 1.2, 5.0]
            .map(|error| Estimate { error, ..welch((&CALM, 0.0), (&CALM, 0.0)) })
            .into();
        let apart: [&[f64]; 4] = [
            &[1.0, 0.0, 0.0, 0.0],
            &[0.0, 1.0, 0.0, 0.0],
            &[0.0, 0.0, 1.0, 0.0],
            &[0.0, 0.0, 0.0, 1.0],
        ];
        let mut alike = rows.clone();
        share_deviations([apart[0]; 4].into_iter().zip(&mut alike));
        assert_eq!(alike, rows, "the machine's deviation is not shared");
        share_deviations(apart.into_iter().zip(&mut rows));
        assert!((rows[0].freedom - 14.0).abs() < 1e-9 && rows[3].freedom < 8.1, "{rows:?}");
        assert!(rows[0].error > 1.0 && rows[2].error < 1.2 && rows[3].error == 5.0, "{rows:?}");
        let mut few = [rows[3], Estimate { error: 1.0, ..rows[3] }];
        share_deviations(apart.into_iter().zip(&mut few));
        assert_eq!((few[0].error, few[1].error), (5.0, 1.0));
    }
}
