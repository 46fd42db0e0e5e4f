//! The clock's resolution, estimated from lengths.

use crate::stats::{Report, Row};

/// The limit of the lengths that are used: a distribution keeps shorter ones exactly.
const MAX_LENGTH: u64 = 512;

/// The largest resolution in nanoseconds. No clock in use is coarser, and few different lengths are
/// no evidence.
const MAX_TICK: u64 = 100;

/// Returns the largest difference that rounding alone makes between two lengths, in nanoseconds.
///
/// A clock with a resolution of 10 ns makes lengths of 10, 20 and 30 ns, or after its conversion to
/// nanoseconds 9, 10, 19, 20, 29 and 30. So the tick is the smallest difference above 1 ns between
/// two lengths, or between a length and the next but one.
pub(super) fn tick<'a>(reports: impl IntoIterator<Item = &'a Report>) -> u64 {
    let rows = reports
        .into_iter()
        .flat_map(|report| report.durations.iter().chain(&report.operations).chain(&report.flows));
    let mut seen = [false; MAX_LENGTH as usize];
    rows.flat_map(short).for_each(|length| seen[length as usize] = true);
    let lengths: Vec<u64> = (0..MAX_LENGTH).filter(|length| seen[*length as usize]).collect();
    let steps = lengths.windows(2).map(|pair| pair[1] - pair[0]).filter(|step| *step > 1);
    let next_but_one = lengths.windows(3).map(|three| three[2] - three[0]);
    // Begin and end are both rounded to nanoseconds.
    steps.chain(next_but_one).min().map_or(1, |step| step + 1).min(MAX_TICK)
}

fn short(row: &Row) -> impl Iterator<Item = u64> {
    let lengths = row.lengths.classes().into_iter().map(|(length, _)| length);
    lengths.take_while(|length| *length < MAX_LENGTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lengths: impl IntoIterator<Item = u64>) -> u64 {
        let mut row = Row::default();
        lengths.into_iter().for_each(|length| row.lengths.add(length));
        tick(&[Report { durations: vec![row], ..Report::default() }])
    }

    #[test]
    fn steps_of_lengths_are_steps_of_the_clock() {
        assert_eq!(of([20, 20, 30, 50]), 11);
        assert_eq!(of([421, 430, 431, 440, 441, 461]), 10);
        assert_eq!(of(100..200), 3);
        assert_eq!(of([41, 83, 125, 167]), 43);
    }

    #[test]
    fn few_lengths_show_no_resolution() {
        assert_eq!(of([]), 1);
        assert_eq!(of([10]), 1);
        assert_eq!(of([10, 500]), MAX_TICK);
        assert_eq!(of([1000, 2000, 3000]), 1);
    }
}
