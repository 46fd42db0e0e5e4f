//! How much longer lengths became, and how sure that is.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::stats::Sample;

/// Into so many stretches runs are cut at most, and at least.
const MOST_STRETCHES: usize = 64;
const LEAST_STRETCHES: usize = 16;

/// The least lengths in a stretch.
const MIN_IN_STRETCH: usize = 2;

/// What takes less time in all, in nanoseconds, is too short to be cut: other
/// programs' turns, the clock's speed and caches stay as they are for longer.
const MIN_NANOS: u64 = 100_000_000;

/// With fewer runs on a side nothing can be said.
pub(super) const MIN_RUNS: usize = 3;

/// How much longer lengths became.
#[derive(Debug)]
pub(super) struct Shift {
    /// As a logarithm.
    change: f64,
    /// How uncertain that is, by different ways of reckoning.
    errors: Vec<Uncertainty>,
}

/// A standard error, and of how many independent values it is known.
#[derive(Debug, Clone, Copy)]
struct Uncertainty {
    error: f64,
    freedom: f64,
}

impl Shift {
    /// Compares one run with another, also when so many large stretches are left
    /// of them; `None` if they have too little to say.
    pub(super) fn of_run(before: &Sample, after: &Sample, large: usize) -> Option<Self> {
        let (before, after) = (before.in_order(), after.in_order());
        let is_long = |run: &[(u64, u64)]| {
            let (first, last) = (run.first(), run.last());
            first.zip(last).is_some_and(|(first, last)| last.0 - first.0 >= MIN_NANOS)
        };
        let stretches = before.len().min(after.len()) / MIN_IN_STRETCH;
        if stretches < LEAST_STRETCHES || !is_long(&before) || !is_long(&after) {
            return None;
        }
        let stretches = (1 << stretches.ilog2()).min(MOST_STRETCHES);
        let pairs = medians(&before, stretches).zip(medians(&after, stretches));
        let mut changes: Vec<f64> = pairs.map(|(before, after)| after - before).collect();
        let change = mean(&changes);
        let mut errors = vec![Uncertainty::of_series(&changes)];
        while changes.len() > large {
            changes = changes.chunks(2).map(mean).collect();
            errors.push(Uncertainty::of_series(&changes));
        }
        Some(Self { change, errors })
    }

    /// Compares runs by the logarithm of what is usual in each; `None` if they
    /// are too few. This is Welch's test.
    pub(super) fn of_runs(before: &[f64], after: &[f64]) -> Option<Self> {
        if before.len().min(after.len()) < MIN_RUNS {
            return None;
        }
        let change = mean(after) - mean(before);
        let square = |values: &[f64]| variance(values) / values.len() as f64;
        let (a, b) = (square(before), square(after));
        let freedom = |values: &[f64]| (values.len() - 1) as f64;
        let sum = a * a / freedom(before) + b * b / freedom(after);
        let freedom = if sum > 0.0 { (a + b).powi(2) / sum } else { 1.0 };
        Some(Self { change, errors: vec![Uncertainty { error: (a + b).sqrt(), freedom }] })
    }

    /// Returns the change as a share: 0.05 is 5 % slower.
    pub(super) fn share(&self) -> f64 {
        self.change.exp_m1()
    }

    /// Returns how probable it is that chance alone makes at least this change,
    /// by the most doubtful way of reckoning.
    pub(super) fn p(&self) -> f64 {
        self.p_of(self.change)
    }

    /// The same of a change by a share.
    pub(super) fn p_of_share(&self, share: f64) -> f64 {
        self.p_of(share.ln_1p())
    }

    fn p_of(&self, change: f64) -> f64 {
        self.errors.iter().map(|error| error.p(change)).fold(0.0, f64::max)
    }
}

impl Uncertainty {
    /// Returns that of the mean of values that follow one another, which may
    /// hang together.
    fn of_series(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = mean(values);
        let pairs = values.iter().zip(values.iter().skip(1));
        let products: f64 = pairs.map(|(a, b)| (a - mean) * (b - mean)).sum();
        let variance = variance(values);
        if variance == 0.0 {
            return Self { error: 0.0, freedom: 1.0 };
        }
        // How much is left of a value in the next one; few values show too
        // little of that.
        let left = products / (variance * (count - 1.0));
        let left = (left + (1.0 + 3.0 * left) / count).clamp(0.0, 0.99);
        let independent = count * (1.0 - left) / (1.0 + left);
        match independent >= 2.0 {
            true => Self { error: (variance / independent).sqrt(), freedom: independent - 1.0 },
            false => Self { error: f64::INFINITY, freedom: 1.0 },
        }
    }

    fn p(self, change: f64) -> f64 {
        if change == 0.0 {
            return 1.0;
        }
        let times = change.abs() / self.error;
        match StudentsT::new(0.0, 1.0, self.freedom) {
            Ok(distribution) if times.is_finite() => 2.0 * distribution.sf(times),
            Ok(_) => 0.0,
            Err(_) => 1.0,
        }
    }
}

/// Returns the logarithm of the middle length of each of so many stretches, all
/// with as many lengths.
fn medians(run: &[(u64, u64)], stretches: usize) -> impl Iterator<Item = f64> + '_ {
    (0..stretches).map(move |number| {
        let place = |number| run.len() * number / stretches;
        let stretch = run.get(place(number)..place(number + 1)).unwrap_or_default();
        let mut lengths: Vec<u64> = stretch.iter().map(|(_, length)| *length).collect();
        lengths.sort_unstable();
        let middle = |from: usize| lengths.get(from / 2).copied().map_or(0.0, logarithm);
        (middle(lengths.len().saturating_sub(1)) + middle(lengths.len())) / 2.0
    })
}

/// Returns the logarithm of a length; 0 counts as half a nanosecond.
pub(super) fn logarithm(nanos: u64) -> f64 {
    (nanos as f64).max(0.5).ln()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    squares / (values.len() - 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against scipy.stats.ttest_ind(a, b, equal_var=False).
    #[test]
    fn known_tests_of_runs() {
        let cases = [
            (&[1.0, 2.0, 3.0, 4.0][..], &[3.0, 5.0, 4.0, 6.0, 7.0][..], 0.034_938_782_359_964_01),
            (&[0.1, 0.11, 0.09], &[0.2, 0.3, 0.4], 0.072_768_812_408_194_84),
        ];
        for (a, b, expected) in cases {
            let p = Shift::of_runs(a, b).unwrap().p();
            assert!((p / expected - 1.0).abs() < 1e-6, "{p} against {expected}");
        }
        assert!(Shift::of_runs(&[1.0, 2.0], &[1.0, 2.0, 3.0]).is_none());
        assert_eq!(Shift::of_runs(&[1.0; 3], &[1.0; 3]).unwrap().p(), 1.0);
        assert_eq!(Shift::of_runs(&[1.0; 3], &[2.0; 3]).unwrap().p(), 0.0);
    }

    #[test]
    fn values_that_hang_together_are_less_sure() {
        let turns: Vec<f64> = (0..32).map(|number| f64::from(number % 2)).collect();
        let halves: Vec<f64> = (0..32).map(|number| f64::from(number / 16)).collect();
        let (turns, halves) = (Uncertainty::of_series(&turns), Uncertainty::of_series(&halves));
        assert!((turns.error - 0.508 / 32f64.sqrt()).abs() < 1e-3 && turns.freedom == 31.0);
        assert!(halves.p(1e3) > 0.01, "{halves:?}");
    }

    #[test]
    fn the_middle_of_few_is_fair() {
        let run = [(0, 10), (1, 1000), (2, 10), (3, 50), (4, 1000)];
        let found: Vec<f64> = medians(&run, 2).map(f64::exp).collect();
        assert!((found[0] - 100.0).abs() < 1e-9 && (found[1] - 50.0).abs() < 1e-9, "{found:?}");
    }
}
