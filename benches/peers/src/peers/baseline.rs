//! Not tracers: what any tracer pays at the least, and what the loop itself costs.

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
    start: nothing,
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
    start: nothing,
};

fn turns(n: u64) {
    for i in 0..n {
        black_box(i);
    }
}

struct Nothing;

impl Session for Nothing {
    fn finish(self: Box<Self>) {}
}

fn nothing(_file: &Path) -> Box<dyn Session> {
    Box::new(Nothing)
}
