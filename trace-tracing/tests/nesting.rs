//! Synchronous spans and events: durations that nest, and instants.
#![cfg(all(target_os = "linux", not(feature = "ntrace")))]

mod common;

use common::{assert_nested, lines, only, only_message, read};
use tracing::{debug, error, event, info, info_span, instrument, span, warn, Level};
use tracing_subscriber::prelude::*;

#[instrument(ret, fields(result = tracing::field::Empty))]
fn function(number: u32, text: &str) -> u32 {
    tracing::Span::current().record("result", number + 1);
    number + 1
}

#[derive(Debug)]
struct Failure;

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("it failed")
    }
}

impl std::error::Error for Failure {}

fn values() {
    let many = info_span!(
        "many",
        a1 = 1,
        a2 = 2,
        a3 = 3,
        a4 = 4,
        a5 = 5,
        a6 = 6,
        a7 = 7,
        a8 = 8,
        a9 = 9,
        a10 = 10,
        a11 = 11,
        a12 = 12,
        a13 = 13,
        a14 = 14,
        a15 = 15,
        a16 = 16,
        a17 = 17
    );
    drop(many.entered());
    let failure: &(dyn std::error::Error + 'static) = &Failure;
    let typed = info_span!(
        "typed", int = -1i64, uint = 2u64, float = f64::NAN, truth = true, text = "text", debug = ?Some(1), display = %Failure,
        big = 1u128 << 100, error = failure, missing = tracing::field::Empty
    );
    drop(typed.entered());
    let long = "é".repeat(20_000);
    drop(info_span!("long", long, debug = ?long).entered());
}

fn events() {
    info!("plain text");
    info!(answer = 42, "text with {}", "an argument");
    warn!(only = "fields");
    event!(name: "named", Level::INFO, key = 1u64, "its text");
    error!("{}", "long ".repeat(100));
    debug!(target: "other target", "elsewhere");
}

/// Guards that are dropped in another order than they were created.
fn out_of_order() {
    let (first, second) = (info_span!("first"), info_span!("second"));
    let first = first.entered();
    let second = second.entered();
    drop(first);
    info!("in second");
    drop(second);
}

#[test]
fn durations_nest_and_values_keep_their_types() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("nesting.fxt");
    tracing_subscriber::registry().with(trace_tracing::layer()).init();
    let trace = trace_runtime::builder().output(&path).init();
    {
        let _outer = info_span!("outer", depth = 0).entered();
        let _inner = span!(target: "target", Level::TRACE, "inner").entered();
        function(3, "x");
    }
    values();
    events();
    out_of_order();
    drop(trace);
    info!("not recorded any more");

    let (events, log) = read(&path);
    assert!(log.is_empty());
    assert_nested(&events);
    assert_eq!(
        events.iter().filter(|event| event.kind.starts_with("async")).count(),
        0,
        "{:#?}",
        lines(&events)
    );
    nesting(&events);
    typed(&events);
    instants(&events);
    cut_in_two(&events);
}

fn nesting(events: &[common::Event]) {
    let (outer, inner) = (only(events, "duration", "outer"), only(events, "duration", "inner"));
    let function = only(events, "duration", "function");
    assert_eq!((outer.category.as_str(), inner.category.as_str()), ("nesting", "target"));
    assert!(outer.ticks <= inner.ticks && inner.tail <= outer.tail);
    assert!(inner.ticks <= function.ticks && function.tail <= inner.tail);
    assert_eq!(outer.line(), "duration outer depth=0");
    assert_eq!(function.line(), "duration function number=3 text=x");
    let later = only(events, "instant", "function");
    assert_eq!(later.line(), "instant function result=4");
    assert!(function.ticks <= later.ticks && later.ticks <= function.tail);
    assert!(events.iter().any(|event| event.argument("return") == Some("4")));
}

fn typed(events: &[common::Event]) {
    let many = only(events, "duration", "many");
    let expected: Vec<String> = (1..=15).map(|number| format!("a{number}={number}")).collect();
    assert_eq!(many.arguments, expected);
    assert_eq!(
        only(events, "duration", "typed").line(),
        "duration typed int=-1 uint=2 float=Double(NaN) truth=Bool(true) text=text debug=Some(1) display=it failed \
         big=1267650600228229401496703205376 error=it failed"
    );
    let long = only(events, "duration", "long");
    assert!(long.argument("long").is_some_and(|text| text.starts_with('é') && text.len() >= 1_798));
    assert!(long
        .argument("debug")
        .is_some_and(|text| text.starts_with("\"é") && text.len() >= 1_798));
}

fn instants(events: &[common::Event]) {
    let is_site = |event: &common::Event| event.name.starts_with("trace-tracing/tests/nesting.rs:");
    assert!(is_site(only_message(events, "plain text")));
    let text = only_message(events, "text with an argument");
    assert_eq!((is_site(text), text.argument("answer")), (true, Some("42")));
    let fields = events.iter().find(|event| event.argument("only") == Some("fields")).unwrap();
    assert_eq!((is_site(fields), fields.argument("message")), (true, None));
    let named = only(events, "instant", "named");
    assert_eq!((named.argument("message"), named.argument("key")), (Some("its text"), Some("1")));
    only_message(events, &"long ".repeat(100));
    assert_eq!(only_message(events, "elsewhere").category, "other target");
    assert!(!lines(events).iter().any(|line| line.contains("not recorded")));
}

/// Each span ends when its own guard is dropped.
fn cut_in_two(events: &[common::Event]) {
    let first = only(events, "duration", "first");
    let seconds = common::named(events, "second");
    let inside = only_message(events, "in second");
    assert_eq!(seconds.len(), 2);
    assert!(seconds[0].tail <= first.tail && first.tail <= seconds[1].ticks);
    assert!(seconds[1].ticks <= inside.ticks && inside.ticks <= seconds[1].tail);
}
