//! This project's tracer, writing its own archive without a manager.

use std::hint::black_box;
use std::path::Path;

use trace_runtime::{trace_counter, trace_duration, trace_instant};

use crate::peer::{Peer, Session};

/// trace-runtime.
pub const PEER: Peer = Peer {
    name: "trace-runtime",
    off: Some(scope),
    scope,
    scope_args: Some(|n| {
        for i in 0..n as i64 {
            trace_duration!("bench", "scope", "value" => i, "text" => "short");
            black_box(i);
        }
    }),
    instant: Some(|n| {
        for i in 0..n {
            trace_instant!("bench", "instant");
            black_box(i);
        }
    }),
    counter: Some(|n| {
        for i in 0..n as i64 {
            trace_counter!("bench", "counter", 0, "value" => i);
            black_box(i);
        }
    }),
    start,
};

fn scope(n: u64) {
    for i in 0..n {
        trace_duration!("bench", "scope");
        black_box(i);
    }
}

struct Recording<G> {
    guard: G,
}

fn start(file: &Path) -> Box<dyn Session> {
    std::env::set_var("TRACE_OUTPUT", file);
    Box::new(Recording { guard: trace_runtime::init() })
}

impl<G> Session for Recording<G> {
    fn finish(self: Box<Self>) {
        drop(self.guard);
    }
}
