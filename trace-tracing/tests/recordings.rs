//! Spans that last for two recordings.
#![cfg(all(target_os = "linux", not(feature = "ntrace")))]

mod common;

use common::{only, read};
use trace_runtime::{trace_future_args, TraceFutureExt};
use tracing::info_span;
use tracing_subscriber::prelude::*;

#[test]
fn the_future_of_an_earlier_recording_is_no_parent() {
    let directory = tempfile::tempdir().unwrap();
    let (first, second) = (directory.path().join("first.fxt"), directory.path().join("second.fxt"));
    tracing_subscriber::registry().with(trace_tracing::layer()).init();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();

    let trace = trace_runtime::builder().output(&first).init();
    let outer = info_span!("outer");
    let create = async { info_span!("span") };
    let create = create.trace(trace_future_args!("native", "future"));
    let span = outer.in_scope(|| runtime.block_on(create));
    drop(trace);

    let trace = trace_runtime::builder().output(&second).init();
    span.in_scope(|| {});
    drop((span, outer));
    drop(trace);

    let parent = |path, name: &str| {
        let (events, _) = read(path);
        let id = only(&events, "async begin", name).tail.to_string();
        let parent = only(&events, "async begin", "span").argument("parent").map(str::to_owned);
        (parent, Some(id))
    };
    let (found, expected) = parent(&first, "future");
    assert_eq!(found, expected);
    let (found, expected) = parent(&second, "outer");
    assert_eq!(found, expected);
}
