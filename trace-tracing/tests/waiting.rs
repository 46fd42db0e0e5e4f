//! Spans that wait when a recording ends, spans that last for two recordings, and more spans than
//! slots.
#![cfg(all(target_os = "linux", not(feature = "ntrace")))]

mod common;

use common::{lines, named, only, read};
use tracing::{info, info_span, Span};
use tracing_subscriber::prelude::*;

#[test]
fn waiting_spans_have_tracks() {
    let directory = tempfile::tempdir().unwrap();
    let (first, second) = (directory.path().join("first.fxt"), directory.path().join("second.fxt"));
    tracing_subscriber::registry().with(trace_tracing::layer()).init();

    let trace = trace_runtime::builder().output(&first).init();
    let parked = info_span!("parked", request = 7);
    parked.in_scope(|| info!("once"));
    let untouched = info_span!("untouched");
    let inside = info_span!("inside").entered();
    drop(trace);
    drop(inside);

    let trace = trace_runtime::builder().output(&second).init();
    parked.in_scope(|| info!("again"));
    drop((parked, untouched));
    let many: Vec<Span> = (0..10_000u64).map(|number| info_span!("one of many", number)).collect();
    many.iter().for_each(|span| span.in_scope(|| {}));
    many.iter().for_each(|span| span.in_scope(|| {}));
    drop(many);
    drop(trace);

    let (events, _) = read(&first);
    assert_eq!(only(&events, "async begin", "parked").line(), "async begin parked request=7");
    only(&events, "async begin", "untouched");
    assert_eq!(named(&events, "inside").len(), 1, "{:#?}", lines(&events));

    let (events, _) = read(&second);
    common::assert_tracks(&events);
    let (begin, end) =
        (only(&events, "async begin", "parked"), only(&events, "async end", "parked"));
    assert_eq!((begin.tail, begin.argument("request")), (end.tail, Some("7")));
    only(&events, "async end", "untouched");
    let many = named(&events, "one of many");
    let of = |kind| many.iter().filter(|event| event.kind == kind).collect::<Vec<_>>();
    assert_eq!(
        (of("duration").len(), of("async begin").len(), of("async end").len()),
        (20_000, 10_000, 10_000)
    );
    let mut numbers: Vec<u64> = of("async begin")
        .iter()
        .map(|event| event.argument("number").unwrap().parse().unwrap())
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..10_000).collect::<Vec<u64>>());
}
