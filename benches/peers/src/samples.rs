//! Repetitions of one measurement.

/// Nanoseconds for one trace point, one value for each repetition.
#[derive(Debug, Clone, Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// Adds a repetition.
    pub fn push(&mut self, nanos: f64) {
        self.0.push(nanos);
    }

    /// Returns the smallest value, or `None` without measurements.
    pub fn min(&self) -> Option<f64> {
        self.0.iter().copied().reduce(f64::min)
    }

    /// Returns the median (the mean of the two middle values of an even number), or `None` without
    /// measurements.
    pub fn median(&self) -> Option<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let upper = *sorted.get(sorted.len() / 2)?;
        let lower = *sorted.get((sorted.len() - 1) / 2)?;
        Some((lower + upper) / 2.0)
    }
}
