//! The cost of a scope, and of a traced future, with a condition and without.

use std::future::{ready, Future};
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Waker};

use rustix::time::{clock_gettime, ClockId};
use trace_runtime::{trace_duration, trace_future_args, TraceFutureExt};

use crate::Recording;

pub(crate) const PROGRAM: &str = "cost";

/// Scopes in a loop.
const COUNT: u64 = 20_000;
/// Repetitions of each loop; the fastest counts.
const REPETITIONS: usize = 60;
/// Programs with the conditions, and without; the fastest counts.
const PROGRAMS: usize = 5;
const BUFFER: u64 = 64 << 20;
/// The numbers that the program prints.
const COLUMNS: usize = 4;

#[inline(never)]
fn empty(count: u64) {
    for round in 0..count {
        black_box(round);
    }
}

#[inline(never)]
fn plain(count: u64) {
    for round in 0..count {
        trace_duration!("bench", "plain");
        black_box(round);
    }
}

#[inline(never)]
fn compared(count: u64) {
    for round in 0..count {
        trace_duration!("bench", "compared");
        black_box(round);
    }
}

#[inline(never)]
fn future_plain(count: u64) {
    for round in 0..count {
        poll(ready(round).trace(trace_future_args!("bench", "future plain")));
    }
}

#[inline(never)]
fn future_compared(count: u64) {
    for round in 0..count {
        poll(ready(round).trace(trace_future_args!("bench", "future compared")));
    }
}

fn poll(future: impl Future<Output = u64>) {
    let _ready = black_box(pin!(future).poll(&mut Context::from_waker(Waker::noop())));
}

/// The program: prints the nanoseconds of a scope that the session's condition does not name, and
/// of one that it names, and then of futures with one poll.
pub(crate) fn measure() {
    let _trace = trace_runtime::init();
    let mut fastest = [f64::MAX; 1 + COLUMNS];
    let loops = [empty, plain, compared, future_plain, future_compared];
    for _ in 0..REPETITIONS {
        for (run, fastest) in loops.into_iter().zip(&mut fastest) {
            *fastest = fastest.min(nanos(run));
        }
    }
    let [empty, traced @ ..] = fastest;
    println!("{}", traced.map(|nanos| (nanos - empty).to_string()).join(" "));
}

/// Returns the CPU time of a loop's round.
fn nanos(run: fn(u64)) -> f64 {
    let start = thread_nanos();
    run(COUNT);
    (thread_nanos() - start) as f64 / COUNT as f64
}

fn thread_nanos() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Prints the table. Sessions with and without the conditions take turns.
pub(crate) fn print() {
    let sessions: [&[&str]; 2] =
        [&[], &["duration:bench/compared>1h", "duration:bench/future compared>1h"]];
    let mut fastest = [[f64::MAX; COLUMNS]; 2];
    for _ in 0..PROGRAMS {
        for (triggers, fastest) in sessions.into_iter().zip(&mut fastest) {
            for (least, nanos) in fastest.iter_mut().zip(run(triggers)) {
                *least = least.min(nanos);
            }
        }
    }
    let [without, with] = fastest;
    println!("| in a session | a scope, ns | a future with one poll, ns |\n|---|---|---|");
    let row = |text, scope: f64, future: f64| println!("| {text} | {scope:.1} | {future:.1} |");
    row("without a condition", without[0].min(without[1]), without[2].min(without[3]));
    row("with a condition for another name", with[0], with[2]);
    row("with a condition for this name, which does not hold", with[1], with[3]);
    println!();
}

/// Returns what the program prints in a session with these triggers.
fn run(triggers: &[&str]) -> [f64; COLUMNS] {
    let recording = Recording::start(BUFFER, triggers);
    let program = recording.program(PROGRAM);
    let output = program.wait_with_output().expect("the program ends");
    recording.end();
    let text = String::from_utf8(output.stdout).expect("numbers");
    let mut numbers = text.split_whitespace().map(|word| word.parse().expect("a number"));
    std::array::from_fn(|_| numbers.next().expect("a number for each column"))
}
