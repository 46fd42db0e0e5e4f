//! Listeners of `tracing` that forward to a tracer: the same spans for all.

use std::sync::Once;

use tracing::level_filters::LevelFilter;
use tracing::Subscriber;
use tracing_subscriber::layer::Layer;
use tracing_subscriber::prelude::*;

use super::spans;
use crate::peer::{Peer, Session};
use crate::peers::{fastrace, ours};

/// A registry with an empty layer: the minimal cost of any layer.
pub const REGISTRY: Peer = Peer {
    name: "registry alone",
    through_tracing: true,
    off: None,
    scope: spans::scope,
    scope_args: Some(spans::scope_args),
    instant: Some(spans::instant),
    counter: None,
    start: |_| {
        tracing_subscriber::registry().with(Idle).init();
        Box::new(NoSession)
    },
};

/// A registry with an empty layer and a filter that enables all: the minimal cost of a layer with
/// its own filter, such as ours.
pub const FILTERED: Peer = Peer {
    name: "registry and filter alone",
    start: |_| {
        tracing_subscriber::registry().with(Idle.with_filter(LevelFilter::TRACE)).init();
        Box::new(NoSession)
    },
    ..REGISTRY
};

struct Idle;

impl<S: Subscriber> Layer<S> for Idle {}

struct NoSession;

impl Session for NoSession {
    fn finish(self: Box<Self>) {}
}

/// This project's layer. "Off" is measured with the layer installed.
pub const LAYER: Peer = Peer {
    name: "trace-tracing layer",
    through_tracing: true,
    off: Some(|n| {
        install_layer();
        spans::scope(n);
    }),
    scope: spans::scope,
    scope_args: Some(spans::scope_args),
    instant: Some(spans::instant),
    counter: None,
    start: |file| {
        install_layer();
        ours::start(file)
    },
};

/// This project's subscriber, without a registry. "Off" is measured with the subscriber installed.
pub const SUBSCRIBER: Peer = Peer {
    name: "trace-tracing subscriber",
    off: Some(|n| {
        install_subscriber();
        spans::scope(n);
    }),
    start: |file| {
        install_subscriber();
        ours::start(file)
    },
    ..LAYER
};

/// fastrace's layer, below a root of fastrace's and with a reporter that discards.
pub const FASTRACE: Peer = Peer {
    name: "fastrace-tracing",
    through_tracing: true,
    off: Some(spans::scope),
    scope: |n| fastrace::in_requests(n, |_| spans::scope(1)),
    scope_args: Some(|n| fastrace::in_requests(n, |_| spans::scope_args(1))),
    instant: Some(|n| fastrace::in_requests(n, |_| spans::instant(1))),
    counter: None,
    start: |file| {
        let layer = fastrace_tracing::FastraceCompatLayer::new();
        tracing_subscriber::registry().with(layer).init();
        fastrace::start(file)
    },
};

/// Perfetto's own layer, in process, fields included.
#[cfg(feature = "perfetto")]
pub const PERFETTO: Peer = Peer {
    name: "tracing-perfetto-sdk",
    through_tracing: true,
    off: Some(spans::scope),
    scope: spans::scope,
    scope_args: Some(spans::scope_args),
    instant: Some(spans::instant),
    counter: None,
    start: start_perfetto,
};

#[cfg(feature = "perfetto")]
fn start_perfetto(file: &std::path::Path) -> Box<dyn Session> {
    // Perfetto's own set-up has a ring of 256 KiB and would drop most events, which is cheaper than
    // recording them.
    let session = super::perfetto::start_with(file, "tracing", || {
        let _registered = tracing_perfetto_sdk::perfetto_te_ns::register();
    });
    tracing_subscriber::registry().with(tracing_perfetto_sdk::PerfettoLayer::new()).init();
    session
}

fn install_layer() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing_subscriber::registry().with(trace_tracing::layer()).init());
}

fn install_subscriber() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| trace_tracing::subscriber().init());
}
