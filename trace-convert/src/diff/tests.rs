use super::*;
use crate::stats::Row;

/// Numbers that look random, the same in every run.
struct Noise(u64);

impl Noise {
    /// Returns a number in 0 to 1.
    fn next(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a number around 1, more often below it, with a long tail.
    fn length(&mut self) -> f64 {
        let normal: f64 = (0..12).map(|_| self.next()).sum::<f64>() - 6.0;
        let tail = if self.next() < 0.01 { 10.0 } else { 1.0 };
        (normal * 0.3).exp() * tail
    }
}

/// Returns what a program's run came to: 20 names with some thousand noisy
/// lengths each. Those named in `slower` take that much longer.
fn run(seed: u64, slower: &[(&str, f64)]) -> Report {
    let mut noise = Noise(seed);
    let mut row = |number: u32| {
        let name = format!("work {number}");
        let factor = slower.iter().find(|(slow, _)| *slow == name).map_or(1.0, |(_, by)| *by);
        let mut lengths = Distribution::default();
        // Short and long ones, few and many.
        for _ in 0..1000 * (1 + number % 5) {
            lengths.add((noise.length() * factor * 200.0 * f64::from(1 << number)) as u64);
        }
        Row { name, category: "app".to_owned(), lengths, ..Row::default() }
    };
    Report { durations: (0..20).map(&mut row).collect(), ..Report::default() }
}

fn verdicts(before: &Report, after: &Report) -> Vec<(String, Verdict)> {
    let changes = compare(before, after, &Options::default());
    let changed = changes.into_iter().filter(|change| change.verdict != Verdict::Alike);
    changed.map(|change| (change.name, change.verdict)).collect()
}

#[test]
fn a_planted_change_of_5_percent_is_found_and_nothing_else() {
    for seed in 1..20 {
        let after = run(seed + 1000, &[("work 7", 1.05), ("work 13", 0.95)]);
        let mut found = verdicts(&run(seed, &[]), &after);
        found.sort_by(|a, b| a.0.cmp(&b.0));
        let expected =
            [("work 13".to_owned(), Verdict::Faster), ("work 7".to_owned(), Verdict::Slower)];
        assert_eq!(found, expected, "seed {seed}");
    }
}

#[test]
fn two_runs_of_one_program_are_alike() {
    for seed in 1..50 {
        assert_eq!(verdicts(&run(seed, &[]), &run(seed + 1000, &[])), [], "seed {seed}");
    }
}

#[test]
fn the_costly_comes_first() {
    let after = run(2, &[("work 3", 1.5), ("work 18", 1.1), ("work 10", 0.5)]);
    let changes = compare(&run(1, &[]), &after, &Options::default());
    assert_eq!(changes[0].name, "work 18");
    let change = changes[0].change.unwrap();
    assert!((change - 0.1).abs() < 0.03, "{change}");
    let json = changes[0].to_json();
    assert_eq!(json["verdict"], "slower");
    assert_eq!(json["before"]["count"], 4000);
}

#[test]
fn what_is_new_gone_or_rare_is_not_judged() {
    let rare = |name: &str, count: usize| {
        let mut lengths = Distribution::default();
        (0..count).for_each(|_| lengths.add(10));
        Row { name: name.to_owned(), lengths, ..Row::default() }
    };
    let report = |rows: Vec<Row>| Report { flows: rows, ..Report::default() };
    let before = report(vec![rare("gone", 9), rare("few", 4)]);
    let after = report(vec![rare("new", 9), rare("few", 9)]);
    let mut found = verdicts(&before, &after);
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let expected = [("few", Verdict::TooFew), ("gone", Verdict::Gone), ("new", Verdict::New)];
    assert_eq!(found, expected.map(|(name, verdict)| (name.to_owned(), verdict)));
}
