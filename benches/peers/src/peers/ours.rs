//! This project's tracer, writing its own archive without a manager.

use std::hint::black_box;
use std::path::Path;

use trace_runtime::{trace_counter, trace_duration, trace_instant};

use crate::peer::{Peer, Session};

/// trace-runtime.
pub const PEER: Peer = Peer {
    name: "trace-runtime",
    through_tracing: false,
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

struct Recording {
    guard: trace_runtime::Trace,
}

/// Records into the file.
pub fn start(file: &Path) -> Box<dyn Session> {
    // Large enough to lose no records on a loaded machine.
    let builder = trace_runtime::builder().output(file).buffer_size(256 << 20);
    Box::new(Recording { guard: builder.init() })
}

impl Session for Recording {
    fn finish(self: Box<Self>) {
        drop(self.guard);
    }
}
