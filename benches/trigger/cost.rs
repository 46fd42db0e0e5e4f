//! The cost of a scope with a condition and without.

use std::hint::black_box;

use rustix::time::{clock_gettime, ClockId};
use trace_runtime::trace_duration;

use crate::Recording;

pub(crate) const PROGRAM: &str = "cost";

/// Scopes in a loop.
const COUNT: u64 = 20_000;
/// Repetitions of each loop; the fastest counts.
const REPETITIONS: usize = 60;
/// Programs with the conditions, and without; the fastest counts.
const PROGRAMS: usize = 5;
const BUFFER: u64 = 64 << 20;

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

/// The program: prints the nanoseconds of a scope that the session's condition does not name, and
/// of one that it names.
pub(crate) fn measure() {
    let _trace = trace_runtime::init();
    let mut fastest = [f64::MAX; 3];
    for _ in 0..REPETITIONS {
        for (run, fastest) in [empty, plain, compared].into_iter().zip(&mut fastest) {
            *fastest = fastest.min(nanos(run));
        }
    }
    println!("{} {}", fastest[1] - fastest[0], fastest[2] - fastest[0]);
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

/// Prints the table. Sessions with and without the condition take turns.
pub(crate) fn print() {
    let sessions: [&[&str]; 2] = [&[], &["duration:bench/compared>1h"]];
    let mut fastest = [[f64::MAX; 2]; 2];
    for _ in 0..PROGRAMS {
        for (triggers, fastest) in sessions.into_iter().zip(&mut fastest) {
            for (least, nanos) in fastest.iter_mut().zip(run(triggers)) {
                *least = least.min(nanos);
            }
        }
    }
    let [[without, other], [elsewhere, compared]] = fastest;
    println!("| a scope, in a session | ns |\n|---|---|");
    println!("| without a condition | {:.1} |", without.min(other));
    println!("| with a condition for another name | {elsewhere:.1} |");
    println!("| with a condition for this name, which does not hold | {compared:.1} |\n");
}

/// Returns what the program prints in a session with these triggers.
fn run(triggers: &[&str]) -> [f64; 2] {
    let recording = Recording::start(BUFFER, triggers);
    let program = recording.program(PROGRAM);
    let output = program.wait_with_output().expect("the program ends");
    recording.end();
    let text = String::from_utf8(output.stdout).expect("numbers");
    let mut numbers = text.split_whitespace().map(|word| word.parse().expect("a number"));
    std::array::from_fn(|_| numbers.next().expect("two numbers"))
}
