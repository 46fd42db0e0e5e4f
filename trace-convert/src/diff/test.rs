//! Whether lengths differ, and by how much.

use crate::stats::Distribution;

/// Returns the values of both in order, each with how often it is in the first
/// and in the second.
fn joined(a: &Distribution, b: &Distribution) -> Vec<(u64, f64, f64)> {
    // Exact values against classes would not be compared fairly.
    let exact = a.is_exact() && b.is_exact();
    let (a, b) = match exact {
        true => (a.classes(), b.classes()),
        false => (a.coarse_classes(), b.coarse_classes()),
    };
    let a = a.into_iter().map(|(value, count)| (value, count as f64, 0.0));
    let b = b.into_iter().map(|(value, count)| (value, 0.0, count as f64));
    let mut all: Vec<(u64, f64, f64)> = a.chain(b).collect();
    all.sort_by_key(|(value, _, _)| *value);
    all.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        if is_same {
            kept.1 += next.1;
            kept.2 += next.2;
        }
        is_same
    });
    all
}

/// Returns the two-sided p-value of the Mann-Whitney test, with the normal
/// approximation, corrected for ties and for continuity.
pub(super) fn mann_whitney(a: &Distribution, b: &Distribution) -> f64 {
    let (m, n) = (a.count() as f64, b.count() as f64);
    let total = m + n;
    // How often a value of `a` is smaller than one of `b`, ties half.
    let mut smaller = 0.0;
    let mut ties = 0.0;
    let mut below = 0.0;
    for (_, in_a, in_b) in joined(a, b) {
        smaller += in_b * (below + in_a / 2.0);
        below += in_a;
        let tied = in_a + in_b;
        ties += tied * tied * tied - tied;
    }
    let variance = m * n / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    let distance = ((smaller - m * n / 2.0).abs() - 0.5).max(0.0);
    two_sided(distance / variance.sqrt())
}

/// Returns how probable it is that a normal value is at least `z` from its
/// mean, in standard deviations; right to seven digits.
fn two_sided(z: f64) -> f64 {
    // erfc(z / sqrt 2), Chebyshev fit of Numerical Recipes, section 6.2.
    const FIT: [f64; 10] = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let x = z.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.5 * x);
    let sum = FIT.iter().rev().fold(0.0, |sum, term| sum * t + term);
    t * (sum - x * x).exp()
}

/// Returns the middle one of the changes of the percentiles 1 to 99, as a
/// share of what was before.
pub(super) fn middle_change(before: &Distribution, after: &Distribution) -> f64 {
    let (before, after) = (percentiles(before), percentiles(after));
    let pairs = before.iter().zip(&after);
    // Lengths of 0 count as of half a nanosecond, so that there is a share.
    let length = |nanos: u64| (nanos as f64).max(0.5);
    let mut changes: Vec<f64> =
        pairs.map(|(before, after)| length(*after) / length(*before) - 1.0).collect();
    changes.sort_by(f64::total_cmp);
    changes.get(changes.len() / 2).copied().unwrap_or(0.0)
}

/// Returns the percentiles 1 to 99.
fn percentiles(of: &Distribution) -> Vec<u64> {
    let mut percentiles = Vec::with_capacity(99);
    let mut seen = 0;
    for (value, count) in of.classes() {
        seen += count;
        while percentiles.len() < 99
            && u128::from(seen) * 100 >= u128::from(of.count()) * (percentiles.len() as u128 + 1)
        {
            percentiles.push(value);
        }
    }
    percentiles
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Distribution {
        let mut distribution = Distribution::default();
        values.into_iter().for_each(|value| distribution.add(value));
        distribution
    }

    #[test]
    fn known_probabilities() {
        for (z, expected) in
            [(0.0, 1.0), (1.0, 0.317_310_5), (1.959_964, 0.05), (3.290_527, 0.001), (6.0, 1.973e-9)]
        {
            assert!((two_sided(z) / expected - 1.0).abs() < 1e-3, "{z}: {}", two_sided(z));
        }
    }

    /// Against scipy.stats.mannwhitneyu(a, b, method="asymptotic").
    #[test]
    fn known_tests() {
        let cases = [
            (of(1..=10), of(6..=15), 0.005_075_392),
            (of([1, 1, 2, 2, 3, 3]), of([2, 3, 3, 4, 4, 4]), 0.038_303_119),
            (of([5, 9, 1, 4, 7, 3, 8]), of([6, 6, 10, 12, 9, 15, 2, 11]), 0.082_031_094),
        ];
        for (a, b, expected) in cases {
            let p = mann_whitney(&a, &b);
            assert!((p / expected - 1.0).abs() < 1e-6, "{p} against {expected}");
        }
        assert_eq!(mann_whitney(&of([5; 10]), &of([5; 20])), 1.0);
    }

    #[test]
    fn a_shift_is_found_in_the_middle() {
        let before = of((1..=1000).map(|value| value * 100));
        let after = of((1..=1000).map(|value| value * 107).chain([u64::MAX; 5]));
        let change = middle_change(&before, &after);
        assert!((change - 0.07).abs() < 0.01, "{change}");
        assert_eq!(middle_change(&before, &before), 0.0);
    }

    #[test]
    fn few_and_many_are_compared_in_the_same_classes() {
        let values = |count: u64| (0..count).map(|number| 1_000_003 + number * 7919 % 1000);
        let p = mann_whitney(&of(values(2000)), &of(values(20_000)));
        assert!(p > 0.5, "{p}");
    }
}
