//! Filters of `tracing`, and other layers, beside the layer; categories that are off.
#![cfg(all(target_os = "linux", not(feature = "ntrace")))]

mod common;

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use common::read;
use tracing::level_filters::LevelFilter;
use tracing::{debug, info, info_span, trace, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::prelude::*;
use tracing_subscriber::EnvFilter;

/// Counts how often it is formatted.
struct Counted(AtomicUsize);

impl fmt::Debug for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fetch_add(1, Ordering::Relaxed);
        f.write_str("formatted")
    }
}

/// Another layer of the application.
struct Other(Arc<AtomicUsize>);

impl<S: Subscriber> Layer<S> for Other {
    fn on_event(&self, _: &tracing::Event<'_>, _: Context<'_, S>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn work(counted: &Counted) {
    info!(target: "on", value = ?counted, "an event");
    info!(target: "off", value = ?counted, "an event that is off");
    debug!(target: "on", "too verbose for the other layer");
    trace!(target: "on", "too verbose for the filter of the layer");
    info!(target: "on::noisy", "filtered out for all");
    let _on = info_span!(target: "on", "a span", value = ?counted).entered();
    let _off = info_span!(target: "off", "a span that is off", value = ?counted).entered();
}

#[test]
fn each_layer_gets_what_its_filters_enable() {
    let directory = tempfile::tempdir().unwrap();
    let seen = Arc::new(AtomicUsize::new(0));
    let counted = Counted(AtomicUsize::new(0));
    let formatted = || counted.0.swap(0, Ordering::Relaxed);
    tracing_subscriber::registry()
        .with(EnvFilter::new("trace,on::noisy=off"))
        .with(trace_tracing::layer().with_filter(LevelFilter::DEBUG))
        .with(Other(Arc::clone(&seen)).with_filter(LevelFilter::INFO))
        .init();
    // The callsites are registered while nothing is recorded.
    work(&counted);
    assert_eq!(seen.swap(0, Ordering::Relaxed), 2);
    assert_eq!(formatted(), 0);

    for round in 0..2 {
        let path = directory.path().join(format!("filters-{round}.fxt"));
        let trace = trace_runtime::builder().output(&path).categories(["on*"]).init();
        work(&counted);
        drop(trace);
        assert_eq!(formatted(), 2);
        work(&counted);
        assert_eq!(formatted(), 0);
        assert_eq!(seen.swap(0, Ordering::Relaxed), 4);
        let (events, _) = read(&path);
        let shown: Vec<(&str, Option<&str>, Option<&str>)> = events
            .iter()
            .map(|event| (event.kind, event.argument("message"), event.argument("value")))
            .collect();
        assert_eq!(
            shown,
            [
                ("instant", Some("an event"), Some("formatted")),
                ("instant", Some("too verbose for the other layer"), None),
                ("duration", None, Some("formatted")),
            ]
        );
    }
}
