//! The share of right verdicts, by simulated runs.

use super::{report, row, Noise, SECOND};
use crate::diff::*;

/// The effect of a machine on a run, beside normal noise.
#[derive(Debug, Clone, Copy)]
enum Machine {
    Calm,
    /// Durations drift by 20 %, correlated for a quarter of a run, and across runs.
    Drift,
    /// With this probability, a run takes this factor as long: another speed, or a busy neighbor.
    Speeds(f64, f64),
    /// One run in five a side takes up to three times as long, by another factor for each row.
    Outlier,
}

/// A comparison of programs with one changed row, or none.
#[derive(Debug, Clone, Copy)]
struct Model {
    machine: Machine,
    rows: usize,
    runs: usize,
    /// Durations in a row of a run, and the deviation of their logarithm.
    count: usize,
    spread: f64,
    /// The deviation of a row from run to run.
    deviation: f64,
    /// The length of a run.
    nanos: u64,
}

const MODEL: Model = Model {
    machine: Machine::Calm,
    rows: 20,
    runs: 5,
    count: 400,
    spread: 0.1,
    deviation: 0.01,
    nanos: SECOND,
};

impl Model {
    /// Returns the runs of one side; row 0 takes `factor` times as long.
    fn side(&self, noise: &mut Noise, factor: f64) -> Vec<Report> {
        let outlier = (noise.next() * self.runs as f64) as usize;
        let mut drift = 0.0;
        (0..self.runs).map(|run| self.run(noise, factor, run == outlier, &mut drift)).collect()
    }

    fn run(&self, noise: &mut Noise, factor: f64, is_outlier: bool, drift: &mut f64) -> Report {
        let speed = match self.machine {
            Machine::Speeds(share, factor) if noise.next() < share => factor.ln(),
            _ => 0.0,
        };
        let drifts = self.drifts(noise, drift);
        let mut of_row = |number: usize| {
            let changed = if number == 0 { factor.ln() } else { 0.0 };
            let outlying = match self.machine {
                Machine::Outlier if is_outlier => noise.next() * 3.0_f64.ln(),
                _ => 0.0,
            };
            let level = 1e4_f64.ln() + speed + changed + outlying + self.deviation * noise.normal();
            let length = |drift: &f64| (level + drift + self.spread * noise.normal()).exp();
            let lengths: Vec<f64> = drifts.iter().map(length).collect();
            row(&format!("work {number}"), self.nanos, &lengths)
        };
        report((0..self.rows).map(&mut of_row).collect())
    }

    /// Returns the machine's state at each duration of a run.
    fn drifts(&self, noise: &mut Noise, drift: &mut f64) -> Vec<f64> {
        let decay = 1.0 - 4.0 / self.count as f64;
        let share = (1.0 - decay * decay).sqrt();
        let mut next = || {
            *drift = decay * *drift + share * noise.normal();
            if matches!(self.machine, Machine::Drift) {
                0.2 * *drift
            } else {
                0.0
            }
        };
        (0..self.count).map(|_| next()).collect()
    }

    /// Returns the shares of comparisons that call the changed row slower, and any other row slower
    /// or faster.
    fn found(&self, factor: f64, trials: u64) -> (f64, f64) {
        let (mut hits, mut alarms) = (0, 0);
        for seed in 1..=trials {
            let mut noise = Noise(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let (before, after) = (self.side(&mut noise, 1.0), self.side(&mut noise, factor));
            let changes = compare(&before, &after, &Options::default());
            let is_changed = |change: &&Change| factor != 1.0 && change.name == "work 0";
            hits += u32::from(
                changes
                    .iter()
                    .any(|change| is_changed(&change) && change.verdict == Verdict::Slower),
            );
            alarms += u32::from(changes.iter().any(|change| {
                !is_changed(&change) && matches!(change.verdict, Verdict::Slower | Verdict::Faster)
            }));
        }
        (f64::from(hits) / trials as f64, f64::from(alarms) / trials as f64)
    }
}

/// One row of twenty changes. With fewer rows, more changes are found.
#[test]
fn five_percent_are_found_in_five_runs() {
    let (found, alarms) = MODEL.found(1.05, 60);
    assert!(found >= 0.95 && alarms <= 0.02, "{found} {alarms}");
}

/// Also if the machine causes larger differences. But an outlier before the change that takes as
/// long as the runs after it may be a machine of two speeds.
#[test]
fn twice_as_long_is_always_found() {
    let model = Model { count: 30, ..MODEL };
    for machine in [Machine::Calm, Machine::Drift, Machine::Speeds(0.1, 1.5)] {
        let (found, _) = Model { machine, ..model }.found(2.0, 20);
        assert_eq!(found, 1.0, "{machine:?}");
    }
    let model = Model { machine: Machine::Outlier, ..model };
    let (found, fourfold) = (model.found(2.0, 50).0, model.found(4.0, 20).0);
    assert!(found >= 0.7 && fourfold == 1.0, "{found} {fourfold}");
}

#[test]
fn one_run_a_side_shows_twice_as_long_also_in_11_ms() {
    for (count, nanos) in [(30, SECOND), (30, 11_000_000), (500, 11_000_000)] {
        let (found, alarms) = Model { runs: 1, count, nanos, ..MODEL }.found(2.0, 20);
        assert_eq!((found, alarms), (1.0, 0.0), "{count} {nanos}");
    }
}

/// Only several runs show an outlying run.
#[test]
fn noise_of_a_machine_is_not_a_change() {
    let cases = [
        (Machine::Calm, 1),
        (Machine::Drift, 1),
        (Machine::Speeds(0.3, 1.5), 1),
        (Machine::Calm, 5),
        (Machine::Drift, 5),
        (Machine::Speeds(0.3, 1.5), 5),
        (Machine::Speeds(0.3, 2.0), 5),
        (Machine::Speeds(0.5, 2.0), 5),
        (Machine::Outlier, 5),
    ];
    for (machine, runs) in cases {
        let (_, alarms) = Model { machine, runs, count: 100, ..MODEL }.found(1.0, 50);
        assert!(alarms <= 0.02, "{machine:?}, {runs} runs: {alarms}");
    }
}

/// More of the table of docs/diff.md:
/// `cargo test --release -p trace-analyze diff::simulation -- --ignored --nocapture`
#[test]
#[ignore = "takes minutes, and prints tables"]
fn tables() {
    let trials = std::env::var("TRIALS").map_or(1000, |trials| trials.parse().unwrap());
    println!("| runs a side | durations a run | spread | rows | ×1.05 | ×1.1 | ×2 |");
    let cases = [
        (5, 400, 0.05, 20),
        (5, 400, 0.1, 1),
        (5, 400, 0.1, 20),
        (5, 400, 0.3, 20),
        (10, 400, 0.3, 20),
        (5, 6, 0.1, 20),
        (5, 6, 0.3, 20),
        (1, 30, 0.1, 20),
        (1, 30, 0.2, 20),
        (1, 30, 0.3, 20),
        (1, 400, 0.3, 20),
    ];
    for (runs, count, spread, rows) in cases {
        let model = Model { runs, count, spread, rows, ..MODEL };
        let cells = [1.05, 1.1, 2.0].map(|factor| percent(model.found(factor, trials).0));
        println!("| {runs} | {count} | {} | {rows} | {} |", percent(spread), cells.join(" | "));
    }
    println!("\n| machine | runs a side | ×2 found | false alarms |");
    let machines = [
        Machine::Calm,
        Machine::Drift,
        Machine::Outlier,
        Machine::Speeds(0.1, 1.5),
        Machine::Speeds(0.3, 1.5),
        Machine::Speeds(0.5, 1.5),
        Machine::Speeds(0.3, 2.0),
        Machine::Speeds(0.5, 2.0),
    ];
    for machine in machines {
        let is_for_several = matches!(machine, Machine::Outlier);
        for runs in [1, 3, 5].into_iter().filter(|runs| *runs > 1 || !is_for_several) {
            let model = Model { machine, runs, count: 100, ..MODEL };
            let (found, alarms) = (model.found(2.0, trials).0, model.found(1.0, trials).1);
            println!("| {machine:?} | {runs} | {} | {} |", percent(found), percent(alarms));
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}
