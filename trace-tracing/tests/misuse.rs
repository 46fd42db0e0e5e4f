//! Misuse that `tracing` allows: the trace remains well-formed.
#![cfg(all(target_os = "linux", not(feature = "ntrace")))]

mod common;

use std::fmt;

use common::{
    assert_nested, assert_tracks, lines, named, only, only_message, read, with_message, Event,
};
use tracing::dispatcher::get_default;
use tracing::{info, info_span, Id, Span};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::prelude::*;

/// Traces while it is formatted.
struct Traces;

impl fmt::Debug for Traces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let _span = info_span!("while formatting", number = 1).entered();
        info!(number = 2, "formats");
        f.write_str("formatted")
    }
}

/// Traces when its thread ends.
struct AtTheEnd(Span);

impl Drop for AtTheEnd {
    fn drop(&mut self) {
        self.0.in_scope(|| info!("the thread ends"));
    }
}

thread_local! {
    static AT_THE_END: AtTheEnd = AtTheEnd(info_span!("kept by a thread"));
}

fn id(span: &Span) -> Id {
    span.id().unwrap()
}

/// Entered on one thread, left on another one.
fn across_threads() {
    let span = info_span!("across threads");
    let entered = span.clone();
    let other = std::thread::spawn(move || {
        get_default(|dispatch| dispatch.enter(&id(&entered)));
        info_span!("below it").in_scope(|| {});
    });
    other.join().unwrap();
    get_default(|dispatch| dispatch.exit(&id(&span)));
    info_span!("beside it").in_scope(|| get_default(|dispatch| dispatch.exit(&id(&span))));
}

fn panics() {
    let panicked = std::panic::catch_unwind(|| {
        let _outer = info_span!("panics").entered();
        let _inner = info_span!("panics inside").entered();
        panic!("on purpose");
    });
    assert!(panicked.is_err());
}

/// The parent is filtered out, its own parent is not.
fn hidden_parent() {
    let grandparent = info_span!("grandparent");
    let hidden = info_span!(target: "hidden", parent: &grandparent, "hidden");
    let _child = info_span!(parent: &hidden, "child");
}

#[test]
fn the_trace_remains_well_formed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("misuse.fxt");
    let visible = filter_fn(|metadata| metadata.target() != "hidden");
    let everything = tracing_subscriber::fmt::layer().with_writer(std::io::sink);
    tracing_subscriber::registry()
        .with(trace_tracing::layer().with_filter(visible))
        .with(everything)
        .init();
    let trace = trace_runtime::builder().output(&path).init();
    info_span!("formatted", first = ?Traces, second = ?Traces)
        .in_scope(|| info!(value = ?Traces, "an event"));
    std::thread::spawn(|| AT_THE_END.with(|_| {})).join().unwrap();
    across_threads();
    panics();
    hidden_parent();
    drop(trace);

    let (events, _) = read(&path);
    assert_nested(&events);
    assert_tracks(&events);
    formatted(&events);
    assert_eq!(with_message(&events, "the thread ends").len(), 1);
    // The span is synchronous or not, depending on which thread local is destroyed first.
    only(&events, "duration", "kept by a thread");
    only(&events, "duration", "across threads");
    only(&events, "duration", "below it");
    only(&events, "duration", "beside it");
    let (outer, inner) =
        (only(&events, "duration", "panics"), only(&events, "duration", "panics inside"));
    assert!(outer.ticks <= inner.ticks && inner.tail <= outer.tail);
    let grandparent = only(&events, "async begin", "grandparent").tail.to_string();
    assert_eq!(
        only(&events, "async begin", "child").argument("parent"),
        Some(grandparent.as_str())
    );
    assert!(named(&events, "hidden").is_empty());
}

fn formatted(events: &[Event]) {
    assert_eq!(
        only(events, "duration", "formatted").line(),
        "duration formatted first=formatted second=formatted"
    );
    assert_eq!(only_message(events, "an event").argument("value"), Some("formatted"));
    // Each layer formats the three values, so there is at least one line for each.
    let inside =
        lines(events).iter().filter(|line| *line == "duration while formatting number=1").count();
    assert!(inside >= 3, "{inside}");
}
