//! Functions that are called a known number of times, for probes of functions.

use std::hint::black_box;
use std::panic::{catch_unwind, resume_unwind};

use trace_runtime::trace_duration;

/// Calls each function: a recursive one, which calls a leaf, within a scope, and one that unwinds
/// outside of it.
pub(crate) fn run(calls: u64, depth: u64) {
    let _trace = crate::init();
    for call in 0..calls {
        {
            trace_duration!("called", "call", "number" => call);
            black_box(recursive(black_box(depth)));
        }
        let unwinds = catch_unwind(|| unwound(black_box(call))).is_err();
        assert!(unwinds);
    }
}

#[inline(never)]
fn recursive(depth: u64) -> u64 {
    match depth {
        0 => leaf(black_box(1)),
        // Not a jump: the sum is made after the return.
        _ => black_box(recursive(black_box(depth - 1))) + depth,
    }
}

#[inline(never)]
fn leaf(number: u64) -> u64 {
    black_box(number) + 1
}

#[inline(never)]
fn unwound(call: u64) -> u64 {
    if black_box(call) < u64::MAX {
        resume_unwind(Box::new(()));
    }
    call
}
