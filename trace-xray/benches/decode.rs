//! Measures how many records are decoded, and converted to calls and to text, per second. Prints
//! the best of several runs, and, if `llvm-xray-19` is installed, how many that converts, which
//! also prints them as text.
//!
//! ```sh
//! cargo bench -p trace-xray
//! ```

use std::fs::File;
use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};

use trace_xray::calls::CallStacks;
use trace_xray::layout::{Action, Version};
use trace_xray::map::{Map, Names};
use trace_xray::read::{Ordered, Reader};
use trace_xray::write::{Anchor, Log, Stamp};
use trace_xray::{yaml, Format, FunctionId, Header};

/// Calls in the log, each with two records.
const CALLS: u64 = 8_000_000;
const THREADS: i32 = 8;
const RUNS: usize = 7;

fn main() {
    // `cargo test` only compiles it.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let log = log(CALLS, 1);
    let records = 2 * CALLS;
    println!(
        "{:>8} MB log, {:>3} million function records",
        log.len() / 1_000_000,
        records / 1_000_000
    );
    report("Reader", records, || {
        let mut reader = Reader::new(&log[..]);
        let mut sum = 0;
        while let Some(item) = reader.next().expect("the log is valid") {
            sum ^= black_box(item.tsc());
        }
        black_box(sum);
        reader.stats().records
    });
    report("Reader and calls", records, || {
        let mut reader = Reader::new(&log[..]);
        let mut stacks = CallStacks::default();
        while let Some(item) = reader.next().expect("the log is valid") {
            black_box(stacks.step(&item));
        }
        reader.stats().records
    });
    report_files();
    if let Some(rate) = llvm() {
        println!(
            "{rate:>8.3} million records/s  {:>6.1} ns a record  llvm-xray convert, with its text",
            1e3 / rate
        );
    }
}

/// Prints the rates of what commands do: they read a file of several threads in the order of time.
fn report_files() {
    let directory = tempfile::tempdir().expect("files can be written");
    let path = directory.path().join("log.xray");
    std::fs::write(&path, log(CALLS, THREADS)).expect("files can be written");
    let ordered = || Ordered::new(File::open(&path).expect("the file is there")).expect("a log");
    let records = 2 * CALLS;
    report("Ordered, of a file of eight threads", records, || {
        let (mut ordered, mut read) = (ordered(), 0);
        while let Some(item) = ordered.next().expect("the log is valid") {
            black_box(item.tsc());
            read += 1;
        }
        read
    });
    report("Ordered, as YAML", records, || {
        let (mut names, damage) = (Names::new(Map::default()), |error: &_| panic!("{error}"));
        let output = std::io::BufWriter::new(std::io::sink());
        let counts = yaml::write(ordered(), &mut names, Version::V1, output, damage);
        counts.expect("the log is valid").functions
    });
}

/// Returns how many million records `llvm-xray convert` converts per second, or `None` if it is not
/// installed, or the difference is too small to measure. Of two logs, so that its start does not
/// count.
fn llvm() -> Option<f64> {
    let directory = tempfile::tempdir().expect("files can be written");
    let path = directory.path().join("log.xray");
    let time = |calls| {
        std::fs::write(&path, log(calls, 1)).expect("files can be written");
        let run = || {
            let mut convert = Command::new("llvm-xray-19");
            convert.args(["convert", "-f", "yaml", "-o", "/dev/null"]).arg(&path);
            let start = Instant::now();
            let status = convert.status().ok()?;
            assert!(status.success(), "{status}");
            Some(start.elapsed())
        };
        (0..3).map(|_| run()).min()?
    };
    let (few, many) = (time(CALLS / 64)?, time(CALLS / 16)?);
    let records = 2 * (CALLS / 16 - CALLS / 64);
    let time = many.checked_sub(few).filter(|time| !time.is_zero())?;
    Some(records as f64 / time.as_secs_f64() / 1e6)
}

/// A log of nested calls of some threads in turns, in thread buffers of 256 KiB.
fn log(calls: u64, threads: i32) -> Vec<u8> {
    let header = Header {
        format: Format::little(Version::V5),
        constant_tsc: true,
        nonstop_tsc: true,
        cycle_frequency: 2_000_000_000,
        buffer_size: 256 << 10,
        map_id: 0,
    };
    let anchor = Anchor { tsc: 0, time: Duration::ZERO };
    let mut log = Log::new(Vec::new(), header, anchor).expect("memory can be written");
    let mut threads: Vec<_> = (1..=threads).map(|thread| log.thread(1, thread)).collect();
    let number_of_threads = threads.len();
    let mut tsc = 0;
    for number in 0..calls / 4 {
        let thread = &mut threads[number as usize % number_of_threads];
        let mut add = |action, number: u64| {
            tsc += 30;
            let function = FunctionId::from_bits(number);
            let at = Stamp { tsc, cpu: 0 };
            log.function(thread, at, action, function).expect("memory can be written");
        };
        let functions = [1, 2, 3 + number % 100, 200];
        functions.iter().for_each(|function| add(Action::Entry, *function));
        functions.iter().rev().for_each(|function| add(Action::Exit, *function));
    }
    threads.iter_mut().for_each(|it| log.write(it).expect("memory can be written"));
    log.into_inner()
}

/// Prints the rate of the best run.
fn report(name: &str, records: u64, run: impl Fn() -> u64) {
    let time = || {
        let start = Instant::now();
        assert!(black_box(run()) >= records);
        start.elapsed()
    };
    let best = (0..RUNS).map(|_| time()).min().unwrap_or_default();
    let rate = records as f64 / best.as_secs_f64() / 1e6;
    println!("{rate:>8.1} million records/s  {:>6.2} ns a record  {name}", 1e3 / rate);
}
