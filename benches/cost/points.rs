//! The loops that are measured. Each is a function of its own, so that one does not disturb another.

use std::hint::black_box;

use trace_runtime::{trace_counter, trace_duration, trace_fn, trace_instant};

/// A loop over one trace point, `count` times.
pub(crate) type Loop = fn(count: u64);

#[inline(never)]
pub(crate) fn empty(count: u64) {
    for round in 0..count {
        black_box(round);
    }
}

#[inline(never)]
pub(crate) fn clock(count: u64) {
    for _ in 0..count {
        black_box(crate::measure::raw_clock());
    }
}

#[inline(never)]
pub(crate) fn off(count: u64) {
    for round in 0..count {
        trace_duration!("off", "scope");
        black_box(round);
    }
}

#[inline(never)]
pub(crate) fn off_with_arguments(count: u64) {
    for round in 0..count {
        trace_duration!("off", "scope", "number" => round as i64, "text" => "short");
        black_box(round);
    }
}

#[inline(never)]
pub(crate) fn scope(count: u64) {
    for round in 0..count {
        trace_duration!("bench", "scope");
        black_box(round);
    }
}

#[trace_fn(category = "bench")]
#[inline(never)]
fn traced_function(round: u64) {
    black_box(round);
}

#[inline(never)]
fn function(round: u64) {
    black_box(round);
}

#[inline(never)]
pub(crate) fn call(count: u64) {
    for round in 0..count {
        function(round);
    }
}

#[inline(never)]
pub(crate) fn attribute(count: u64) {
    for round in 0..count {
        traced_function(round);
    }
}

#[inline(never)]
pub(crate) fn scope_with_arguments(count: u64) {
    for round in 0..count {
        trace_duration!("bench", "scope with arguments", "number" => round as i64, "text" => black_box("short"));
        black_box(round);
    }
}

#[inline(never)]
pub(crate) fn instant(count: u64) {
    for _ in 0..count {
        trace_instant!("bench", "instant");
    }
}

#[inline(never)]
pub(crate) fn counter(count: u64) {
    for round in 0..count {
        trace_counter!("bench", "counter", 0, "value" => round as i64);
    }
}
