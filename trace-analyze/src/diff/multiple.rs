//! The significance level of each row of many.

/// Returns the level of intervals with which at most a share of `significance` of the rows found
/// are found by chance (Benjamini and Hochberg 1995; Benjamini and Yekutieli 2005 for intervals).
/// An interval of this level excludes zero in exactly these rows.
pub(super) fn level(p_values: &[f64], significance: f64) -> f64 {
    let mut sorted = p_values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let share = |found: usize| significance * found as f64 / sorted.len() as f64;
    let found = (1..=sorted.len()).rev().find(|found| sorted[found - 1] <= share(*found));
    if sorted.is_empty() {
        significance
    } else {
        share(found.unwrap_or(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of Benjamini and Hochberg (1995), section 3.2: four of fifteen at 5 %.
    #[test]
    fn the_example_of_the_paper() {
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0,
        ];
        let level = level(&p, 0.05);
        assert!((level - 0.05 * 4.0 / 15.0).abs() < 1e-12);
        assert_eq!(p.iter().filter(|p| **p <= level).count(), 4);
    }

    #[test]
    fn without_a_finding_all_rows_share_the_level() {
        assert_eq!(level(&[0.5; 10], 0.01), 0.001);
        assert_eq!(level(&[], 0.01), 0.01);
        assert_eq!(level(&[0.0; 10], 0.01), 0.01);
    }
}
