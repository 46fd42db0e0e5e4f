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
    /// What delayed each copy.
    delays: Vec<Delay>,
}

/// What can delay a copy, from its request to the complete snapshot.
#[derive(Debug, Clone, Copy, Default)]
struct Delay {
    /// Page faults of the manager's event loop.
    faults: u64,
    /// Nanoseconds for which the event loop could run, and had no processor.
    waited: u64,
    /// The same of the program's service thread, which reports the scope.
    service_waited: u64,
}

impl Delay {
    /// Returns the counts so far.
    fn of(program: u32) -> Self {
        let event_loop = task_named(std::process::id(), "trace-manager");
        Self {
            faults: field(&event_loop, "stat", 9),
            waited: field(&event_loop, "schedstat", 1),
            service_waited: field(&task_named(program, "trace-service"), "schedstat", 1),
        }
    }

    fn since(self, earlier: Self) -> Self {
        Self {
            faults: self.faults - earlier.faults,
            waited: self.waited - earlier.waited,
            service_waited: self.service_waited - earlier.service_waited,
        }
    }
}

/// Returns the directory of a thread in `/proc`. Waits until there is one of this name.
fn task_named(process: u32, name: &str) -> PathBuf {
    let is_named = |task: &PathBuf| {
        std::fs::read_to_string(task.join("comm")).is_ok_and(|found| found.trim_end() == name)
    };
    loop {
        let tasks = std::fs::read_dir(format!("/proc/{process}/task")).expect("it runs");
        let mut tasks = tasks.filter_map(|task| Some(task.ok()?.path()));
        if let Some(task) = tasks.find(is_named) {
            return task;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Returns a number of a file of a thread. The names of these threads have no space.
fn field(task: &Path, file: &str, index: usize) -> u64 {
    let text = std::fs::read_to_string(task.join(file)).expect("it runs");
    let field = text.split_whitespace().nth(index).expect("a field");
    field.parse().expect("a number")
}

/// Prints the table.
pub(crate) fn print() {
    println!(
        "| buffer, MiB | snapshots | until | median, ms | P99, ms | longest, ms | file, KiB |"
    );
    println!("|---|---|---|---|---|---|---|");
    for mebibytes in [1, 16] {
        let (Times { copied, complete, delays }, bytes) = measure(mebibytes << 20);
        let kibibytes = bytes >> 10;
        let slowest = slowest(&copied, &delays);
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
        println!("\nThe slowest copies of {mebibytes} MiB:\n");
        println!("| ms | page faults | event loop waited, ms | service thread waited, ms |");
        println!("|---|---|---|---|");
        for (nanos, Delay { faults, waited, service_waited }) in slowest {
            let ms = [nanos, waited, service_waited].map(|it| it as f64 / 1e6);
            println!("| {:.2} | {faults} | {:.2} | {:.2} |", ms[0], ms[1], ms[2]);
        }
        println!();
    }
}

/// Returns the slowest two in a hundred copies, and one in the middle, with what delayed them.
fn slowest(copied: &[u64], delays: &[Delay]) -> Vec<(u64, Delay)> {
    let mut all: Vec<_> = copied.iter().copied().zip(delays.iter().copied()).collect();
    all.sort_by_key(|(nanos, _)| std::cmp::Reverse(*nanos));
    let middle = all[all.len() / 2];
    all.into_iter().take(COUNT / 50).chain([middle]).collect()
}

/// Returns the times of each snapshot, and the size of the last one.
fn measure(buffer_size: u64) -> (Times, u64) {
    let recording = Recording::start(buffer_size, &["duration:bench/long>1ms"]);
    let mut program = recording.program(PROGRAM);
    let mut input = program.stdin.take().expect("a pipe");
    let mut lines = BufReader::new(program.stdout.take().expect("a pipe")).lines();
    let (mut times, mut size) = (Times::default(), 0);
    for _ in 0..COUNT {
        let before = Delay::of(program.id());
        writeln!(input).expect("the program reads");
        let (path, bytes) = wait_snapshot(&recording);
        let complete = monotonic_nanos();
        times.delays.push(Delay::of(program.id()).since(before));
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
