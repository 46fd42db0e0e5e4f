//! Megabytes of archive per second on one core, for each output.
//!
//! The archives are in memory and the output is discarded. The result is the processor time of the
//! best of seven runs. The name of a benchmark after `--` runs only this one.

use std::fmt::Write;
use std::hint::black_box;
use std::io;

use rustix::time::{clock_gettime, ClockId};
use trace_analyze::check;
use trace_analyze::stats::{self, Grouping};
use trace_convert::csv::Rows;
use trace_convert::merge::{Clocks, Merger};
use trace_convert::slice::{self, Selection};
use trace_convert::stacks::Stacks;
use trace_convert::{chrome, perfetto, text};
use trace_format::{
    Argument, Arguments, Event, EventKind, Reader, Thread, ThreadKoids, Value, Writer,
};

const ARCHIVE_BYTES: usize = 32 << 20;
const RUNS: usize = 7;

/// A benchmark of an archive.
type Way = (&'static str, fn(&[u8]));

const WAYS: [Way; 11] = [
    ("decode", decode),
    ("check", to_report),
    ("stats", to_stats),
    ("dump", to_text),
    ("slice", to_slice),
    ("merge", to_merger),
    ("convert to JSON", to_json),
    ("convert to pftrace", to_perfetto),
    ("convert to folded", to_folded),
    ("convert to CSV", to_csv),
    ("convert to speedscope", to_speedscope),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test` runs each one once.
    let is_bench = arguments.iter().any(|argument| argument == "--bench");
    let (bytes, runs) = if is_bench { (ARCHIVE_BYTES, RUNS) } else { (64 << 10, 1) };
    let only = arguments.iter().find(|argument| !argument.starts_with("--"));
    let values = [
        Argument::new("bytes", Value::Int64(1_234_567)),
        Argument::new("path", Value::String("/usr/share".into())),
    ];
    let archives = [nested(bytes), archive(bytes, &[]), archive(bytes, &values)];
    println!(
        "| MB/s | nested scopes, 24 bytes | scopes, 32 bytes | with two arguments, 72 bytes |"
    );
    println!("|---|---|---|---|");
    for (name, way) in WAYS.iter().filter(|(name, _)| only.is_none_or(|only| only == name)) {
        let speeds = archives.each_ref().map(|archive| measure(archive, runs, *way));
        let [nested, plain, with_values] = speeds.map(|speed| format!("{speed:.0}"));
        println!("| {name} | {nested} | {plain} | {with_values} |");
    }
}

/// Returns an archive as `trace record` writes it: scopes in the order of their begins, in chunks
/// that start with their thread.
fn nested(bytes: usize) -> Vec<u8> {
    let names = ["request", "parse", "query", "lock", "send"];
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(1, "bench").unwrap();
    writer.initialization(2_400_000_000).unwrap();
    let mut ticks: u64 = 1 << 45;
    for number in 0..bytes as u64 / 24 {
        let depth = number % 5;
        let thread = ThreadKoids::new(12_345, 12_345 + number / 2000 % 7);
        let event = Event {
            ticks,
            thread: Thread::Inline(thread),
            category: "server".into(),
            name: names[depth as usize].into(),
            kind: EventKind::DurationComplete { end: ticks + 5_000 - 1_000 * depth + number % 97 },
            arguments: Arguments::NONE,
        };
        writer.record(&event.into()).unwrap();
        ticks += if depth == 4 { 4_800 } else { 500 };
    }
    writer.into_inner()
}

/// Returns an archive of scopes that have ended.
fn archive(bytes: usize, arguments: &[Argument<'_>]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(1, "bench").unwrap();
    writer.initialization(2_400_000_000).unwrap();
    let mut ticks: u64 = 1 << 45;
    let each = if arguments.is_empty() { 32 } else { 72 };
    for _ in 0..bytes / each {
        let event = Event {
            ticks,
            thread: Thread::Inline(ThreadKoids::new(12_345, 12_345 + ticks % 7)),
            category: "server".into(),
            name: "handle_request".into(),
            kind: EventKind::DurationComplete { end: ticks + 1234 },
            arguments: Arguments::from(arguments),
        };
        writer.record(&event.into()).unwrap();
        ticks += 5_000;
    }
    writer.into_inner()
}

/// Returns MB/s.
fn measure(archive: &[u8], runs: usize, way: fn(&[u8])) -> f64 {
    let time = || {
        let start = processor_seconds();
        way(archive);
        processor_seconds() - start
    };
    let best = (0..runs).map(|_| time()).fold(f64::INFINITY, f64::min);
    archive.len() as f64 / best / 1e6
}

/// Returns the processor time of this process, in seconds.
fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn decode(archive: &[u8]) {
    let mut reader = Reader::new(archive);
    while let Some(item) = reader.next().unwrap() {
        black_box(&item);
    }
}

fn to_report(archive: &[u8]) {
    black_box(check::check(Reader::new(archive)).unwrap());
}

fn to_stats(archive: &[u8]) {
    let report = stats::collect(Reader::new(archive), Grouping::Together, None).unwrap();
    assert!(!report.durations.is_empty());
}

fn to_text(archive: &[u8]) {
    let mut reader = Reader::new(archive);
    let mut line = String::new();
    while let Some(item) = reader.next().unwrap() {
        line.clear();
        text::line(&mut line, &item).unwrap();
        line.write_char('\n').unwrap();
        black_box(&line);
    }
}

fn to_slice(archive: &[u8]) {
    let all = Selection::default();
    let plan = slice::Plan::read(Reader::new(archive), &all).unwrap();
    let summary = slice::write(Reader::new(archive), &plan, io::sink()).unwrap();
    assert!(summary.events.kept > 0 && summary.events.removed == 0);
}

fn to_merger(archive: &[u8]) {
    let clocks = [Clocks::read(Reader::new(archive)).unwrap()];
    let mut merger = Merger::new(io::sink(), &clocks).unwrap();
    merger.add("archive", Reader::new(archive)).unwrap();
    assert!(merger.finish().unwrap().events > 0);
}

fn to_json(archive: &[u8]) {
    chrome::write(Reader::new(archive), io::sink()).unwrap();
}

fn to_perfetto(archive: &[u8]) {
    perfetto::write(Reader::new(archive), io::sink()).unwrap();
}

fn to_folded(archive: &[u8]) {
    let stacks = Stacks::read(Reader::new(archive)).unwrap();
    assert!(stacks.folded(Grouping::Together).unwrap().stacks().count() > 0);
}

fn to_csv(archive: &[u8]) {
    Rows::read(Reader::new(archive)).unwrap().write(io::sink()).unwrap();
}

fn to_speedscope(archive: &[u8]) {
    Stacks::read(Reader::new(archive)).unwrap().speedscope("archive", io::sink()).unwrap();
}
