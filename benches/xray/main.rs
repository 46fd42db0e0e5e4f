//! Calls of a function with `#[trace_fn]`, for `benches/xray/run`.

mod timing;

use trace_runtime::trace_fn;

#[trace_fn(category = "bench")]
#[inline(never)]
fn target(number: u64) -> u64 {
    std::hint::black_box(number)
}

fn main() {
    if !std::env::args().any(|argument| argument == "--bench") {
        // A benchmark, which `cargo test` must not run.
        return;
    }
    let _trace = trace_runtime::init();
    timing::print(target);
}
