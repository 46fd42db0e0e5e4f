//! Estimates of changes, with their errors. All changes are logarithms of ratios.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// An estimated change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Estimate {
    /// The change of the median.
    pub(super) change: f64,
    /// The change of the shortest durations, if it has to agree.
    pub(super) shortest: Option<f64>,
    /// The standard error of the change, and its degrees of freedom.
    pub(super) error: f64,
    pub(super) freedom: f64,
    /// The least distance to either end of the interval: a tick of the clock, or the noise of
    /// single runs.
    pub(super) least: f64,
    /// The largest distance: the machine alone changes no run by more.
    pub(super) most: f64,
}

/// The robust deviations beyond which a change is more than noise, if it also exceeds the noise of
/// single runs.
const HUGE: f64 = 4.0;

impl Estimate {
    /// Returns an estimate without a bound.
    pub(super) fn new(change: f64, error: f64, freedom: f64) -> Self {
        Self { change, shortest: None, error, freedom, least: 0.0, most: f64::INFINITY }
    }

    /// Bounds the interval if the median `change` exceeds both the noise of the machine,
    /// `allowance`, and the values' robust deviation: noise of a machine is bounded, not normal.
    pub(super) fn bounded(self, change: f64, deviation: f64, allowance: Option<f64>) -> Self {
        match allowance.map(|allowance| allowance.max(HUGE * deviation)) {
            Some(most) if change.abs() > most => Self { change, most, ..self },
            _ => self,
        }
    }

    /// Extends the interval by at least `least` to either side.
    pub(super) fn at_least(self, least: f64) -> Self {
        Self { least, ..self }
    }

    /// Returns the probability of at least this change by chance. It ignores the bound, or a
    /// bounded row would raise the level of all other rows.
    pub(super) fn p(&self) -> f64 {
        let shortest = self.shortest.unwrap_or(self.change);
        let is_small = self.change.abs() <= self.least || shortest.abs() <= self.least;
        if is_small || shortest.signum() != self.change.signum() {
            return 1.0;
        }
        match StudentsT::new(0.0, 1.0, self.freedom) {
            _ if self.error == 0.0 => 0.0,
            _ if self.error.is_infinite() => 1.0,
            Ok(distribution) => 2.0 * distribution.sf(self.change.abs() / self.error),
            Err(_) => 1.0,
        }
    }

    /// Returns the interval that excludes the true change with a probability of `p`.
    pub(super) fn interval(&self, p: f64) -> (f64, f64) {
        let by_chance = t_quantile(p, self.freedom) * self.error;
        let half = by_chance.min(self.most).max(self.least);
        let shortest = self.shortest.unwrap_or(self.change);
        let low = (self.change - half).min(shortest - self.least);
        let high = (self.change + half).max(shortest + self.least);
        (low, high)
    }
}

/// Returns the number of standard errors that a value exceeds with a probability of `p`, on either
/// side.
pub(super) fn t_quantile(p: f64, freedom: f64) -> f64 {
    let distribution = StudentsT::new(0.0, 1.0, freedom);
    distribution.map_or(f64::INFINITY, |distribution| -distribution.inverse_cdf(p / 2.0))
}

/// Returns the logarithm of a length; 0 counts as half a nanosecond.
pub(super) fn logarithm(nanos: u64) -> f64 {
    (nanos as f64).max(0.5).ln()
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

pub(super) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_unstable_by(f64::total_cmp);
    let at = |place: usize| values.get(place).copied().unwrap_or(f64::NAN);
    (at(values.len().saturating_sub(1) / 2) + at(values.len() / 2)) / 2.0
}

/// Returns the sample variance.
pub(super) fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    squares / (values.len() - 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const ESTIMATE: Estimate = Estimate {
        change: 0.5,
        shortest: None,
        error: 0.1,
        freedom: 8.0,
        least: 0.0,
        most: f64::INFINITY,
    };

    /// Against scipy.stats.t.ppf and scipy.stats.t.sf.
    #[test]
    fn the_interval_is_that_of_students_t_test() {
        assert!((t_quantile(0.01, 8.0) - 3.355_387_331_333_395).abs() < 1e-6);
        assert!((t_quantile(0.0005, 4.5) - 8.919892).abs() < 1e-4);
        let (low, high) = ESTIMATE.interval(0.01);
        assert!((low - 0.164_461_3).abs() < 1e-6 && (high - 0.835_538_7).abs() < 1e-6);
        assert!((ESTIMATE.p() - 0.001_052_825_793_366_539_6).abs() < 1e-9, "{}", ESTIMATE.p());
    }

    #[test]
    fn bounds_do_not_depend_on_the_error() {
        let tick = Estimate { error: 0.0, least: 0.6, ..ESTIMATE };
        assert_eq!((tick.p(), tick.interval(0.01)), (1.0, (0.5 - 0.6, 0.5 + 0.6)));
        let huge = Estimate { error: 10.0, most: 0.4, ..ESTIMATE };
        assert_eq!(huge.interval(0.01), (0.5 - 0.4, 0.5 + 0.4));
        assert!(huge.p() > 0.9, "the bound does not change the probability");
    }

    #[test]
    fn unchanged_shortest_durations_widen_the_interval() {
        let unchanged = Estimate { shortest: Some(0.05), error: 0.01, least: 0.3, ..ESTIMATE };
        assert_eq!((unchanged.p(), unchanged.interval(0.01)), (1.0, (0.05 - 0.3, 0.8)));
        let changed = Estimate { shortest: Some(0.4), ..unchanged };
        assert!(changed.p() < 1e-9 && (changed.interval(0.01).0 - 0.1).abs() < 1e-9);
    }
}
