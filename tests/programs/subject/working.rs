//! Work of a selected length, beside work of a fixed length.

use std::hint::black_box;

use trace_runtime::trace_duration;

/// The number of repetitions.
const TIMES: u64 = 1_000;
/// The rounds of the fixed work.
const ALWAYS: u64 = 5_000;

/// Repeats work of `rounds` rounds and work of a fixed length.
pub(crate) fn work(rounds: u64) {
    let _trace = crate::init();
    for _ in 0..TIMES {
        trace_duration!("work", "whole");
        {
            trace_duration!("work", "always the same");
            turn(ALWAYS);
        }
        trace_duration!("work", "selected length");
        turn(rounds);
    }
}

fn turn(rounds: u64) {
    for round in 0..rounds {
        black_box(round);
    }
}
