//! Spans whose first slot belongs to another span.
#![cfg(all(target_os = "linux", not(feature = "ntrace")))]

mod common;

use std::future::ready;

use common::{named, only, read};
use trace_runtime::{trace_future_args, TraceFutureExt};
use tracing::{info_span, Span};
use tracing_subscriber::prelude::*;

/// More than the slots of a layer's first table.
const OPEN: usize = 9000;

#[test]
fn a_future_is_the_child_of_a_span_whose_slot_was_taken() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("collisions.fxt");
    tracing_subscriber::registry().with(trace_tracing::layer()).init();
    let trace = trace_runtime::builder().output(&path).init();
    let open: Vec<Span> = (0..OPEN).map(|_| info_span!("open")).collect();
    let parent = info_span!("parent");
    let child = info_span!(parent: &parent, "child", key = 1);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    child.in_scope(|| runtime.block_on(ready(()).trace(trace_future_args!("native", "query"))));
    drop((child, parent));
    drop(trace);
    drop(open);

    let (events, _) = read(&path);
    common::assert_nested(&events);
    let id = |name| Some(only(&events, "async begin", name).tail.to_string());
    let parent_of =
        |name| only(&events, "async begin", name).argument("parent").map(ToOwned::to_owned);
    assert_eq!(parent_of("query"), id("child"));
    assert_eq!(parent_of("child"), id("parent"));
    assert_eq!(only(&events, "duration", "child").argument("key"), Some("1"));
    let waiting = named(&events, "open");
    assert_eq!(waiting.iter().filter(|event| event.kind == "async begin").count(), OPEN);
}
