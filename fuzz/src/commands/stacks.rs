//! `trace convert` to what is about stacks, and `trace flamegraph`.

use trace_analyze::stats::{self, Grouping};
use trace_convert::csv::Rows;
use trace_convert::stacks::Stacks;
use trace_format::Reader;

use super::timeline::well_formed;
use super::{json, written};
use crate::archive::archive;
use crate::draw::draw;

/// The columns of a line.
const COLUMNS: usize = 14;

/// Takes bytes for an archive: each format of stacks can be read, and has every duration.
pub fn stacks(bytes: &[u8]) {
    let archive = archive(bytes);
    let stacks = Stacks::read(Reader::new(&archive[..])).expect("it starts as archives do");
    let report = stats::collect(Reader::new(&archive[..]), Grouping::Together, None);
    let report = report.expect("it starts as archives do");
    let durations = report.durations.iter().map(|row| row.lengths.count()).sum();
    let rows = Rows::read(Reader::new(&archive[..])).expect("it starts as archives do");
    csv(&written(&archive, |output| rows.write(output).expect("memory")), durations, rows.number());
    speedscope(
        &written(&archive, |output| stacks.speedscope("x\"", output).expect("memory")),
        durations,
    );
    folded(&stacks);
}

fn csv(output: &[u8], durations: u64, rows: u64) {
    let mut lines = csv::ReaderBuilder::new().from_reader(output);
    assert_eq!(lines.headers().expect("there is a heading").len(), COLUMNS);
    let (mut number, mut of_durations) = (0, 0);
    for line in lines.records() {
        // A line with other columns is an error.
        let line = line.expect("a line is as RFC 4180 has it");
        let of = |column: usize| line[column].parse::<u64>().expect("a number");
        number += 1;
        if !line[12].is_empty() {
            let arguments: serde_json::Value = serde_json::from_str(&line[12]).expect("JSON");
            assert!(arguments.is_object(), "{line:?}");
        }
        if matches!(&line[10], "duration" | "poll" | "drop") {
            assert!(of(9) <= of(8), "{line:?}: what it takes by itself is part of it");
            of_durations += 1;
        }
    }
    assert_eq!((of_durations, number), (durations, rows));
}

fn speedscope(output: &[u8], durations: u64) {
    let value = json(output);
    let frames = value["shared"]["frames"].as_array().expect("a list").len() as u64;
    let mut number = 0;
    for profile in value["profiles"].as_array().expect("a list") {
        let (mut open, mut at) = (Vec::new(), profile["startValue"].as_u64().expect("a time"));
        for event in profile["events"].as_array().expect("a list") {
            let (frame, time) = (event["frame"].as_u64().expect("a number"), event["at"].as_u64());
            let time = time.expect("a time");
            assert!(frame < frames && time >= at, "{profile}");
            at = time;
            match event["type"].as_str() {
                Some("O") => open.push(frame),
                _ => {
                    assert_eq!(open.pop(), Some(frame), "{profile}");
                    number += 1;
                }
            }
        }
        assert!(open.is_empty() && at <= profile["endValue"].as_u64().expect("a time"));
    }
    assert_eq!(number, durations);
}

fn folded(stacks: &Stacks) {
    let lines = |grouping| {
        let folded = stacks.folded(grouping).expect("no file is needed");
        folded.stacks().collect::<Vec<_>>()
    };
    let sum = |lines: &[(String, u64)]| {
        lines.iter().fold(0u64, |sum, (_, nanos)| sum.saturating_add(*nanos))
    };
    let (together, by_thread) = (lines(Grouping::Together), lines(Grouping::Thread));
    assert_eq!(sum(&together), sum(&by_thread));
    assert!(by_thread.iter().all(|(stack, _)| stack.matches(';').count() >= 2));
    assert!(!together.iter().any(|(stack, _)| stack.contains(char::is_control)));
    let total = by_thread.iter().try_fold(0u64, |sum, (_, nanos)| sum.checked_add(*nanos));
    let drawn: Vec<_> = by_thread.into_iter().map(|(stack, nanos)| (stack, vec![nanos])).collect();
    let svg = draw("x".to_owned(), "ns", &drawn);
    assert_eq!(svg.is_ok(), total.is_some_and(|total| total > 0), "{svg:?}: {drawn:?}");
    if let Ok(svg) = svg {
        well_formed(&svg);
    }
}
