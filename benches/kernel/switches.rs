//! Context switches of two threads that wake up each other through sockets, on one CPU.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Instant;

use trace_format::{Reader, Record};

use crate::perf;
use crate::process;
use crate::raw::{RawTrace, SCHED};
use crate::recording::Recording;

/// The round trips of a run: two switches each.
const ROUND_TRIPS: u64 = 100_000;

/// The rounds, in which each recorder has a run after the other: the machine may be slower in some.
const ROUNDS: usize = 15;

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

/// The times of a switch in one round in nanoseconds.
struct Round {
    plain: f64,
    raw: f64,
    trace: f64,
    /// `None` if perf does not work here.
    perf: Option<f64>,
}

/// Prints the tables.
pub(crate) fn print() {
    let has_perf = perf::works();
    let (mut rounds, mut sizes) = (Vec::new(), String::new());
    for _ in 0..ROUNDS {
        let (round, of_archive) = round(has_perf);
        rounds.push(round);
        sizes = of_archive;
    }
    let best = |of: &dyn Fn(&Round) -> f64| rounds.iter().map(of).fold(f64::MAX, f64::min);
    let (plain, raw, trace) = (best(&|it| it.plain), best(&|it| it.raw), best(&|it| it.trace));
    println!("## Switches through sockets, best of {ROUNDS}\n");
    println!("| recorder | a switch, ns | added, ns | against raw tracefs |\n|---|---|---|---|");
    println!("| none | {plain:.0} | | |");
    let row = |name: &str, time: f64| {
        println!("| {name} | {time:.0} | {:.0} | {:.1} % |", time - plain, time / raw * 100.0);
    };
    row("raw tracefs", raw);
    row("trace", trace);
    if has_perf {
        row("perf record", best(&|it| it.perf.unwrap_or(f64::MAX)));
    }
    println!(
        "\n| against raw tracefs in the same round | least | median | most |\n|---|---|---|---|"
    );
    print_ratios("trace", rounds.iter().map(|it| it.trace / it.raw).collect());
    if has_perf {
        let ratios = rounds.iter().filter_map(|it| Some(it.perf? / it.raw));
        print_ratios("perf record", ratios.collect());
    }
    println!("\n{sizes}");
}

/// Prints a row with the spread of ratios.
fn print_ratios(name: &str, mut ratios: Vec<f64>) {
    ratios.sort_by(f64::total_cmp);
    let percent = |place: usize| ratios[place] * 100.0;
    let (least, median, most) = (percent(0), percent(ratios.len() / 2), percent(ratios.len() - 1));
    println!("| {name} | {least:.1} % | {median:.1} % | {most:.1} % |");
}

/// Measures a run without a recorder, and one with each. Returns the table of the archive, too.
fn round(has_perf: bool) -> (Round, String) {
    let role = format!("switches {ROUND_TRIPS}");
    let each = |numbers: Vec<u64>| numbers[0] as f64 / ROUND_TRIPS as f64 / 2.0;
    let plain = each(process::numbers(&role));
    let instance = RawTrace::start(&SCHED);
    let raw = each(process::numbers(&role));
    instance.end();
    let recording = Recording::start(CATEGORIES);
    let trace = each(process::numbers(&role));
    let recorded = recording.end();
    assert_eq!((recorded.dropped, recorded.lost), (0, 0), "nothing is lost");
    let perf = has_perf.then(|| each(perf::numbers(&role)));
    (Round { plain, raw, trace, perf }, describe(&recorded.archive))
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
