//! `trace stats` and `trace diff`.

use trace_analyze::diff::{self, Change, Measure, Options, Verdict};
use trace_analyze::schedule::{threads, Schedule};
use trace_analyze::stats::{self, Grouping, Report, Row};
use trace_format::{EventKind, Reader, Record};

use crate::archive::archive;

/// Counts do not depend on the grouping, and an archive does not differ from itself.
pub fn stats(bytes: &[u8]) {
    let archive = archive(bytes);
    let schedule = Schedule::read(Reader::new(&archive[..])).expect("it starts as archives do");
    let collect = |grouping, schedule| {
        let report = stats::collect(Reader::new(&archive[..]), grouping, schedule);
        report.expect("it starts as archives do")
    };
    let together = collect(Grouping::Together, Some(&schedule));
    let by_thread = collect(Grouping::Thread, Some(&schedule));
    assert_eq!(counts(&together), counts(&by_thread));
    consistent(&by_thread);
    consistent(&together);
    assert_eq!(
        together.instants.iter().map(|row| row.lengths.count()).sum::<u64>(),
        instants(&archive)
    );
    let process = collect(Grouping::Process, None);
    assert_eq!(counts(&process), counts(&together));
    assert!(process.to_json().is_object());
    let states = threads::read(Reader::new(&archive[..])).expect("it starts as archives do");
    assert!(states.to_json().is_object());
    differences(&archive, Measure::Length);
    differences(&archive, Measure::SelfTime);
}

fn instants(archive: &[u8]) -> u64 {
    let mut reader = Reader::new(archive);
    let mut number = 0;
    loop {
        match reader.next() {
            Ok(Some(item)) => {
                let is_instant = matches!(&item.record, Record::Event(event)
                    if matches!(event.kind, EventKind::Instant { .. }));
                number += u64::from(is_instant);
            }
            Ok(None) => return number,
            Err(_) => {}
        }
    }
}

fn counts(report: &Report) -> [u64; 4] {
    let of = |rows: &[Row]| rows.iter().map(|row| row.lengths.count()).sum();
    let counters = report.counters.iter().map(|row| row.count).sum();
    [of(&report.durations), of(&report.operations), of(&report.flows), counters]
}

/// Each row's numbers are in their order.
fn consistent(report: &Report) {
    for row in report.durations.iter().chain(&report.operations).chain(&report.flows) {
        let lengths = &row.lengths;
        assert!(lengths.count() > 0);
        let (least, most) = (lengths.min(), lengths.max());
        let steps = [least, lengths.quantile(0.5), lengths.quantile(0.9), most];
        assert!(steps.is_sorted(), "{row:?}");
        assert!((least..=most).contains(&lengths.mean()), "{row:?}");
        assert!(row.self_nanos <= lengths.sum(), "{row:?}");
    }
    for row in &report.counters {
        assert!(row.count > 0);
        assert!(!(row.min > row.max), "{row:?}");
    }
}

fn differences(archive: &[u8], measure: Measure) {
    let read = |archive| {
        let report = diff::read(Reader::new(archive), Grouping::Together, measure);
        [report.expect("it starts as archives do")]
    };
    let all = read(archive);
    let changes = diff::compare(&all, &all, &Options::default());
    let differs = |change: &Change| {
        use Verdict::{Faster, Gone, New, Slower};
        matches!(change.verdict, Slower | Faster | Gone | New)
    };
    assert!(!changes.iter().any(differs), "{changes:?}");
    assert!(changes.iter().all(|change| change.to_json().is_object()));
    let half = read(&archive[..8 + (archive.len() - 8) / 16 * 8]);
    let (there, back) = (compared(&half, &all), compared(&all, &half));
    assert_eq!(
        there,
        back.into_iter().map(|(count, gone, new)| (count, new, gone)).collect::<Vec<_>>()
    );
}

/// Returns the number of rows, and of those that are only before and only after.
fn compared(before: &[Report], after: &[Report]) -> Vec<(usize, usize, usize)> {
    let changes = diff::compare(before, after, &Options::default());
    let count = |verdict| changes.iter().filter(|change| change.verdict == verdict).count();
    vec![(changes.len(), count(Verdict::Gone), count(Verdict::New))]
}
