//! Archives of programs that record numbered events: which numbers are missing, and whether the
//! archive reports it.
//!
//! A report explains the numbers that are missing between two events if it is of the same process,
//! and of the time between them. A report of dropped records explains as many as it has.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::BufReader;
use std::ops::RangeInclusive;
use std::path::Path;

use trace_format::{notes, EventKind, Item, Reader, Record, Value};

/// The numbered events of an archive, or of its parts. Times are in ticks of the CPU's counter.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// The events of each program.
    programs: BTreeMap<u64, Found>,
    reports: Vec<Report>,
    pub(super) events: u64,
    /// Dropped records, as the archive reports.
    pub(super) lost: u64,
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
#[derive(Debug)]
struct Report {
    process: u64,
    time: RangeInclusive<u64>,
    /// The number of dropped records; `None` for an interruption.
    dropped: Option<u64>,
}

impl Content {
    pub(super) fn read(path: &Path) -> Self {
        let mut content = Self::default();
        content.add(path);
        content
    }

    /// Adds the events and reports of the next part of an archive.
    pub(super) fn add(&mut self, path: &Path) {
        let mut reader = Reader::new(BufReader::new(File::open(path).unwrap()));
        while let Some(item) = reader.next().unwrap() {
            self.take(&item);
        }
        assert_eq!((reader.stats().bad_records, reader.stats().unknown_records), (0, 0));
    }

    /// Returns the number of reports.
    pub(super) fn reports(&self) -> usize {
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

    /// Returns what is missing without a report of the programs that have recorded so many events,
    /// and which events are there twice.
    pub(super) fn errors(&self, published: &BTreeMap<u64, u64>) -> Vec<String> {
        let error = |(&program, &published): (&u64, &u64)| {
            let errors = match self.programs.get(&program) {
                Some(found) => self.errors_of(found, published),
                None => vec!["no event".to_owned()],
            };
            errors.into_iter().map(move |error| format!("program {program}: {error}"))
        };
        published.iter().flat_map(error).collect()
    }

    fn errors_of(&self, found: &Found, published: u64) -> Vec<String> {
        // The last records of a buffer may be behind those of the next one.
        let mut runs = found.runs.clone();
        runs.sort_unstable_by_key(|run| run.first);
        let Some(last) = runs.last().copied() else { return vec!["no event".to_owned()] };
        let end = Run { first: published, last: published, from: u64::MAX, to: u64::MAX };
        runs.extend((last.last + 1 < published).then_some(end));
        let pairs = runs.windows(2).filter_map(|pair| {
            let (before, after) = (pair[0], pair[1]);
            if after.first <= before.last {
                return Some(format!("{before} and {after}"));
            }
            let missing = after.first - before.last - 1;
            let is_explained = self.explains(found.process, before.to..=after.from, missing);
            (!is_explained).then(|| format!("{missing} are missing between {before} and {after}"))
        });
        pairs.collect()
    }

    /// Returns whether reports explain so many missing events of this time.
    fn explains(&self, process: u64, gap: RangeInclusive<u64>, missing: u64) -> bool {
        let overlaps =
            |time: &RangeInclusive<u64>| time.start() <= gap.end() && gap.start() <= time.end();
        let reports = self.reports.iter();
        let mut reports = reports.filter(|it| it.process == process && overlaps(&it.time));
        let dropped: Option<u64> =
            reports.try_fold(0u64, |sum, it| it.dropped.map(|number| sum.saturating_add(number)));
        // An interruption has no number.
        dropped.is_none_or(|dropped| dropped >= missing)
    }
}

impl Found {
    fn add(&mut self, number: u64, ticks: u64) {
        match self.runs.last_mut() {
            Some(run) if run.last + 1 == number => (run.last, run.to) = (number, ticks),
            _ => self.runs.push(Run { first: number, last: number, from: ticks, to: ticks }),
        }
    }
}

#[test]
fn missing_events_need_a_report_of_their_time_and_number() {
    let mut found = Found { process: 7, runs: Vec::new() };
    (0..3).chain(5..9).for_each(|number| found.add(number, 10 * number));
    let errors = |process, time: RangeInclusive<u64>, dropped, published| {
        let reports = vec![Report { process, time, dropped }];
        let content = Content { reports, ..Content::default() };
        content.errors_of(&found, published)
    };
    let missing = ["2 are missing between 0 to 2 and 5 to 8"];
    assert_eq!(errors(7, 30..=40, Some(2), 9).len(), 0);
    assert_eq!(errors(7, 10..=20, Some(2), 9).len(), 0, "the report has no less time");
    assert_eq!(errors(7, 50..=90, None, 9).len(), 0, "an interruption has no number");
    assert_eq!(errors(7, 30..=40, Some(1), 9), missing);
    assert_eq!(errors(8, 30..=40, Some(2), 9), missing);
    assert_eq!(errors(7, 51..=60, Some(2), 9), missing);
    let tail = ["1 are missing between 5 to 8 and 10 to 10"];
    assert_eq!(errors(7, 30..=40, Some(2), 10), tail, "the report is of an earlier time");
    assert_eq!(errors(7, 30..=80, Some(2), 10).len(), 0);
    found.add(8, 90);
    let content = Content::default();
    assert!(content.errors_of(&found, 9).iter().any(|error| error == "5 to 8 and 8 to 8"));
}
