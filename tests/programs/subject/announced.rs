//! Scopes in which instructions are traced.

use std::hint::black_box;

use trace_runtime::trace_duration;

/// Traces this number of requests. Some have an argument, and some a request inside.
pub(crate) fn run(requests: u64) {
    let _trace = crate::init();
    for number in 0..requests {
        outside();
        match number % 3 {
            0 => {
                trace_duration!("web", "request");
                inside(number);
            }
            1 => {
                trace_duration!("web", "request", "number" => number);
                inside(number);
            }
            _ => {
                trace_duration!("web", "request");
                {
                    trace_duration!("web", "request");
                }
                trace_duration!("web", "part");
                inside(number);
            }
        }
        trace_duration!("web", "other");
        outside();
    }
}

#[inline(never)]
fn inside(number: u64) {
    black_box(number);
}

/// Far too many instructions for single steps.
#[inline(never)]
fn outside() {
    for number in 0..1_000_000_u64 {
        black_box(number);
    }
}
