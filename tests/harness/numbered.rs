//! Archives of programs that record numbered events: which numbers are missing, and whether the
//! archive reports it.
//!
//! A report explains the numbers that are missing between two events if it is of the same process,
//! and of the time between them. A report of dropped records explains as many as it has, once.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::BufReader;
use std::ops::{Range, RangeInclusive};
use std::path::Path;

use trace_format::{notes, EventKind, Item, Reader, Record, Value};

/// The numbered events of an archive, or of its parts. Times are in ticks of the CPU's counter.
#[derive(Debug, Default)]
pub(crate) struct Content {
    /// The events of each program.
    programs: BTreeMap<u64, Found>,
    reports: Vec<Report>,
    pub(crate) events: u64,
    /// Dropped records, as the archive reports.
    pub(crate) lost: u64,
}

/// The events of a program.
#[derive(Debug)]
struct Found {
    process: u64,
    runs: Vec<Run>,
}

/// Events whose numbers follow each other.
#[derive(Debug, Clone, Copy)]
struct Run {
    /// The first and the last number.
    first: u64,
    last: u64,
    /// Their times.
    from: u64,
    to: u64,
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.first, self.last)
    }
}

/// A report of missing events.
#[derive(Debug, Clone)]
struct Report {
    process: u64,
    time: RangeInclusive<u64>,
    /// The number of dropped records; `None` for an interruption.
    dropped: Option<u64>,
}

/// The numbers that an archive has of each program, or reports as missing.
type Expected = BTreeMap<u64, Range<u64>>;

/// Returns the numbers from those of `started` up to those of `published`, which are not in the
/// archive. Of programs without the first one, older events may be overwritten: no event has to be
/// there, but those between the ones that are, and the end.
pub(crate) fn expected(
    started: &BTreeMap<u64, u64>,
    published: &BTreeMap<u64, u64>,
) -> BTreeMap<u64, Range<u64>> {
    let range = |(program, end): (&u64, &u64)| {
        let start = started.get(program).unwrap_or(end);
        (*program, *start..*end)
    };
    published.iter().map(range).collect()
}

impl Content {
    /// Adds the events and reports of the next part of an archive.
    pub(crate) fn add(&mut self, path: &Path) {
        let mut reader = Reader::new(BufReader::new(File::open(path).unwrap()));
        while let Some(item) = reader.next().unwrap() {
            self.take(&item);
        }
        assert_eq!((reader.stats().bad_records, reader.stats().unknown_records), (0, 0));
    }

    /// Returns the number of reports.
    pub(crate) fn reports(&self) -> usize {
        self.reports.len()
    }

    fn take(&mut self, item: &Item<'_>) {
        let Record::Event(event) = &item.record else { return };
        let number = |name| {
            let argument = event.arguments.iter().find(|it| item.text(it.name) == name);
            match argument.map(|it| it.value) {
                Some(Value::Uint64(number)) => number,
                other => panic!("{name} is {other:?}"),
            }
        };
        let process = item.thread(event.thread).process;
        let report = |dropped| {
            let time = number("from")..=number("to");
            Report { process, time, dropped }
        };
        match (&*item.text(event.category), &*item.text(event.name), event.kind) {
            ("publish", "event", EventKind::Instant { .. }) => {
                self.events += 1;
                let found = self.programs.entry(number("program"));
                let found = found.or_insert_with(|| Found { process, runs: Vec::new() });
                found.add(number("number"), event.ticks);
            }
            (notes::CATEGORY, notes::RECORDS_DROPPED, _) => {
                let dropped = number("number");
                self.lost += dropped;
                self.reports.push(report(Some(dropped)));
            }
            (notes::CATEGORY, notes::INTERRUPTED, _) => self.reports.push(report(None)),
            _ => {}
        }
    }

    /// Returns which of these events are missing without a report, and which are there twice.
    pub(crate) fn errors(&self, expected: &Expected) -> Vec<String> {
        let mut reports = self.reports.clone();
        let error = |(program, numbers): (&u64, &Range<u64>)| {
            let errors = match self.programs.get(program) {
                Some(found) => found.errors(numbers, &mut reports),
                None => vec!["no event".to_owned()],
            };
            let program = *program;
            errors.into_iter().map(move |error| format!("program {program}: {error}"))
        };
        expected.iter().flat_map(error).collect()
    }
}

/// Uses up the reports that explain so many missing events of this time. Returns the number of
/// events that are not explained.
fn explain(
    reports: &mut [Report],
    process: u64,
    gap: &RangeInclusive<u64>,
    mut missing: u64,
) -> u64 {
    let overlaps = |it: &Report| it.time.start() <= gap.end() && gap.start() <= it.time.end();
    let reports = reports.iter_mut().filter(|it| it.process == process && overlaps(it));
    let mut reports: Vec<&mut Report> = reports.collect();
    if reports.iter().any(|it| it.dropped.is_none()) {
        // An interruption has no number.
        return 0;
    }
    // Gaps are in the order of time. Later ones may need the reports that end later.
    reports.sort_by_key(|it| *it.time.end());
    for left in reports.into_iter().filter_map(|it| it.dropped.as_mut()) {
        let explained = missing.min(*left);
        (*left, missing) = (*left - explained, missing - explained);
    }
    missing
}

impl Found {
    fn add(&mut self, number: u64, ticks: u64) {
        match self.runs.last_mut() {
            Some(run) if run.last + 1 == number => (run.last, run.to) = (number, ticks),
            _ => self.runs.push(Run { first: number, last: number, from: ticks, to: ticks }),
        }
    }

    fn errors(&self, expected: &Range<u64>, reports: &mut [Report]) -> Vec<String> {
        // The last records of a buffer may be behind those of the next one.
        let mut runs = self.runs.clone();
        runs.sort_unstable_by_key(|run| run.first);
        let mut errors = Vec::new();
        let mut check = |missing: Range<u64>, time: RangeInclusive<u64>| {
            let number = missing.end.saturating_sub(missing.start);
            let unexplained = explain(reports, self.process, &time, number);
            if unexplained != 0 {
                let Range { start, end } = missing;
                errors.push(format!("{unexplained} of {start} to {} are missing", end - 1));
            }
        };
        if let Some(run) = runs.first() {
            check(expected.start..run.first, 0..=run.from);
        }
        for pair in runs.windows(2) {
            check(pair[0].last + 1..pair[1].first, pair[0].to..=pair[1].from);
        }
        if let Some(run) = runs.last() {
            check(run.last + 1..expected.end, run.to..=u64::MAX);
        }
        let twice = runs.windows(2).filter(|pair| pair[1].first <= pair[0].last);
        errors.extend(twice.map(|pair| format!("{} and {}", pair[0], pair[1])));
        errors
    }
}

/// Returns the errors of a program of which the events 0 to 2, 5 to 8 and 12 were found, ten ticks
/// apart.
#[cfg(test)]
fn errors_of(expected: Range<u64>, reports: &[(RangeInclusive<u64>, Option<u64>)]) -> Vec<String> {
    let mut found = Found { process: 7, runs: Vec::new() };
    (0..3).chain(5..9).chain([12]).for_each(|number| found.add(number, 10 * number));
    let report = |(time, dropped): &(RangeInclusive<u64>, Option<u64>)| Report {
        process: 7,
        time: time.clone(),
        dropped: *dropped,
    };
    let mut reports: Vec<Report> = reports.iter().map(report).collect();
    // Of another process.
    reports.push(Report { process: 8, time: 0..=u64::MAX, dropped: None });
    found.errors(&expected, &mut reports)
}

#[test]
fn missing_events_need_reports_of_their_time_and_number() {
    let (first, second) = ("2 of 3 to 4 are missing", "3 of 9 to 11 are missing");
    assert_eq!(errors_of(0..13, &[]), [first, second]);
    assert_eq!(errors_of(0..13, &[(20..=50, Some(2)), (80..=120, Some(3))]).len(), 0);
    assert_eq!(errors_of(0..13, &[(10..=20, Some(2)), (130..=140, Some(3))]), [second]);
    assert_eq!(errors_of(0..13, &[(30..=40, None)]), [second], "an interruption has no number");
    let partial = errors_of(0..13, &[(30..=40, Some(1)), (90..=95, Some(1)), (95..=99, Some(1))]);
    assert_eq!(partial, ["1 of 3 to 4 are missing", "1 of 9 to 11 are missing"]);
    assert_eq!(errors_of(0..15, &[(0..=120, None)]).len(), 0);
    assert_eq!(errors_of(0..15, &[(0..=119, None)]), ["2 of 13 to 14 are missing"]);
}

#[test]
fn reports_explain_no_more_events_than_they_have() {
    assert_eq!(errors_of(0..13, &[(20..=120, Some(5))]).len(), 0);
    assert_eq!(errors_of(0..13, &[(20..=120, Some(3))]), ["2 of 9 to 11 are missing"]);
    let both = [(20..=50, None), (20..=120, Some(3))];
    assert_eq!(errors_of(0..13, &both).len(), 0, "the first gap is an interruption");
    // The first gap takes the report that ends first.
    assert_eq!(errors_of(0..13, &[(20..=120, Some(3)), (20..=50, Some(2))]).len(), 0);
}

#[test]
fn events_are_missing_at_the_beginning_too() {
    let mut found = Found { process: 7, runs: Vec::new() };
    (5..9).for_each(|number| found.add(number, 10 * number));
    let errors = |expected, reports: &mut [Report]| found.errors(&expected, reports);
    assert_eq!(errors(3..9, &mut []), ["2 of 3 to 4 are missing"]);
    assert_eq!(errors(6..9, &mut []).len(), 0);
    assert_eq!(errors(9..9, &mut []).len(), 0, "older records may be overwritten");
    let report = Report { process: 7, time: 0..=50, dropped: Some(2) };
    assert_eq!(errors(3..9, &mut [report]).len(), 0);
}

#[test]
fn events_that_are_there_twice_are_errors() {
    let mut found = Found { process: 7, runs: Vec::new() };
    (0..3).chain(2..4).for_each(|number| found.add(number, 10 * number));
    assert_eq!(found.errors(&(0..4), &mut []), ["0 to 2 and 2 to 3"]);
}
