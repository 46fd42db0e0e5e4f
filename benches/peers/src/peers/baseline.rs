//! Baselines: the minimal cost of any tracer, and the cost of the loop itself.

use std::hint::black_box;
use std::path::Path;

use crate::clock::ticks;
use crate::peer::{Peer, Session};

/// The clock alone: two reads for a scope, one for an instant and a counter.
pub const RAW_CLOCK: Peer = Peer {
    name: "raw clock",
    through_tracing: false,
    off: None,
    scope: |n| {
        for _ in 0..n {
            black_box(ticks());
            black_box(ticks());
        }
    },
    scope_args: None,
    instant: Some(|n| {
        for _ in 0..n {
            black_box(ticks());
        }
    }),
    counter: None,
    start: start_none,
};

/// The loop alone.
pub const EMPTY_LOOP: Peer = Peer {
    name: "empty loop",
    through_tracing: false,
    off: Some(turns),
    scope: turns,
    scope_args: None,
    instant: None,
    counter: None,
    start: start_none,
};

fn turns(n: u64) {
    for i in 0..n {
        black_box(i);
    }
}

struct NoSession;

impl Session for NoSession {
    fn finish(self: Box<Self>) {}
}

fn start_none(_file: &Path) -> Box<dyn Session> {
    Box::new(NoSession)
}
