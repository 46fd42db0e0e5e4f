//! Context switches of two threads that wake up each other through sockets, on one CPU.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Instant;

use trace_format::{Reader, Record};

use crate::process;
use crate::raw::{RawTrace, SCHED};
use crate::recording::Recording;

/// The round trips of a run: two switches each.
const ROUNDS: u64 = 100_000;
const RUNS: usize = 5;

/// The events of `--sched`.
const CATEGORIES: &str = "kernel:sched,kernel:tasks";

/// Prints the time of all round trips in nanoseconds.
pub(crate) fn run(rounds: u64) {
    // The reader of the events has the other CPU.
    let mut cpus = rustix::process::CpuSet::new();
    cpus.set(0);
    rustix::process::sched_setaffinity(None, &cpus).expect("CPU 0 is allowed");
    let (mut own, mut theirs) = UnixStream::pair().expect("a pair of sockets");
    let echo = std::thread::spawn(move || {
        let mut byte = [0];
        while theirs.read(&mut byte).expect("a socket") == 1 {
            theirs.write_all(&byte).expect("a socket");
        }
    });
    let (start, mut byte) = (Instant::now(), [1]);
    for _ in 0..rounds {
        own.write_all(&byte).expect("a socket");
        own.read_exact(&mut byte).expect("a socket");
    }
    println!("{}", start.elapsed().as_nanos());
    drop(own);
    echo.join().expect("the thread ends");
}

/// Prints the table.
pub(crate) fn print() {
    let measure =
        || process::numbers(&format!("switches {ROUNDS}"))[0] as f64 / ROUNDS as f64 / 2.0;
    let mut best = [f64::MAX; 3];
    let mut sizes = String::new();
    for _ in 0..RUNS {
        let plain = measure();
        let raw = RawTrace::start(&SCHED);
        let with_raw = measure();
        raw.end();
        let recording = Recording::start(CATEGORIES);
        let with_trace = measure();
        let recorded = recording.end();
        assert_eq!((recorded.dropped, recorded.lost), (0, 0), "nothing is lost");
        sizes = describe(&recorded.archive);
        for (best, found) in best.iter_mut().zip([plain, with_raw, with_trace]) {
            *best = best.min(found);
        }
    }
    let [plain, raw, trace] = best;
    println!("## Switches through sockets, best of {RUNS}\n");
    println!("| recorder | a switch, ns | added, ns | against raw tracefs |\n|---|---|---|---|");
    println!("| none | {plain:.0} | | |");
    println!("| raw tracefs | {raw:.0} | {:.0} | 100 % |", raw - plain);
    println!("| trace | {trace:.0} | {:.0} | {:.1} % |", trace - plain, trace / raw * 100.0);
    println!("\n{sizes}");
}

/// Returns a table of the bytes of an archive.
fn describe(archive: &Path) -> String {
    let bytes = fs::read(archive).expect("the archive");
    let mut reader = Reader::new(&bytes[..]);
    let (mut switches, mut wakeups) = (0_u64, 0_u64);
    while let Some(item) = reader.next().expect("the archive is well-formed") {
        match item.record {
            Record::ContextSwitch(_) => switches += 1,
            Record::ThreadWakeup(_) => wakeups += 1,
            _ => {}
        }
    }
    let compressed = zstd::encode_all(&bytes[..], 3).expect("memory is written").len();
    let each = |bytes: usize| bytes as f64 / switches as f64;
    format!(
        "| switches | wake-ups | archive, bytes a switch | with zstd, bytes a switch |\n\
         |---|---|---|---|\n| {switches} | {wakeups} | {:.1} | {:.1} |",
        each(bytes.len()),
        each(compressed)
    )
}
