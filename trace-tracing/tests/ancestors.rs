//! Spans around asynchronous ones, which need a track only then.
#![cfg(all(target_os = "linux", not(feature = "ntrace")))]

mod common;

use common::{assert_nested, assert_tracks, named, only, read};
use tracing::{info, info_span};
use tracing_subscriber::prelude::*;

fn outer(is_async: bool) {
    let _outer = info_span!("outer").entered();
    if is_async {
        let inner = info_span!("inner");
        inner.in_scope(|| {});
        inner.in_scope(|| {});
        info!("the thread continues");
    }
}

#[test]
fn a_synchronous_span_stays_synchronous_after_an_asynchronous_use() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ancestors.fxt");
    tracing_subscriber::registry().with(trace_tracing::layer()).init();
    let trace = trace_runtime::builder().output(&path).init();
    outer(true);
    (0..10).for_each(|_| outer(false));
    drop(trace);

    let (events, _) = read(&path);
    assert_nested(&events);
    assert_tracks(&events);
    assert_eq!(only(&events, "async end", "outer").argument("poll-count"), Some("1"));
    let begins =
        |name| named(&events, name).iter().filter(|event| event.kind == "async begin").count();
    assert_eq!((begins("outer"), begins("inner")), (1, 1));
}
