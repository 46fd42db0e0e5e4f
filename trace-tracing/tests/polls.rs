//! Operations are counted once, and their polls separately.
#![cfg(all(target_os = "linux", not(feature = "ntrace")))]

mod common;

use std::collections::HashMap;
use std::future::Future;
use std::path::Path;

use common::{assert_nested, assert_tracks, read, Event};
use tokio::task::{yield_now, JoinSet};
use trace_runtime::{trace_future_args, TraceFutureExt};
use tracing::{info_span, instrument};
use tracing_subscriber::prelude::*;

const REQUESTS: usize = 50;

#[instrument]
async fn request(number: usize) {
    yield_now().await;
    query().trace(trace_future_args!("native", "query")).await;
}

async fn query() {
    read_row().await;
}

#[instrument]
async fn read_row() {
    yield_now().await;
}

/// A span that is entered by hand twice, and closes later.
fn by_hand() {
    let span = info_span!("by hand");
    span.in_scope(|| {});
    span.in_scope(|| {});
    tracing::info!("between");
    drop(span);
}

/// A span that another thread enters after the thread that closes it.
fn by_two_threads() {
    let span = info_span!("by two threads");
    span.in_scope(|| {});
    span.in_scope(|| {});
    std::thread::scope(|scope| {
        scope.spawn(|| span.in_scope(|| {}));
    });
    drop(span);
}

fn recorded(path: &Path, future: impl Future<Output = ()>) -> Vec<Event> {
    let trace = trace_runtime::builder().output(path).init();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(future);
    by_hand();
    by_two_threads();
    drop(trace);
    read(path).0
}

/// The roles of durations, by thread and begin.
#[derive(Debug, Default)]
struct Roles {
    polls: usize,
    drops: usize,
    others: usize,
}

fn roles(events: &[Event], name: &str) -> Roles {
    let mut roles = Roles::default();
    let bound = |poll: &Event, key: &str| {
        events.iter().any(|event| {
            event.kind == "async instant"
                && event.argument(key).is_some()
                && (event.ticks, &event.thread, &event.name)
                    == (poll.ticks, &poll.thread, &poll.name)
        })
    };
    for poll in events.iter().filter(|event| event.kind == "duration" && event.name == name) {
        if bound(poll, "poll-state") {
            roles.drops += 1;
        } else if poll.argument("task").is_some() || bound(poll, "poll-count") {
            roles.polls += 1;
        } else {
            roles.others += 1;
        }
    }
    roles
}

#[test]
fn an_operation_is_counted_once_and_its_polls_separately() {
    let directory = tempfile::tempdir().unwrap();
    tracing_subscriber::registry().with(trace_tracing::layer()).init();
    let mut set = JoinSet::new();
    let events = recorded(&directory.path().join("polls.fxt"), async move {
        for number in 0..REQUESTS {
            set.spawn(request(number));
        }
        while set.join_next().await.is_some() {}
    });

    assert_nested(&events);
    assert_tracks(&events);
    let of = |kind, name| {
        let found = events.iter().filter(move |event| event.kind == kind && event.name == name);
        found.collect::<Vec<_>>()
    };
    let ends = of("async end", "request");
    assert_eq!(ends.len(), REQUESTS);
    assert!(ends.iter().all(|end| end.argument("poll-count") == Some("3")), "{ends:#?}");
    let Roles { polls, drops, others } = roles(&events, "request");
    assert_eq!((polls, drops, others), (3 * REQUESTS, REQUESTS, 0));
    let Roles { polls, drops, others } = roles(&events, "read_row");
    assert_eq!((polls, drops, others), (2 * REQUESTS, REQUESTS, 0));
    let Roles { polls, drops, others } = roles(&events, "by hand");
    assert_eq!((polls, drops, others), (2, 0, 0));
    let Roles { polls, drops, others } = roles(&events, "by two threads");
    assert_eq!((polls, drops, others), (3, 0, 0));
    parents(
        &of("async begin", "request"),
        &of("async begin", "query"),
        &of("async begin", "read_row"),
    );
}

/// Each native future is the child of the span around it, and the parent of the span in it.
fn parents(requests: &[&Event], queries: &[&Event], rows: &[&Event]) {
    let ids = |events: &[&Event]| -> HashMap<String, usize> {
        events.iter().map(|event| (event.tail.to_string(), 0)).collect()
    };
    for (outer, inner) in [(requests, queries), (queries, rows)] {
        let mut children = ids(outer);
        for event in inner {
            let parent = event.argument("parent").expect("a parent");
            *children.get_mut(parent).expect("the parent is an operation around it") += 1;
        }
        assert!(children.values().all(|number| *number == 1));
    }
}
