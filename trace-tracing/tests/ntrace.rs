//! With tracing compiled out the layer enables no spans or events.
#![cfg(feature = "ntrace")]

use tracing::{info_span, Level};
use tracing_subscriber::prelude::*;

#[test]
fn nothing_is_enabled() {
    let _recording = trace_runtime::init();
    tracing_subscriber::registry().with(trace_tracing::layer()).init();
    let span = info_span!("span", value = 1);
    assert!(span.is_disabled());
    span.in_scope(|| tracing::info!("event"));
    assert!(!tracing::enabled!(Level::ERROR));
}
