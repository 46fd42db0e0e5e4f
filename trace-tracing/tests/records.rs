//! Records of `log` that arrive through `tracing-log`, which `tracing-subscriber` installs as the
//! logger by default.
#![cfg(all(target_os = "linux", not(feature = "ntrace")))]

mod common;

use std::path::Path;
use std::sync::{Arc, Mutex};

use common::{only_message, read, Event};
use log::LevelFilter;
use tracing_log::{AsLog, LogTracer, NormalizeEvent};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::prelude::*;
use tracing_subscriber::EnvFilter;

/// The application's own layer, which keeps the targets of its events.
struct Own(Arc<Mutex<Vec<String>>>);

impl<S: tracing::Subscriber> Layer<S> for Own {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        let record = event.normalized_metadata();
        let target = record.as_ref().unwrap_or(event.metadata()).target();
        self.0.lock().unwrap().push(target.to_owned());
    }
}

/// Installs the logger as [`tracing_subscriber::util::SubscriberInitExt::init`] does with the
/// feature `tracing-log`.
fn init_log() {
    let level = tracing::level_filters::LevelFilter::current().as_log();
    LogTracer::builder().with_max_level(level).init().unwrap();
}

fn work() {
    tracing::info!(target: "on", "by tracing");
    log::info!(target: "on", "by log {}", 1);
    log::trace!(target: "on::inner", "{}", "long ".repeat(30));
    log::error!(target: "on", "an error");
    log::error!(target: "off", "an error elsewhere");
}

fn recorded(path: &Path) -> Vec<Event> {
    let trace = trace_runtime::builder().output(path).categories(["on*"]).init();
    work();
    drop(trace);
    read(path).0
}

/// One test, since a process has one logger.
#[test]
fn records_keep_their_levels_targets_and_messages() {
    let directory = tempfile::tempdir().unwrap();
    let own = Arc::new(Mutex::new(Vec::new()));
    tracing_subscriber::registry()
        .with(trace_tracing::layer())
        .with(Own(Arc::clone(&own)).with_filter(EnvFilter::new("warn")))
        .init();
    init_log();
    assert_eq!(log::max_level(), LevelFilter::Warn);
    for round in 0..2 {
        let events = recorded(&directory.path().join(format!("{round}.fxt")));
        assert_eq!(log::max_level(), LevelFilter::Warn);
        assert_eq!(events.len(), 4, "{events:#?}");
        for (message, level) in
            [("by tracing", "INFO"), ("by log 1", "INFO"), ("an error", "ERROR")]
        {
            let event = only_message(&events, message);
            assert_eq!((event.category.as_str(), event.argument("level")), ("on", Some(level)));
            assert!(event.name.starts_with("trace-tracing/tests/records.rs:"), "{}", event.name);
            assert_eq!(event.argument("file"), Some("trace-tracing/tests/records.rs"));
            assert!(event.name.ends_with(event.argument("line").unwrap()));
        }
        let long = only_message(&events, &"long ".repeat(30));
        assert_eq!(long.category, "on::inner");
        assert_eq!(std::mem::take(&mut *own.lock().unwrap()), ["on", "off"]);
    }

    // A level that the application sets during a recording is kept.
    let trace = trace_runtime::builder().output(directory.path().join("set.fxt")).init();
    assert_eq!(log::max_level(), LevelFilter::Trace);
    log::set_max_level(LevelFilter::Error);
    drop(trace);
    assert_eq!(log::max_level(), LevelFilter::Error);
}
