//! Work whose length is known, beside work that is always the same.

use std::hint::black_box;

use trace_runtime::trace_duration;

/// How often it works.
const TIMES: u64 = 1_000;
/// The rounds of the work that is always the same.
const ALWAYS: u64 = 5_000;

/// Works for `rounds` rounds, and for the same time as always, again and again.
pub(crate) fn work(rounds: u64) {
    let _trace = crate::init();
    for _ in 0..TIMES {
        trace_duration!("work", "whole");
        {
            trace_duration!("work", "always the same");
            turn(ALWAYS);
        }
        trace_duration!("work", "as long as told");
        turn(rounds);
    }
}

fn turn(rounds: u64) {
    for round in 0..rounds {
        black_box(round);
    }
}
