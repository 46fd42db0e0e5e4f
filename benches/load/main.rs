//! Measures a daemon under load: many threads, many events, many programs, idle programs, and
//! programs and clients that misbehave.
//!
//! ```text
//! cargo build --release --package trace-cli && cargo bench --bench load [-- PART…]
//! ```
//!
//! The parts are `crowd`, `speed`, `sessions`, `latency`, `idle` and `isolation`; all by default.

mod crowd;
mod daemon;
mod idle;
mod isolation;
mod latency;
mod process;
mod program;
#[path = "../../trace-manager/tests/end_to_end/provider.rs"]
#[allow(dead_code, reason = "the tests of the manager use all of it")]
mod scripted;
mod sessions;
mod speed;

/// The parts, in the order of their tables.
const PARTS: [(&str, fn()); 6] = [
    ("crowd", crowd::print),
    ("speed", speed::print),
    ("sessions", sessions::print),
    ("latency", latency::print),
    ("idle", idle::print),
    ("isolation", isolation::print),
];

fn main() {
    if let Ok(role) = std::env::var(program::ROLE) {
        return program::run(&role);
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if !arguments.iter().any(|argument| argument == "--bench") {
        // A benchmark, which `cargo test` must not run.
        return;
    }
    let is_selected = |name: &str| arguments.iter().any(|argument| argument == name);
    let selects = PARTS.iter().any(|(name, _)| is_selected(name));
    for (name, print) in PARTS {
        if !selects || is_selected(name) {
            print();
        }
    }
}

/// Returns the value below which a share of some values is, in percent.
fn percentile<T: Copy + Ord>(values: &mut [T], percent: usize) -> T {
    values.sort_unstable();
    values[(values.len() - 1) * percent / 100]
}
