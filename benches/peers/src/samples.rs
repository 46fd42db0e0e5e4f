//! Repetitions of one measurement.

/// Nanoseconds for one trace point, one value for each repetition.
#[derive(Debug, Clone, Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// Adds a repetition.
    pub fn push(&mut self, nanos: f64) {
        self.0.push(nanos);
    }

    /// The smallest, `None` where nothing was measured.
    pub fn min(&self) -> Option<f64> {
        self.0.iter().copied().reduce(f64::min)
    }

    /// The one in the middle (the mean of the two in the middle), `None` where nothing was
    /// measured.
    pub fn median(&self) -> Option<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let upper = *sorted.get(sorted.len() / 2)?;
        let lower = *sorted.get((sorted.len() - 1) / 2)?;
        Some((lower + upper) / 2.0)
    }
}
