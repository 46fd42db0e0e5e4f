//! tracing with tracing-chrome: every event is sent over a channel to a thread that writes JSON.

use std::hint::black_box;
use std::path::Path;

use tracing::{trace, trace_span};
use tracing_chrome::{ChromeLayerBuilder, FlushGuard};
use tracing_subscriber::prelude::*;

use crate::peer::{Peer, Session};

/// tracing + tracing-chrome, arguments included.
pub const PEER: Peer = Peer {
    name: "tracing-chrome",
    off: Some(scope),
    scope,
    scope_args: Some(|n| {
        for i in 0..n as i64 {
            let _span = trace_span!("scope", value = i, text = "short").entered();
            black_box(i);
        }
    }),
    instant: Some(|n| {
        for i in 0..n {
            trace!("instant");
            black_box(i);
        }
    }),
    counter: None,
    start,
};

fn scope(n: u64) {
    for i in 0..n {
        let _span = trace_span!("scope").entered();
        black_box(i);
    }
}

struct Writing {
    guard: FlushGuard,
}

fn start(file: &Path) -> Box<dyn Session> {
    let (layer, guard) = ChromeLayerBuilder::new().file(file).include_args(true).build();
    tracing_subscriber::registry().with(layer).init();
    Box::new(Writing { guard })
}

impl Session for Writing {
    fn finish(self: Box<Self>) {
        // Joins the writing thread.
        drop(self.guard);
    }
}
