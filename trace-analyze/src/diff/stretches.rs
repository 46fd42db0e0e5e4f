//! One run a side: the run is cut into stretches of time. The value of a stretch is the logarithm
//! of its median.

use super::estimate::{logarithm, mean, median, variance, Estimate};
use crate::stats::Sample;

/// The most and the least stretches of a run.
const MOST_STRETCHES: usize = 64;
const LEAST_STRETCHES: usize = 3;

/// The least lengths in a stretch.
const MIN_IN_STRETCH: usize = 2;

/// Compares each stretch with the same one of the other run, because programs often do the same in
/// the same order. Correlation is searched with `large` stretches at least. `allowance` is the
/// noise of the machine, if the row has enough durations for a bound. Returns `None` if there are
/// too few durations.
pub(super) fn compare(
    before: &Sample,
    after: &Sample,
    large: usize,
    allowance: Option<f64>,
) -> Option<Estimate> {
    let (before, after) = (before.in_order(), after.in_order());
    let stretches = (before.len().min(after.len()) / MIN_IN_STRETCH).min(MOST_STRETCHES);
    if stretches < LEAST_STRETCHES {
        return None;
    }
    let pairs = medians(&before, stretches).zip(medians(&after, stretches));
    let changes: Vec<f64> = pairs.map(|(before, after)| after - before).collect();
    let error = error(changes.clone(), large);
    let estimate = Estimate {
        shortest: Some(shortest(&after) - shortest(&before)),
        ..Estimate::new(mean(&changes), error, (stretches - 1) as f64)
    };
    let change = median(changes.iter().copied());
    let deviation = 1.4826 * median(changes.iter().map(|stretch| (stretch - change).abs()));
    Some(estimate.bounded(change, deviation, allowance))
}

/// Returns the largest standard error of the mean with ever longer stretches.
fn error(mut changes: Vec<f64>, large: usize) -> f64 {
    let mut error = error_of_series(&changes);
    while changes.len() > large {
        changes = changes.chunks(2).map(mean).collect();
        error = error.max(error_of_series(&changes));
    }
    error
}

/// Returns the standard error of the mean of consecutive values, which may be correlated.
fn error_of_series(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = mean(values);
    let pairs = values.iter().zip(values.iter().skip(1));
    let products: f64 = pairs.map(|(a, b)| (a - mean) * (b - mean)).sum();
    let variance = variance(values);
    if variance == 0.0 {
        return 0.0;
    }
    // The correlation of a value with the next one. Few values underestimate it.
    let correlation = products / (variance * (count - 1.0));
    let correlation = (correlation + (1.0 + 3.0 * correlation) / count).clamp(0.0, 0.99);
    let independent = count * (1.0 - correlation) / (1.0 + correlation);
    if independent < 2.0 {
        f64::INFINITY
    } else {
        (variance / independent).sqrt()
    }
}

/// Returns the logarithm of the median of each stretch. Stretches have equal numbers of lengths.
fn medians(run: &[(u64, u64)], stretches: usize) -> impl Iterator<Item = f64> + '_ {
    (0..stretches).map(move |number| {
        let place = |number| run.len() * number / stretches;
        median_of(run.get(place(number)..place(number + 1)).unwrap_or_default())
    })
}

/// Returns the mean logarithm of the shortest quarter.
fn shortest(run: &[(u64, u64)]) -> f64 {
    let lengths = sorted(run);
    let quarter = lengths.iter().take(lengths.len().div_ceil(4));
    mean(&quarter.map(|length| logarithm(*length)).collect::<Vec<f64>>())
}

/// Returns the logarithm of the median.
fn median_of(run: &[(u64, u64)]) -> f64 {
    let lengths = sorted(run);
    let middle = |from: usize| lengths.get(from / 2).copied().map_or(0.0, logarithm);
    (middle(lengths.len().saturating_sub(1)) + middle(lengths.len())) / 2.0
}

fn sorted(run: &[(u64, u64)]) -> Vec<u64> {
    let mut lengths: Vec<u64> = run.iter().map(|(_, length)| *length).collect();
    lengths.sort_unstable();
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlated_values_have_a_larger_error() {
        let turns: Vec<f64> = (0..32).map(|number| f64::from(number % 2)).collect();
        let halves: Vec<f64> = (0..32).map(|number| f64::from(number / 16)).collect();
        assert!((error_of_series(&turns) - 0.508 / 32f64.sqrt()).abs() < 1e-3);
        assert!(error_of_series(&halves).is_infinite());
        assert_eq!(error_of_series(&[1.0; 8]), 0.0);
    }

    #[test]
    fn the_shortest_quarter() {
        let run = [(0, 10), (1, 1000), (2, 40), (3, 50), (4, 1000)];
        assert!((shortest(&run).exp() - 20.0).abs() < 1e-9, "{}", shortest(&run).exp());
        assert_eq!(shortest(&run[..1]), 10_f64.ln());
    }

    #[test]
    fn the_median_of_an_even_number_is_between_two() {
        let run = [(0, 10), (1, 1000), (2, 10), (3, 50), (4, 1000)];
        let found: Vec<f64> = medians(&run, 2).map(f64::exp).collect();
        assert!((found[0] - 100.0).abs() < 1e-9 && (found[1] - 50.0).abs() < 1e-9, "{found:?}");
    }
}
