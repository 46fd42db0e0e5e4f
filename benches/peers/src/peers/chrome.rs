//! tracing with tracing-chrome: every event is sent over a channel to a thread that writes JSON.

use std::path::Path;

use tracing_chrome::{ChromeLayerBuilder, FlushGuard};
use tracing_subscriber::prelude::*;

use super::spans;
use crate::peer::{Peer, Session};

/// tracing + tracing-chrome, arguments included.
pub const PEER: Peer = Peer {
    name: "tracing-chrome",
    through_tracing: true,
    off: Some(spans::scope),
    scope: spans::scope,
    scope_args: Some(spans::scope_args),
    instant: Some(spans::instant),
    counter: None,
    start,
};

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
