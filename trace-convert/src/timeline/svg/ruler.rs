//! Grid lines at round times.

/// The maximum number of lines.
const MOST: u64 = 12;

const UNITS: [(u64, &str); 4] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"), (1, "ns")];

/// Returns times from 0 to `length` in steps of 1, 2 or 5 of a power of ten, each with a label; all
/// labels have the same unit.
pub(super) fn ticks(length: u64) -> Vec<(u64, String)> {
    let steps =
        (0..u64::MAX.ilog10()).flat_map(|power| [1, 2, 5].map(|part| part * 10_u64.pow(power)));
    let step = steps.into_iter().find(|step| length / step < MOST).unwrap_or(length);
    let last = length / step * step;
    let (size, unit) = UNITS.into_iter().find(|(size, _)| last >= *size).unwrap_or((1, "ns"));
    let digits = (size / step).saturating_sub(1).checked_ilog10().map_or(0, |digits| digits + 1);
    let tick = |number| {
        let time = number * step;
        (time, format!("{:.*} {unit}", digits as usize, time as f64 / size as f64))
    };
    (0..=length / step).map(tick).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_of_one_unit() {
        let table: &[(u64, &[&str])] = &[
            (0, &["0 ns"]),
            (1, &["0 ns", "1 ns"]),
            (
                950,
                &[
                    "0 ns", "100 ns", "200 ns", "300 ns", "400 ns", "500 ns", "600 ns", "700 ns",
                    "800 ns", "900 ns",
                ],
            ),
            (
                2_345_678,
                &[
                    "0.0 ms", "0.2 ms", "0.4 ms", "0.6 ms", "0.8 ms", "1.0 ms", "1.2 ms", "1.4 ms",
                    "1.6 ms", "1.8 ms", "2.0 ms", "2.2 ms",
                ],
            ),
            (
                1_100_000_000,
                &[
                    "0.0 s", "0.1 s", "0.2 s", "0.3 s", "0.4 s", "0.5 s", "0.6 s", "0.7 s",
                    "0.8 s", "0.9 s", "1.0 s", "1.1 s",
                ],
            ),
            (
                50_000_000_000,
                &[
                    "0 s", "5 s", "10 s", "15 s", "20 s", "25 s", "30 s", "35 s", "40 s", "45 s",
                    "50 s",
                ],
            ),
        ];
        for (length, labels) in table {
            let ticks = ticks(*length);
            assert_eq!(
                ticks.iter().map(|(_, label)| label).collect::<Vec<_>>(),
                *labels,
                "{length}"
            );
        }
        assert!((2..=12).contains(&ticks(u64::MAX).len()));
    }
}
