mod measures;
mod reproductions;
mod simulation;

use super::*;
use crate::stats::{Grouping, JoinedNames};
use trace_format::{Arguments, Event, EventKind, Thread, ThreadKoids, Writer};

const SECOND: u64 = 1_000_000_000;

/// A pseudorandom generator, with the same numbers in every run.
struct Noise(u64);

impl Noise {
    /// Returns a number in 0 to 1.
    fn next(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a normally distributed number.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.next().max(1e-300).ln()).sqrt();
        radius * (self.next() * std::f64::consts::TAU).cos()
    }

    /// Returns a number around 1, more often below it, with a long tail.
    fn length(&mut self) -> f64 {
        let tail = if self.next() < 0.01 { 10.0 } else { 1.0 };
        (self.normal() * 0.3).exp() * tail
    }
}

/// Returns a row of lengths, which begin evenly in `nanos`.
fn row(name: &str, nanos: u64, lengths: &[f64]) -> Row {
    let mut row = Row { name: name.to_owned(), category: "app".to_owned(), ..Row::default() };
    let step = nanos / lengths.len().max(1) as u64;
    for (number, length) in lengths.iter().enumerate() {
        row.lengths.add(*length as u64);
        row.sample.add(number as u64 * step, *length as u64);
    }
    row
}

fn report(durations: Vec<Row>) -> Report {
    Report { durations, ..Report::default() }
}

/// Returns the run of a program: 20 names with some thousand noisy lengths each. `slower` has
/// factors for some of them.
fn run(seed: u64, slower: &[(&str, f64)]) -> Report {
    let mut noise = Noise(seed);
    let mut of_number = |number: u32| {
        let name = format!("work {number}");
        let factor = slower.iter().find(|(slow, _)| *slow == name).map_or(1.0, |(_, by)| *by);
        let count = 2000 * (1 + number % 5);
        let scale = factor * 200.0 * f64::from(1 << number);
        let lengths: Vec<f64> = (0..count).map(|_| noise.length() * scale).collect();
        row(&name, SECOND, &lengths)
    };
    report((0..20).map(&mut of_number).collect())
}

/// Returns a run with correlated lengths: a request in a queue takes about as long as the ones
/// before it, and the machine is slower at times.
fn waiting(seed: u64, factor: f64) -> Report {
    let mut noise = Noise(seed);
    let mut queue = |decay: f64| {
        let share = (1.0 - decay * decay).sqrt();
        let mut level = noise.normal() / share;
        let mut length = || {
            level = decay * level + noise.normal();
            1e6 * factor * (0.4 * level * share).exp()
        };
        let lengths: Vec<f64> = (0..4000).map(|_| length()).collect();
        row(&format!("decay {decay}"), SECOND, &lengths)
    };
    let durations = [0.9, 0.99].map(&mut queue).into();
    let flows = [0.999, 0.9999].map(&mut queue).into();
    Report { durations, flows, ..Report::default() }
}

/// For runs without noise of the machine.
const NO_RUN_NOISE: Options = Options { threshold: 0.03, significance: 0.005, run_noise: 0.0 };

fn judged(before: &Report, after: &Report) -> Vec<(String, Verdict)> {
    let (before, after) = (std::slice::from_ref(before), std::slice::from_ref(after));
    let changes = compare(before, after, &NO_RUN_NOISE);
    let mut verdicts: Vec<_> =
        changes.into_iter().map(|change| (change.name, change.verdict)).collect();
    verdicts.sort_by(|a, b| a.0.cmp(&b.0));
    verdicts
}

/// Returns the rows that are slower or faster.
fn found(before: &Report, after: &Report) -> Vec<(String, Verdict)> {
    let is_found = |verdict| matches!(verdict, Verdict::Slower | Verdict::Faster);
    judged(before, after).into_iter().filter(|(_, verdict)| is_found(*verdict)).collect()
}

#[test]
fn only_planted_changes_of_5_percent_are_found() {
    let planted = [("work 19", 1.05), ("work 14", 0.95)];
    let expected =
        [("work 14".to_owned(), Verdict::Faster), ("work 19".to_owned(), Verdict::Slower)];
    let mut complete = 0;
    for seed in 1..=10 {
        let found = found(&run(seed, &[]), &run(seed + 1000, &planted));
        assert!(found.iter().all(|found| expected.contains(found)), "seed {seed}: {found:?}");
        complete += usize::from(found == expected);
    }
    assert!(complete >= 9, "found in {complete} of 10");
}

#[test]
fn two_runs_of_one_program_are_not_different() {
    for seed in 1..=20 {
        assert_eq!(found(&run(seed, &[]), &run(seed + 1000, &[])), [], "seed {seed}");
    }
}

/// The Mann-Whitney test of all lengths finds a difference in every pair.
#[test]
fn correlated_durations_are_weak_evidence() {
    let is_alarm = |seed: &u64| {
        let (before, after) = (waiting(*seed, 1.0), waiting(seed + 1000, 1.0));
        let changes = compare(&[before], &[after], &Options::default());
        changes.iter().any(|change| matches!(change.verdict, Verdict::Slower | Verdict::Faster))
    };
    let alarms = (1..=100).filter(is_alarm).count();
    assert!(alarms <= 2, "{alarms} of 100 pairs");
    // A large change is found.
    let seen = (1..=20).filter(|seed| {
        let found = found(&waiting(*seed, 1.0), &waiting(seed + 1000, 1.6));
        found.contains(&("decay 0.9".to_owned(), Verdict::Slower))
    });
    assert!(seen.count() >= 18);
}

/// The second half takes ten times as long: lengths differ more than changes.
#[test]
fn stretches_are_compared_with_the_same_stretches() {
    let work = |seed, factor: f64| {
        let mut noise = Noise(seed);
        let length = |number| if number < 4000 { 1e4 } else { 1e5 };
        let lengths = (0..8000).map(|number| length(number) * noise.length() * factor);
        report(vec![row("work", SECOND, &lengths.collect::<Vec<f64>>())])
    };
    let expected = [("work".to_owned(), Verdict::Slower)];
    for seed in 1..=10 {
        assert_eq!(found(&work(seed, 1.0), &work(seed + 1000, 1.1)), expected, "seed {seed}");
    }
}

/// The speed of the machine changes between runs by more than the planted change.
#[test]
fn several_runs_separate_the_program_from_the_machine() {
    let runs = |seed: u64, factor: f64| {
        let mut noise = Noise(seed);
        let run = |_| {
            let machine = 1.0 + 0.02 * noise.normal();
            let mut work = |name, factor| {
                let length = |_| noise.length() * 1e4 * machine * factor;
                row(name, SECOND, &(0..500).map(length).collect::<Vec<f64>>())
            };
            let (slow, same) = (work("slow", factor), work("same", 1.0));
            report(vec![slow, same])
        };
        (0..12).map(run).collect::<Vec<Report>>()
    };
    let verdicts = |seed, factor| {
        let changes = compare(&runs(seed, 1.0), &runs(seed + 1000, factor), &Options::default());
        let of = |name| changes.iter().find(|change| change.name == name).unwrap().verdict;
        (of("slow"), of("same"))
    };
    for seed in 1..=30 {
        let (slow, same) = verdicts(seed, 1.0);
        let is_quiet = |verdict| matches!(verdict, Verdict::Alike | Verdict::Unclear);
        assert!(is_quiet(slow) && is_quiet(same), "seed {seed}");
    }
    let seen = (1..=20).filter(|seed| verdicts(*seed, 1.1).0 == Verdict::Slower);
    assert!(seen.count() >= 18);
}

#[test]
fn the_change_that_costs_most_comes_first() {
    let after = run(2, &[("work 3", 1.5), ("work 18", 1.2), ("work 10", 0.5)]);
    let changes = compare(&[run(1, &[])], &[after], &NO_RUN_NOISE);
    assert_eq!(changes[0].name, "work 18");
    let effect = changes[0].median.unwrap();
    assert!((effect.change - 0.2).abs() < 0.05, "{effect:?}");
    assert!(effect.low < 0.2 && effect.high > 0.2, "{effect:?}");
    let json = changes[0].to_json();
    assert_eq!(json["verdict"], "slower");
    assert_eq!(json["interval"][0], effect.low);
    assert_eq!(json["before"]["count"], 8000);
}

#[test]
fn new_gone_unclear_and_minor() {
    let steady = |name: &str, count: usize| row(name, SECOND, &vec![1e4; count]);
    let slow = |name: &str, count: usize| row(name, SECOND, &vec![1e6; count]);
    let before = report(vec![
        steady("alike", 32),
        steady("few", 5),
        steady("gone", 90),
        steady("slower", 32),
        row("tiny", SECOND, &[5e3; 5]),
    ]);
    let after = report(vec![
        steady("alike", 32),
        slow("few", 5),
        steady("new", 90),
        slow("slower", 32),
        row("tiny", SECOND, &[6e3; 5]),
    ]);
    let expected = [
        ("alike", Verdict::Alike),
        ("few", Verdict::Unclear),
        ("gone", Verdict::Gone),
        ("new", Verdict::New),
        ("slower", Verdict::Slower),
        ("tiny", Verdict::Minor),
    ];
    assert_eq!(judged(&before, &after), expected.map(|(name, is)| (name.to_owned(), is)));
}

/// By default, runs of one program may differ by a factor of 1.6.
#[test]
fn one_run_a_side_shows_only_what_exceeds_run_noise() {
    let after = run(2, &[("work 17", 1.5), ("work 18", 2.0)]);
    let changes = compare(&[run(1, &[])], &[after], &Options::default());
    let of = |name| changes.iter().find(|change| change.name == name).unwrap();
    assert_eq!((of("work 18").verdict, of("work 18").runs_needed), (Verdict::Slower, None));
    assert_eq!((of("work 17").verdict, of("work 17").runs_needed), (Verdict::Unclear, Some(5)));
    assert!(of("work 17").may_be_slower_than(0.6) && !of("work 17").may_be_slower_than(2.0));
    assert!(of("work 18").is_slower_than(0.2) && !of("work 18").is_slower_than(0.5));
}

/// Every fiftieth duration takes ten times as long after.
#[test]
fn a_longer_tail_is_reported_beside_the_median() {
    let runs = |seed, tail: f64| -> Vec<Report> {
        let mut noise = Noise(seed);
        let mut length = |number| {
            let tail = if number % 50 == 0 { tail } else { 1.0 };
            1e5 * tail * (0.1 * noise.normal()).exp()
        };
        let mut run =
            |_| report(vec![row("a", SECOND, &(0..500).map(&mut length).collect::<Vec<_>>())]);
        (0..5).map(&mut run).collect()
    };
    let changes = compare(&runs(1, 2.0), &runs(2, 20.0), &Options::default());
    let p99 = changes[0].p99.unwrap();
    assert_eq!(changes[0].verdict, Verdict::Alike);
    assert!(p99.low > 4.0 && p99.low < 9.0 && p99.high > 9.0, "{p99:?}");
    assert!(changes[0].to_json()["p99_interval"][0].as_f64().unwrap() > 4.0);
}

/// A row in too few runs is rare. Advice is based on the runs that have the row.
#[test]
fn rows_in_some_runs_only() {
    let runs = |seed, present: usize| -> Vec<Report> {
        let mut noise = Noise(seed);
        let mut run = |number: usize| {
            let mut lengths = || {
                let scale = 1e5 * (0.05 * noise.normal()).exp();
                (0..100).map(|number| scale * (1.0 + f64::from(number) * 1e-4)).collect::<Vec<_>>()
            };
            let mut rows = vec![row("always", SECOND, &lengths())];
            if number < present {
                rows.push(row("some", SECOND, &lengths()));
            }
            report(rows)
        };
        (0..10).map(&mut run).collect()
    };
    let of = |present| {
        let changes = compare(&runs(1, present), &runs(2, present), &Options::default());
        changes.into_iter().find(|change| change.name == "some").unwrap()
    };
    assert_eq!((of(2).verdict, of(2).runs_needed), (Verdict::Rare, None));
    assert!(!of(2).may_be_slower_than(0.03));
    let (some, all) = (of(3), of(10));
    assert_eq!((some.verdict, all.verdict), (Verdict::Unclear, Verdict::Unclear));
    let interval = some.median.unwrap();
    assert!(some.runs_needed.is_some_and(|runs| runs > 3), "{interval:?} {:?}", some.runs_needed);
    let few = compare(&runs(1, 2)[..2], &runs(2, 2)[..2], &Options::default());
    assert_eq!((few[0].verdict, few[0].runs_needed), (Verdict::Unclear, Some(5)));
}

/// A clock with a resolution of 10 ns: from 20 to 30 ns at the 99th percentile is no change.
#[test]
fn a_tick_of_the_clock_is_no_change_of_the_tail() {
    let runs = |tail: f64| -> Vec<Report> {
        let lengths: Vec<f64> =
            (0..500).map(|number| if number % 50 == 0 { tail } else { 10.0 }).collect();
        let clock: Vec<f64> = (1..20).map(|number| f64::from(number) * 10.0).collect();
        (0..5)
            .map(|_| report(vec![row("a", SECOND, &lengths), row("clock", SECOND, &clock)]))
            .collect()
    };
    let changes = compare(&runs(20.0), &runs(30.0), &Options::default());
    let p99 = changes.iter().find(|change| change.name == "a").unwrap().p99.unwrap();
    assert!(p99.low < 0.0 && p99.high > 0.5, "{p99:?}");
}

/// A row with large deviations is unclear.
#[test]
fn a_row_is_alike_only_if_a_change_would_be_found() {
    let wild = |seed| {
        let mut noise = Noise(seed);
        let lengths: Vec<f64> = (0..64).map(|_| 1e6 * (2.0 * noise.normal()).exp()).collect();
        report(vec![row("wild", SECOND, &lengths)])
    };
    assert_eq!(judged(&wild(1), &wild(2)), [("wild".to_owned(), Verdict::Unclear)]);
    let (before, after) = (run(1, &[]), run(2, &[]));
    let options = Options { threshold: 0.5, ..NO_RUN_NOISE };
    let changes = compare(&[before], &[after], &options);
    assert!(changes.iter().all(|change| change.verdict == Verdict::Alike));
}

/// Rows have the lengths of all threads.
#[test]
fn archives_are_read_with_times() {
    let archive = |percent: u64| {
        let mut writer = Writer::new(Vec::new()).unwrap();
        let mut event = |ticks, thread, id: u64, kind| {
            let thread = Thread::Inline(ThreadKoids::new(1, thread));
            let (category, name) = ("app".into(), ["scope", "async", "flow"][id as usize].into());
            let event = Event { ticks, thread, category, name, kind, arguments: Arguments::NONE };
            writer.record(&event.into()).unwrap();
        };
        for thread in [1, 2] {
            for number in 0..100 {
                let begin = number * 10_000_000 + thread;
                let end = begin + (10_000 + number) * percent / 100;
                let id = thread << 32 | number;
                event(begin, thread, 0, EventKind::DurationComplete { end });
                event(begin, thread, 1, EventKind::AsyncBegin { id });
                event(end, thread, 1, EventKind::AsyncEnd { id });
                event(begin, thread, 2, EventKind::FlowBegin { id });
                event(end, thread, 2, EventKind::FlowEnd { id });
            }
        }
        read(Reader::new(&writer.into_inner()[..]), Grouping::Together, Measure::Length).unwrap()
    };
    let changes = compare(&[archive(100)], &[archive(105)], &NO_RUN_NOISE);
    assert_eq!(changes.len(), 3);
    for change in changes {
        assert_eq!(change.verdict, Verdict::Slower, "{change:?}");
        assert!((change.median.unwrap().change - 0.05).abs() < 0.001);
    }
}

/// Returns an archive of durations one after the other.
fn archive<'a>(durations: impl IntoIterator<Item = (&'a str, u64)>) -> Report {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let mut ticks = 0;
    for (name, nanos) in durations {
        let thread = Thread::Inline(ThreadKoids::new(1, 1));
        let (category, name, arguments) = ("app".into(), name.into(), Arguments::NONE);
        let kind = EventKind::DurationComplete { end: ticks + nanos };
        let event = Event { ticks, thread, category, name, kind, arguments };
        ticks += nanos;
        writer.record(&event.into()).unwrap();
    }
    read(Reader::new(&writer.into_inner()[..]), Grouping::Together, Measure::Length).unwrap()
}

fn names(number: u64) -> Vec<String> {
    (0..number).map(|number| format!("name {number}")).collect()
}

/// Joined names are those with the least time. They are neither new nor gone.
#[test]
fn names_beyond_the_limit_are_joined() {
    let archive = |number: u64, short: u64| {
        let names = names(number);
        let names = names.iter().zip(1000..).map(|(name, nanos)| (&name[..], nanos));
        let first = [("first", 1_000_000), ("short", short)];
        archive(first.into_iter().chain(names).chain([("last", 1_000_000), ("short", short)]))
    };
    let (before, after) = (archive(70_000, 1), archive(10, 1_000_000));
    assert_eq!(
        (before.durations.len() as u64 + before.joined.len(), after.joined.len()),
        (70_003, 0)
    );
    assert!(before.durations.len() <= 1 << 16 && before.durations.len() >= 1 << 15);
    assert!(before.joined.nanos() > 1000 * before.joined.len());
    let least = before.durations.iter().map(|row| row.lengths.sum()).min().unwrap();
    assert!(least > 30_000, "{least}");
    let changes = compare(&[before], &[after], &Options::default());
    let verdict = |name| changes.iter().find(|change| change.name == name).unwrap().verdict;
    assert_eq!((verdict("first"), verdict("last")), (Verdict::Unclear, Verdict::Unclear));
    assert_eq!((verdict("short"), verdict("name 69999")), (Verdict::Unclear, Verdict::Gone));
    assert_eq!(verdict("name 1"), Verdict::Minor);
}

/// A name takes most of its time after it was joined, in both archives.
#[test]
fn a_joined_name_with_much_time_is_unclear() {
    let run = |nanos: u64| {
        let names = names(1 << 16);
        let once = names.iter().map(|name| (&name[..], 2000));
        archive([("handler", 1000)].into_iter().chain(once).chain([("handler", nanos); 1000]))
    };
    let changes = compare(&[run(1_000_000)], &[run(2_000_000)], &Options::default());
    let handler = changes.iter().find(|change| change.name == "handler").expect("a row");
    assert_eq!((handler.verdict, handler.runs_needed), (Verdict::Unclear, None));
    assert!(handler.may_be_slower_than(0.05));
    let is_unclear = |change: &&Change| change.verdict == Verdict::Unclear;
    assert_eq!(changes.iter().filter(is_unclear).count(), 1);
}

/// A run without a row has the name if it is joined there.
#[test]
fn a_name_that_some_runs_joined_is_not_rare() {
    let names = names(1 << 16);
    let many = names.iter().map(|name| (&name[..], 2000));
    let joined = archive([("work", 1000)].into_iter().chain(many).chain([("last", 1)])).joined;
    assert!(joined.contains("app", "work", None));
    let run = |has_row: bool| Report {
        joined: if has_row { JoinedNames::default() } else { joined.clone() },
        ..report(has_row.then(|| row("work", SECOND, &[1e6; 100])).into_iter().collect())
    };
    let verdict = |before: [bool; 5]| {
        compare(&before.map(run), &[true; 5].map(run), &Options::default())[0].verdict
    };
    assert_eq!(verdict([true, true, false, false, false]), Verdict::Unclear);
    assert_eq!(verdict([true, true, true, true, false]), Verdict::Alike);
}
