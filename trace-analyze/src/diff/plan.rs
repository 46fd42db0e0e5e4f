//! The number of runs that would make a row clear.

use super::estimate::{t_quantile, Estimate};
use super::runs::MIN_RUNS;
use super::Options;

/// The most runs to advise.
const MOST_RUNS: usize = 1000;

/// Returns the number of runs a side that makes the row clear if its change and the deviation of
/// runs stay as they are, or `None` if it exceeds [`MOST_RUNS`].
pub(super) fn runs_needed(
    estimate: &Estimate,
    runs: (usize, usize),
    level: f64,
    options: &Options,
) -> Option<usize> {
    let (before, after) = (runs.0 as f64, runs.1 as f64);
    let deviation = estimate.error / (1.0 / before + 1.0 / after).sqrt();
    let is_clear = |runs: usize| {
        let error = deviation * (2.0 / runs as f64).sqrt();
        let freedom = (2 * runs - 2) as f64;
        let half = (t_quantile(level, freedom) * error).max(estimate.least);
        options.is_clear(estimate.change, (estimate.change - half, estimate.change + half))
    };
    // More runs make narrower intervals.
    let (mut unclear, mut clear) = (MIN_RUNS - 1, MOST_RUNS);
    if !is_clear(clear) {
        return None;
    }
    while clear - unclear > 1 {
        let middle = (clear + unclear) / 2;
        (unclear, clear) = if is_clear(middle) { (unclear, middle) } else { (middle, clear) };
    }
    Some(clear)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needed(change: f64, error: f64, least: f64) -> Option<usize> {
        let estimate = Estimate::new(change, error, 8.0).at_least(least);
        runs_needed(&estimate, (5, 5), 0.01, &Options::default())
    }

    /// Runs that differ by 5 %: ten of them have an error of 2 %.
    #[test]
    fn the_interval_excludes_no_change_with_this_number() {
        let error = 0.05 * (2.0_f64 / 5.0).sqrt();
        let runs = needed(0.05, error, 0.0).unwrap();
        let half = |runs: usize| {
            t_quantile(0.01, (2 * runs - 2) as f64) * 0.05 * (2.0 / runs as f64).sqrt()
        };
        assert!(half(runs) < 0.05 && half(runs - 1) >= 0.05, "{runs}");
        assert!(
            needed(0.0, error, 0.0).unwrap() > runs,
            "the distance to the threshold is smaller"
        );
        assert_eq!(needed(0.05, 0.0, 0.0), Some(MIN_RUNS));
    }

    #[test]
    fn no_number_makes_a_change_as_large_as_the_threshold_or_the_tick_clear() {
        assert_eq!(needed(1.03_f64.ln() - 1e-9, 0.02, 0.0), None);
        assert_eq!(needed(0.3, 0.02, 0.4), None);
    }
}
