//! The distribution of values.

/// The reported percentiles, with their names.
pub const PERCENTILES: [(&str, f64); 4] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

/// The most values that are kept exactly.
const MAX_EXACT: usize = 2048;

/// The number of classes for each power of two, and its logarithm.
const CLASSES: usize = 256;
const CLASS_BITS: u32 = 8;

/// The distribution of values.
#[derive(Debug, Clone)]
pub struct Distribution {
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
    values: Values,
}

#[derive(Debug, Clone)]
enum Values {
    /// In the order of the archive.
    Exact(Vec<u64>),
    /// The count of each class. Page 0 has the values below 256, page p those from 256 << (p - 1)
    /// to below 256 << p.
    Classes(Pages),
}

type Pages = Vec<Option<Box<[u64; CLASSES]>>>;

impl Default for Values {
    fn default() -> Self {
        Self::Exact(Vec::new())
    }
}

impl Default for Distribution {
    fn default() -> Self {
        Self { count: 0, sum: 0, min: u64::MAX, max: 0, values: Values::default() }
    }
}

impl Distribution {
    /// Adds a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.count += 1;
        self.sum += u128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        match &mut self.values {
            Values::Classes(pages) => count(pages, value, 1),
            Values::Exact(values) if values.len() < MAX_EXACT => values.push(value),
            Values::Exact(_) => self.classify(value),
        }
    }

    /// Adds a value beyond those that are kept exactly.
    #[cold]
    #[inline(never)]
    fn classify(&mut self, value: u64) {
        self.add_to_classes([(value, 1)]);
    }

    fn add_to_classes(&mut self, values: impl IntoIterator<Item = (u64, u64)>) {
        let mut pages = match std::mem::take(&mut self.values) {
            Values::Classes(pages) => pages,
            Values::Exact(values) => {
                let mut pages = Pages::new();
                values.into_iter().for_each(|value| count(&mut pages, value, 1));
                pages
            }
        };
        values.into_iter().for_each(|(value, number)| count(&mut pages, value, number));
        self.values = Values::Classes(pages);
    }

    /// Adds all values of another distribution.
    pub fn extend(&mut self, other: &Self) {
        if let Values::Exact(values) = &other.values {
            return values.iter().for_each(|value| self.add(*value));
        }
        self.add_to_classes(other.classes());
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Returns the number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the sum, at most `u64::MAX`.
    #[must_use]
    pub fn sum(&self) -> u64 {
        u64::try_from(self.sum).unwrap_or(u64::MAX)
    }

    /// Returns the mean, rounded down, or 0 without values.
    #[must_use]
    pub fn mean(&self) -> u64 {
        let mean = self.sum.checked_div(u128::from(self.count)).unwrap_or(0);
        u64::try_from(mean).unwrap_or(u64::MAX)
    }

    /// Returns the smallest value, or 0 without values.
    #[must_use]
    pub fn min(&self) -> u64 {
        self.min.min(self.max)
    }

    /// Returns the largest value, or 0 without values.
    #[must_use]
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Returns the smallest value that at least a share of `quantile`, in 0 to 1, of all values
    /// does not exceed, or 0 without values.
    #[must_use]
    pub fn quantile(&self, quantile: f64) -> u64 {
        let rank = (quantile * self.count as f64 - 1e-9).ceil().max(1.0) as u64;
        let mut seen = 0;
        let found = self.classes().into_iter().find(|(_, number)| {
            seen += number;
            seen >= rank
        });
        found.map_or(self.max, |(value, _)| value)
    }

    /// Returns the values in order, each with its count. A class has its middle as its value.
    #[must_use]
    pub fn classes(&self) -> Vec<(u64, u64)> {
        match &self.values {
            Values::Exact(values) => {
                let mut values = values.clone();
                values.sort_unstable();
                values.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u64)).collect()
            }
            Values::Classes(pages) => {
                let pages = pages.iter().enumerate();
                let pages = pages.filter_map(|(page, counts)| Some((page, counts.as_ref()?)));
                let classes = pages.flat_map(|(page, counts)| {
                    let middle = move |class| middle(page, class).clamp(self.min, self.max);
                    counts.iter().enumerate().map(move |(class, count)| (middle(class), *count))
                });
                classes.filter(|(_, count)| *count > 0).collect()
            }
        }
    }
}

/// Returns the class of a value.
#[inline]
fn class_of(value: u64) -> (usize, usize) {
    let bits = u64::BITS - value.leading_zeros();
    let page = bits.saturating_sub(CLASS_BITS);
    let class = value >> page.saturating_sub(1);
    (page as usize, class as usize % CLASSES)
}

/// Returns the value in the middle of a class.
fn middle(page: usize, class: usize) -> u64 {
    match page.checked_sub(1) {
        None => class as u64,
        Some(shift) => ((class + CLASSES) as u64) << shift | (1u64 << shift) >> 1,
    }
}

#[inline]
fn count(pages: &mut Pages, value: u64, number: u64) {
    let (page, class) = class_of(value);
    while pages.len() <= page {
        pages.push(None);
    }
    if let Some(counts) = pages.get_mut(page) {
        let counts = counts.get_or_insert_with(|| Box::new([0; CLASSES]));
        if let Some(count) = counts.get_mut(class) {
            *count += number;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Distribution {
        let mut distribution = Distribution::default();
        values.into_iter().for_each(|value| distribution.add(value));
        distribution
    }

    #[test]
    fn literal_values() {
        let empty = Distribution::default();
        assert_eq!((empty.count(), empty.sum(), empty.mean()), (0, 0, 0));
        assert_eq!((empty.min(), empty.max(), empty.quantile(0.5)), (0, 0, 0));
        let ten = of(1..=10);
        assert_eq!((ten.min(), ten.max(), ten.mean(), ten.sum()), (1, 10, 5, 55));
        assert_eq!((ten.quantile(0.5), ten.quantile(0.9), ten.quantile(0.99)), (5, 9, 10));
        assert_eq!((ten.quantile(0.0), ten.quantile(1.0)), (1, 10));
        let thousand = of((1..=1000).rev());
        assert_eq!((thousand.quantile(0.999), thousand.quantile(0.99)), (999, 990));
    }

    #[test]
    fn a_sum_of_distributions_has_all_values() {
        let values = |count: u64| (0..count).map(|number| number * number);
        for (some, more) in [(10, 20), (10, 5000), (5000, 10), (5000, 5000)] {
            let mut sum = of(values(some));
            sum.extend(&of(values(more)));
            let expected = of(values(some).chain(values(more)));
            assert_eq!((sum.count(), sum.sum()), (expected.count(), expected.sum()));
            assert_eq!((sum.min(), sum.max()), (expected.min(), expected.max()));
            assert_eq!(sum.quantile(0.7), expected.quantile(0.7), "{some} and {more}");
        }
    }

    proptest! {
        #[test]
        fn a_class_is_near_its_values(value in any::<u64>(), shift in 0..64u32) {
            let value = value >> shift;
            let (page, class) = class_of(value);
            let error = middle(page, class).abs_diff(value);
            prop_assert!(u128::from(error) * 512 <= u128::from(value), "{value}: {error}");
        }

        #[test]
        fn percentiles_of_many_are_right_within_the_bound(
            mut values in prop::collection::vec(0..1_000_000_000u64, 2049..6000),
            scale in 0..30u32,
        ) {
            values.iter_mut().for_each(|value| *value >>= scale);
            let distribution = of(values.iter().copied());
            values.sort_unstable();
            prop_assert_eq!(distribution.max(), *values.last().unwrap());
            prop_assert_eq!(distribution.sum(), values.iter().sum::<u64>());
            for (quantile, per_mille) in [(0.5, 500), (0.9, 900), (0.99, 990), (0.999, 999)] {
                let rank = (values.len() * per_mille).div_ceil(1000);
                let exact = values[rank - 1];
                let error = distribution.quantile(quantile).abs_diff(exact);
                prop_assert!(error * 512 <= exact, "{quantile}: {exact} is off by {error}");
            }
        }
    }
}
