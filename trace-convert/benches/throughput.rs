//! Megabytes of archive per second, on one core, for each way to read one.
//!
//! The archives are in memory and the output goes nowhere. The best of seven
//! runs counts.

use std::fmt::Write;
use std::io;
use std::time::{Duration, Instant};

use trace_convert::{check, chrome, stats, text};
use trace_format::{
    Argument, Arguments, Event, EventKind, Reader, Thread, ThreadKoids, Value, Writer,
};

const ARCHIVE_BYTES: usize = 32 << 20;

fn main() {
    let plain = archive(&[]);
    let arguments = [
        Argument::new("bytes", Value::Int64(1_234_567)),
        Argument::new("path", Value::String("/usr/share".into())),
    ];
    let with_arguments = archive(&arguments);
    for (what, archive) in [("no arguments", &plain), ("two arguments", &with_arguments)] {
        measure(&format!("chrome, {what}"), archive, to_json);
        measure(&format!("text,   {what}"), archive, to_text);
        measure(&format!("check,  {what}"), archive, to_report);
        measure(&format!("stats,  {what}"), archive, to_stats);
    }
    let nested = nested();
    measure("check,  nested scopes of 24 bytes", &nested, to_report);
    measure("stats,  nested scopes of 24 bytes", &nested, to_stats);
}

/// Returns an archive as `trace record` writes it: scopes in the order of their
/// begins, in chunks that start with their thread.
fn nested() -> Vec<u8> {
    let names = ["request", "parse", "query", "lock", "send"];
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(1, "bench").unwrap();
    writer.initialization(2_400_000_000).unwrap();
    let mut ticks: u64 = 1 << 45;
    for number in 0..ARCHIVE_BYTES as u64 / 24 {
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
fn archive(arguments: &[Argument<'_>]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(1, "bench").unwrap();
    writer.initialization(2_400_000_000).unwrap();
    let mut ticks: u64 = 1 << 45;
    let mut bytes = 0;
    while bytes < ARCHIVE_BYTES {
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
        bytes += if arguments.is_empty() { 32 } else { 72 };
    }
    writer.into_inner()
}

fn measure(what: &str, archive: &[u8], run: fn(&[u8])) {
    let time = || {
        let start = Instant::now();
        run(archive);
        start.elapsed()
    };
    let best: Duration = (0..7).map(|_| time()).min().unwrap_or_default();
    println!("{what}: {:.0} MB/s", archive.len() as f64 / best.as_secs_f64() / 1e6);
}

fn to_json(archive: &[u8]) {
    chrome::write(Reader::new(archive), io::sink()).unwrap();
}

fn to_text(archive: &[u8]) {
    let mut reader = Reader::new(archive);
    let mut line = String::new();
    while let Some(item) = reader.next().unwrap() {
        line.clear();
        text::line(&mut line, &item).unwrap();
        line.write_char('\n').unwrap();
        std::hint::black_box(&line);
    }
}

fn to_stats(archive: &[u8]) {
    let report = stats::collect(Reader::new(archive), stats::Grouping::Together, None).unwrap();
    assert!(!report.durations.is_empty());
}

fn to_report(archive: &[u8]) {
    std::hint::black_box(check::check(Reader::new(archive)).unwrap());
}
