//! Compares the cost of trace points in C with that of the same ones in Rust: minima over
//! interleaved repetitions in one process.

use std::hint::black_box;

use trace_runtime::{trace_duration, trace_instant};

use crate::parts;

/// Trace points in a loop.
const COUNT: u64 = 20_000;
/// Repetitions of each loop; the fastest is reported.
const REPETITIONS: usize = 100;

type Loop = fn(u64);

const LOOPS: [(&str, Loop, Loop); 4] = [
    ("scope", parts::cost_scope, scope),
    ("scope, one i64 and one short text", parts::cost_scope_with_arguments, scope_with_arguments),
    ("instant", parts::cost_instant, instant),
    ("off, with an argument", parts::cost_off, off),
];

#[inline(never)]
fn scope(count: u64) {
    for round in 0..count {
        trace_duration!("cost", "scope");
        black_box(round);
    }
}

#[inline(never)]
fn scope_with_arguments(count: u64) {
    for round in 0..count {
        trace_duration!("cost", "scope with arguments", "number" => round as i64, "text" => black_box("short"));
        black_box(round);
    }
}

#[inline(never)]
fn instant(count: u64) {
    for _ in 0..count {
        trace_instant!("cost", "instant");
    }
}

#[inline(never)]
fn off(count: u64) {
    for round in 0..count {
        trace_duration!("off", "scope", "number" => round as i64);
        black_box(round);
    }
}

/// Measures and prints a table.
pub(crate) fn print() {
    let path = std::env::temp_dir().join(format!("trace-from-c-{}.fxt", std::process::id()));
    let builder = trace_runtime::builder().output(&path).buffer_size(64 << 20).circular();
    let trace = builder.categories(["*", "-off"]).init();
    let mut minima = [[f64::MAX; 2]; LOOPS.len()];
    for _ in 0..REPETITIONS {
        for ((_, c, rust), [in_c, in_rust]) in LOOPS.iter().zip(&mut minima) {
            *in_c = in_c.min(time(*c));
            *in_rust = in_rust.min(time(*rust));
        }
    }
    drop(trace);
    let _removed = std::fs::remove_file(&path);
    println!("| what | C, ns | Rust, ns | C against Rust |\n|---|---|---|---|");
    for ((what, ..), [in_c, in_rust]) in LOOPS.iter().zip(minima) {
        println!("| {what} | {in_c:.2} | {in_rust:.2} | {:.2} × |", in_c / in_rust);
    }
}

/// Nanoseconds of this thread's CPU time for one trace point.
fn time(run: Loop) -> f64 {
    let start = thread_cpu_nanos();
    run(COUNT);
    (thread_cpu_nanos() - start) as f64 / COUNT as f64
}

fn thread_cpu_nanos() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` can be written to.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
