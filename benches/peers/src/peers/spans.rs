//! The loops of all listeners of `tracing`.

use std::hint::black_box;

use tracing::{trace, trace_span};

pub fn scope(n: u64) {
    for i in 0..n {
        let _span = trace_span!("scope").entered();
        black_box(i);
    }
}

pub fn scope_args(n: u64) {
    for i in 0..n as i64 {
        let _span = trace_span!("scope", value = i, text = "short").entered();
        black_box(i);
    }
}

pub fn instant(n: u64) {
    for i in 0..n {
        trace!("instant");
        black_box(i);
    }
}
