//! Events as log records.
#![cfg(all(target_os = "linux", not(feature = "ntrace")))]

mod common;

use common::read;
use tracing::{enabled, info, info_span, warn, Level};
use tracing_subscriber::prelude::*;

#[test]
fn events_can_be_log_records() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("logs.fxt");
    tracing_subscriber::registry()
        .with(trace_tracing::Options::new().events_as_logs().layer())
        .init();
    let trace = trace_runtime::builder().output(&path).categories(["on"]).init();
    info!(target: "on", "answer {}", 42);
    warn!(target: "on", key = 1u64, text = "a b", "{}", "long ".repeat(2000));
    warn!(target: "off", "not recorded");
    assert!(info_span!(target: "off", "not recorded").is_disabled());
    assert!(!info_span!(target: "on", "recorded").is_disabled());
    drop(trace);
    assert!(info_span!(target: "on", "not recorded any more").is_disabled());
    assert!(!enabled!(Level::ERROR));
    let (events, log) = read(&path);
    assert_eq!(
        events.iter().map(|event| event.name.as_str()).collect::<Vec<_>>(),
        ["recorded", "recorded"]
    );
    assert_eq!(log.len(), 2);
    assert_eq!(log[0], "INFO on: answer 42");
    assert!(
        log[1].starts_with("WARN on: long long") && log[1].ends_with("long  key=1 text=a b"),
        "{}",
        log[1]
    );
}
