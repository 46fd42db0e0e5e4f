//! The time from the end of a scope that is too long to the copy of the buffer, and to the complete
//! snapshot.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::time::{clock_gettime, ClockId};
use trace_format::{notes, Reader, Record, Value};
use trace_manager::Notice;
use trace_runtime::trace_duration;

use crate::Recording;

pub(crate) const PROGRAM: &str = "latency";

/// Scopes that are too long.
const COUNT: usize = 500;
const LIMIT: Duration = Duration::from_millis(1);
/// Scopes before each of them, which fill the buffer.
const OTHERS: u64 = 50_000;

/// The program: ends a scope that is too long for each line that it reads, and prints the time.
pub(crate) fn raise() {
    let _trace = trace_runtime::init();
    for _line in std::io::stdin().lines() {
        for _ in 0..OTHERS {
            trace_duration!("bench", "other");
        }
        {
            trace_duration!("bench", "long");
            let begin = Instant::now();
            // The clocks of both may differ by some nanoseconds.
            while begin.elapsed() <= LIMIT + LIMIT / 10 {
                std::hint::spin_loop();
            }
        }
        println!("{}", monotonic_nanos());
    }
}

/// Nanoseconds of snapshots.
#[derive(Default)]
struct Times {
    copied: Vec<u64>,
    complete: Vec<u64>,
}

/// Prints the table.
pub(crate) fn print() {
    println!(
        "| buffer, MiB | snapshots | until | median, ms | P99, ms | longest, ms | file, KiB |"
    );
    println!("|---|---|---|---|---|---|---|");
    for mebibytes in [1, 16] {
        let (Times { copied, complete }, bytes) = measure(mebibytes << 20);
        let kibibytes = bytes >> 10;
        for (until, mut nanos) in [("copy", copied), ("complete file", complete)] {
            nanos.sort_unstable();
            let at = |share: usize| nanos[(nanos.len() - 1) * share / 100] as f64 / 1e6;
            let (median, late, longest) = (at(50), at(99), at(100));
            let count = nanos.len();
            println!(
                "| {mebibytes} | {count} | {until} | {median:.2} | {late:.2} | {longest:.2} | \
                 {kibibytes} |"
            );
        }
    }
}

/// Returns the times of each snapshot, and the size of the last one.
fn measure(buffer_size: u64) -> (Times, u64) {
    let recording = Recording::start(buffer_size, &["duration:bench/long>1ms"]);
    let mut program = recording.program(PROGRAM);
    let mut input = program.stdin.take().expect("a pipe");
    let mut lines = BufReader::new(program.stdout.take().expect("a pipe")).lines();
    let (mut times, mut size) = (Times::default(), 0);
    for _ in 0..COUNT {
        writeln!(input).expect("the program reads");
        let (path, bytes) = wait_snapshot(&recording);
        let complete = monotonic_nanos();
        let line = lines.next().expect("the program prints").expect("a line");
        let end: u64 = line.parse().expect("a time");
        times.complete.push(complete.saturating_sub(end));
        times.copied.push(copied_at(&path).saturating_sub(end));
        size = bytes;
    }
    drop(input);
    program.wait().expect("the program ends");
    recording.end();
    (times, size)
}

/// Waits until a snapshot is complete. Returns its path and its size in bytes.
fn wait_snapshot(recording: &Recording) -> (PathBuf, u64) {
    loop {
        let notice = recording.session.next_notice(Duration::from_secs(10));
        if let Notice::Snapshot { path, result, .. } = notice.expect("a snapshot within 10 s") {
            return (path, result.expect("a snapshot"));
        }
    }
}

/// Returns when the buffer was copied, in nanoseconds: the manager reads the clocks of the last
/// anchor directly after the copy.
fn copied_at(snapshot: &Path) -> u64 {
    let file = File::open(snapshot).expect("the newest snapshot is kept");
    let mut reader = Reader::new(BufReader::new(file));
    let mut last = None;
    while let Some(item) = reader.next().expect("a well-formed snapshot") {
        let Record::Event(event) = &item.record else { continue };
        if item.text(event.name) == notes::CLOCK_ANCHOR {
            let named = |name| event.arguments.iter().find(|it| item.text(it.name) == name);
            last = match named("monotonic_ns").map(|it| it.value) {
                Some(Value::Uint64(nanos)) => Some(nanos),
                other => panic!("expected the clock of an anchor, found {other:?}"),
            };
        }
    }
    last.expect("a snapshot has anchors")
}

fn monotonic_nanos() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
