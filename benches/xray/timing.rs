//! The measurement that the programs share. It uses the standard library only.

use std::hint::black_box;
use std::time::Instant;

/// Calls of a repetition. A few milliseconds: some repetitions run without an interruption.
const CALLS: u64 = 50_000;
/// Repetitions; the fastest counts.
const REPETITIONS: usize = 100;

/// Prints the nanoseconds of a call and of a clock read.
#[inline(always)]
pub(crate) fn print(target: impl Fn(u64) -> u64) {
    let call = best(|| (0..CALLS).fold(0, |sum, number| sum ^ target(number)));
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction.
    let clock = best(|| (0..CALLS).fold(0, |sum, _| sum ^ unsafe { std::arch::x86_64::_rdtsc() }));
    #[cfg(not(target_arch = "x86_64"))]
    let clock = f64::NAN;
    println!("call {call:.2} ns, clock read {clock:.2} ns");
}

#[inline(always)]
fn best(run: impl Fn() -> u64) -> f64 {
    let nanoseconds = (0..REPETITIONS).map(|_| {
        let begin = Instant::now();
        black_box(run());
        begin.elapsed().as_nanos() as f64 / CALLS as f64
    });
    nanoseconds.fold(f64::MAX, f64::min)
}
