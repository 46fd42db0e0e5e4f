//! Spans, events and log records of bridges allocate no memory, once a thread has memory for its
//! values. The test counts allocations.

#[path = "counting/mod.rs"]
mod counting;

use counting::allocations;
use tracing::subscriber::with_default;
use tracing::{info, info_span};
use tracing_subscriber::prelude::*;

const ROUNDS: u64 = 10_000;

fn spans(rounds: u64) {
    for round in 0..rounds {
        let _outer = info_span!("outer", round, text = "short", debug = ?Some(round)).entered();
        let inner = info_span!("inner");
        inner.in_scope(|| info!(round, "an event of round {round}"));
        // Entered a second time, and therefore asynchronous.
        inner.in_scope(|| log::info!("round {round}"));
    }
}

/// The allocations of `spans` after a first call.
fn of_spans() -> u64 {
    spans(100);
    let before = allocations();
    spans(ROUNDS);
    allocations() - before
}

/// One test, since a process has one recording.
#[test]
fn spans_allocate_no_memory() {
    let directory = tempfile::tempdir().unwrap();
    let recording = trace_runtime::builder().output(directory.path().join("bridges.fxt")).init();
    trace_log_bridge::init().unwrap();
    let layer = tracing_subscriber::registry().with(trace_tracing::layer());
    assert_eq!(with_default(layer, of_spans), 0);
    assert_eq!(with_default(trace_tracing::subscriber(), of_spans), 0);
    drop(recording);
    assert!(info_span!("off").is_disabled());
    assert_eq!(log::max_level(), log::LevelFilter::Off);
}
