//! Loops over rarely used trace points.

use std::hint::black_box;

use trace_runtime::{trace_async_begin, trace_nonce, trace_userspace_object, Pointer};

#[inline(never)]
pub(crate) fn async_begin(count: u64) {
    for round in 0..count {
        trace_async_begin!("bench", "async", round);
    }
}

#[inline(never)]
pub(crate) fn object(count: u64) {
    for round in 0..count {
        trace_userspace_object!(Pointer(round), "object");
    }
}

#[inline(never)]
pub(crate) fn nonce(count: u64) {
    for _ in 0..count {
        black_box(trace_nonce!());
    }
}
