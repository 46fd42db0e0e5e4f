//! The subscriber, which keeps spans without a registry.
#![cfg(all(target_os = "linux", not(feature = "ntrace")))]

mod common;

use std::sync::mpsc;

use common::{assert_nested, assert_tracks, lines, named, only, read, with_message};
use tracing::{debug, info, info_span, Span};
use tracing_subscriber::prelude::*;
use tracing_subscriber::EnvFilter;

#[tracing::instrument(fields(later = tracing::field::Empty))]
fn function(number: u64) {
    Span::current().record("later", "now");
    info!("inside");
}

#[test]
fn spans_are_kept_without_a_registry() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("subscriber.fxt");
    trace_tracing::subscriber().with(EnvFilter::new("info")).init();
    function(1);
    let trace = trace_runtime::builder().output(&path).init();
    for number in 0..300 {
        function(number);
    }
    debug!("too verbose");
    let parent = info_span!("parent");
    let threads: Vec<_> = (0..4u64).map(|number| spawn(&parent, number)).collect();
    drop(parent);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    // Guards that are dropped in another order than they were created.
    let (first, second) = (info_span!("first").entered(), info_span!("second").entered());
    drop(first);
    drop(second);
    drop(trace);

    let (events, _) = read(&path);
    assert_nested(&events);
    assert_tracks(&events);
    assert_eq!(named(&events, "function").len(), 600, "{:#?}", &lines(&events)[..20]);
    assert_eq!(with_message(&events, "inside").len(), 300);
    assert_eq!(with_message(&events, "too verbose").len(), 0);
    assert_eq!(named(&events, "second").len(), 2);
    let parent = only(&events, "async begin", "parent").tail.to_string();
    let children = named(&events, "child");
    let of = |kind| children.iter().filter(|event| event.kind == kind).collect::<Vec<_>>();
    assert_eq!(of("async begin").len(), 400);
    assert!(of("async begin").iter().all(|event| event.argument("parent") == Some(&parent)));
    assert_eq!(of("duration").len(), 800);
}

/// Spans that begin on one thread, and continue and end on another one.
fn spawn(parent: &Span, thread: u64) -> std::thread::JoinHandle<()> {
    let (sender, receiver) = mpsc::channel::<(Span, Span)>();
    let parent = parent.clone();
    let other = std::thread::spawn(move || {
        for (span, _parent) in receiver {
            span.in_scope(|| {});
        }
    });
    std::thread::spawn(move || {
        for number in 0..100 {
            let span = info_span!(parent: &parent, "child", thread, number);
            span.in_scope(|| {});
            sender.send((span.clone(), parent.clone())).unwrap();
        }
        drop((sender, parent));
        other.join().unwrap();
    })
}
