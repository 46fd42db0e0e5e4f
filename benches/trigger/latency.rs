//! The time from the end of a scope that is too long to the complete snapshot.

use std::io::{BufRead, BufReader, Write};
use std::time::{Duration, Instant};

use rustix::time::{clock_gettime, ClockId};
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

/// Prints the table.
pub(crate) fn print() {
    println!("| buffer, MiB | snapshots | median, ms | P99, ms | longest, ms | KiB |");
    println!("|---|---|---|---|---|---|");
    for mebibytes in [1, 16] {
        let (mut nanos, bytes) = measure(mebibytes << 20);
        nanos.sort_unstable();
        let at = |share: usize| nanos[(nanos.len() - 1) * share / 100] as f64 / 1e6;
        let (median, late, longest) = (at(50), at(99), at(100));
        let (count, kibibytes) = (nanos.len(), bytes >> 10);
        println!(
            "| {mebibytes} | {count} | {median:.2} | {late:.2} | {longest:.2} | {kibibytes} |"
        );
    }
}

/// Returns the nanoseconds of each snapshot, and the size of the last one.
fn measure(buffer_size: u64) -> (Vec<u64>, u64) {
    let recording = Recording::start(buffer_size, &["duration:bench/long>1ms"]);
    let mut program = recording.program(PROGRAM);
    let mut input = program.stdin.take().expect("a pipe");
    let mut lines = BufReader::new(program.stdout.take().expect("a pipe")).lines();
    let (mut nanos, mut bytes) = (Vec::new(), 0);
    for _ in 0..COUNT {
        writeln!(input).expect("the program reads");
        bytes = wait_snapshot(&recording);
        let complete = monotonic_nanos();
        let line = lines.next().expect("the program prints").expect("a line");
        nanos.push(complete.saturating_sub(line.parse().expect("a time")));
    }
    drop(input);
    program.wait().expect("the program ends");
    recording.end();
    (nanos, bytes)
}

/// Waits until a snapshot is complete. Returns its size in bytes.
fn wait_snapshot(recording: &Recording) -> u64 {
    loop {
        let notice = recording.session.next_notice(Duration::from_secs(10));
        if let Notice::Snapshot { result, .. } = notice.expect("a snapshot within 10 s") {
            return result.expect("a snapshot");
        }
    }
}

fn monotonic_nanos() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
