//! Minimal cases of real comparisons that failed before.

use super::{report, row, Noise, SECOND};
use crate::diff::*;

/// Returns the verdict on a name with default options.
fn verdict(before: &[Report], after: &[Report], name: &str) -> Verdict {
    let changes = compare(before, after, &Options::default());
    changes.iter().find(|change| change.name == name).map(|change| change.verdict).unwrap()
}

/// Returns a row of noisy lengths with a deviation of 10 %.
fn noisy(noise: &mut Noise, name: &str, nanos: u64, count: usize, scale: f64) -> Row {
    let lengths: Vec<f64> = (0..count).map(|_| scale * (0.1 * noise.normal()).exp()).collect();
    row(name, nanos, &lengths)
}

/// Returns rows beside the compared one.
fn others(noise: &mut Noise, number: usize, nanos: u64) -> Vec<Row> {
    let scale = |number| 1e3 * f64::from(1 << (number % 8));
    (0..number)
        .map(|number| noisy(noise, &format!("other {number}"), nanos, 50, scale(number)))
        .collect()
}

/// 20,000 lengths with a median of 561 ns, then of 15.06 µs, beside 40 other rows.
#[test]
fn a_27_fold_slow_down_in_11_ms() {
    let run = |seed, scale| {
        let (mut noise, nanos) = (Noise(seed), 11_000_000);
        let mut rows = others(&mut noise, 40, nanos);
        rows.push(noisy(&mut noise, "work", nanos, 20_000, scale));
        [report(rows)]
    };
    assert_eq!(verdict(&run(1, 561.0), &run(2, 15_060.0), "work"), Verdict::Slower);
    assert_eq!(verdict(&run(1, 561.0), &run(2, 561.0), "work"), Verdict::Unclear);
}

/// Five runs a side with 36 other rows. The first run has cold caches.
#[test]
fn a_cold_first_run_hides_no_large_slow_down() {
    let runs = |seed, factor: f64, cold: f64| -> Vec<Report> {
        let mut noise = Noise(seed);
        let mut run = |number| {
            let first = if number == 0 { cold } else { 1.0 };
            let mut rows = others(&mut noise, 36, SECOND);
            let scale = 1e4 * factor * first * (0.02 * noise.normal()).exp();
            rows.push(noisy(&mut noise, "work", SECOND, 100, scale));
            report(rows)
        };
        (0..5).map(&mut run).collect()
    };
    for cold in [1.5, 3.0, 8.0, 26.0, 100.0] {
        for factor in [26.0, 75.0] {
            let (before, after) = (runs(1, 1.0, cold), runs(2, factor, 1.0));
            assert_eq!(verdict(&before, &after, "work"), Verdict::Slower, "{cold} {factor}");
            let (before, after) = (runs(3, 1.0, 1.0), runs(4, factor, cold));
            assert_eq!(verdict(&before, &after, "work"), Verdict::Slower, "{cold} {factor}");
        }
        let (before, after) = (runs(5, 1.0, cold), runs(6, 1.0, 1.0));
        assert_ne!(verdict(&before, &after, "work"), Verdict::Faster, "{cold}");
    }
}

/// 20 ns, then 30 ns, by a clock with a resolution of 10 ns.
#[test]
fn a_tick_of_the_clock_is_no_change() {
    let run = |length: f64, count: usize| {
        let mut noise = Noise(7);
        let mut rows = others(&mut noise, 9, SECOND);
        rows.push(row("stop", SECOND, &vec![length; count]));
        report(rows)
    };
    let runs = |length, count, runs| (0..runs).map(|_| run(length, count)).collect::<Vec<_>>();
    for (count, number) in [(3, 1), (3, 3), (3, 5), (32, 1), (1000, 1), (1000, 5)] {
        let judged = verdict(&runs(20.0, count, number), &runs(30.0, count, number), "stop");
        let is_none = matches!(judged, Verdict::Minor | Verdict::Unclear);
        assert!(is_none, "{count} lengths in {number} runs: {judged:?}");
    }
}

/// Medians of runs before and after.
type Sides = ([f64; 9], [f64; 9]);

/// Medians of nine real runs a side, in microseconds. A neighbor on the same core makes a run take
/// 1.5 times as long: two in nine runs before, and one in nine after.
#[test]
fn a_machine_with_two_speeds_hides_no_large_slow_down() {
    const SAME: Sides = (
        [27.1, 28.7, 40.9, 27.0, 27.0, 27.4, 28.8, 27.2, 43.9],
        [27.3, 27.2, 28.4, 27.6, 27.6, 27.5, 27.2, 27.1, 40.1],
    );
    const DOUBLED: Sides = (
        [27.1, 28.7, 40.9, 27.0, 27.0, 27.4, 28.8, 27.2, 44.0],
        [54.5, 54.3, 56.8, 59.9, 55.5, 54.9, 54.2, 54.1, 83.1],
    );
    const LONGER: Sides = (
        [54.4, 57.7, 82.6, 54.2, 54.3, 55.1, 57.8, 54.7, 88.6],
        [82.2, 81.8, 85.5, 96.1, 90.5, 82.7, 81.7, 81.5, 139.5],
    );
    let runs = |of: fn(&Sides) -> [f64; 9]| -> Vec<Report> {
        let medians = [("same", of(&SAME)), ("doubled", of(&DOUBLED)), ("longer", of(&LONGER))];
        let rows = |run: usize| {
            let row = |(name, medians): &(&str, [f64; 9])| {
                row(name, SECOND / 20, &[medians[run] * 1e3; 1000])
            };
            report(medians.iter().map(row).collect())
        };
        (0..9).map(rows).collect()
    };
    let (before, after) = (runs(|sides| sides.0), runs(|sides| sides.1));
    assert_eq!(verdict(&before, &after, "doubled"), Verdict::Slower);
    assert_eq!(verdict(&before, &after, "longer"), Verdict::Slower);
    assert_ne!(verdict(&before, &after, "same"), Verdict::Slower);
    assert_ne!(verdict(&before, &after, "same"), Verdict::Faster);
}

/// A poll is long if it does the work, and short if the result is ready or not there yet. Which one
/// is more frequent depends on the scheduler, so one run a side shows no change.
#[test]
fn polls_of_one_run_depend_on_the_scheduler() {
    let run = |role: Role, seed: u64, share_of_short: f64, speed: f64| {
        let mut noise = Noise(seed);
        let mut length = || speed * if noise.next() < share_of_short { 4e3 } else { 4e4 };
        let lengths: Vec<f64> = (0..1200).map(|_| length()).collect();
        report(vec![Row { role, ..row("price", SECOND, &lengths) }])
    };
    let found = |role| {
        let (before, after) = (run(role, 1, 0.6, 1.0), run(role, 2, 0.4, 1.8));
        let changes = compare(&[before], &[after], &Options::default());
        changes.iter().map(|change| (change.kind, change.verdict)).collect::<Vec<_>>()
    };
    assert_eq!(found(Role::Duration), [(Kind::Duration, Verdict::Slower)]);
    assert_eq!(found(Role::Poll), [(Kind::Poll, Verdict::Unclear)]);
}

/// On a machine with much other load, all operations of a run can wait ten times as long.
#[test]
fn operations_of_one_run_depend_on_the_load() {
    let run = |seed: u64, nanos: f64| {
        let mut noise = Noise(seed);
        let operations = vec![noisy(&mut noise, "request", SECOND, 600, nanos)];
        Report { operations, ..Report::default() }
    };
    let found = |factor: f64| {
        let (before, after) = (run(1, 1e6), run(2, 1e6 * factor));
        let changes = compare(&[before], &[after], &Options::default());
        changes.iter().map(|change| (change.kind, change.verdict)).collect::<Vec<_>>()
    };
    assert_eq!(found(10.0), [(Kind::Async, Verdict::Unclear)]);
    assert_eq!(found(27.0), [(Kind::Async, Verdict::Slower)]);
}
