//! Asynchronous spans: durations of their polls, and one track for the life of each.
#![cfg(all(target_os = "linux", not(feature = "ntrace")))]

mod common;

use std::time::Duration;

use common::{assert_nested, assert_tracks, named, only, read, with_message, Event};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tracing::{info, info_span, instrument, Instrument, Span};
use tracing_subscriber::prelude::*;

#[instrument]
async fn step(number: u64) {
    sleep(Duration::from_millis(5)).await;
    info!("after the sleep");
    inner().await;
}

#[instrument(fields(found = tracing::field::Empty))]
async fn inner() {
    tokio::task::yield_now().await;
    Span::current().record("found", 7);
    tokio::task::yield_now().await;
}

#[instrument]
async fn immediate() -> u32 {
    1
}

#[instrument]
async fn cancelled() {
    sleep(Duration::from_secs(3600)).await;
}

async fn program() {
    let mut set = JoinSet::new();
    for number in 0..20 {
        set.spawn(step(number).in_current_span());
    }
    while set.join_next().await.is_some() {}
    immediate().await;
    tokio::select! {
        () = cancelled() => {}
        () = sleep(Duration::from_millis(5)) => {}
    }
}

#[test]
fn each_task_has_its_track() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tasks.fxt");
    tracing_subscriber::registry().with(trace_tracing::layer()).init();
    let trace = trace_runtime::builder().output(&path).init();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(program().instrument(info_span!("program")));
    drop(runtime);
    closed_elsewhere();
    never_entered();
    follows();
    drop(trace);

    let (events, _) = read(&path);
    assert_nested(&events);
    assert_tracks(&events);
    steps(&events);
    elsewhere(&events);
}

fn steps(events: &[Event]) {
    let program = only(events, "async begin", "program");
    let tracks: Vec<&Event> =
        events.iter().filter(|event| event.kind == "async begin" && event.name == "step").collect();
    assert_eq!(tracks.len(), 20);
    for begin in &tracks {
        assert_eq!(begin.argument("parent"), Some(program.tail.to_string().as_str()));
        let end = events
            .iter()
            .find(|event| event.kind == "async end" && event.tail == begin.tail)
            .unwrap();
        assert!(end.ticks > begin.ticks);
        let number = begin.argument("number").unwrap();
        // The first poll has the values, and all records of the track are within its life.
        let polls = named(events, "step");
        let first: Vec<_> = polls
            .iter()
            .filter(|poll| poll.kind == "duration" && poll.argument("number") == Some(number))
            .collect();
        assert_eq!(first.len(), 1);
        assert!(begin.ticks <= first[0].ticks && first[0].tail <= end.ticks);
        let child =
            events.iter().filter(|event| event.kind == "async begin" && event.name == "inner");
        let children =
            child.filter(|child| child.argument("parent") == Some(begin.tail.to_string().as_str()));
        assert_eq!(children.count(), 1);
    }
    let polls =
        events.iter().filter(|event| event.kind == "duration" && event.name == "step").count();
    assert!(polls >= 40, "{polls}");
    let found: Vec<&Event> = events
        .iter()
        .filter(|event| event.kind == "async instant" && event.name == "inner")
        .filter(|event| event.argument("found").is_some())
        .collect();
    assert_eq!(found.len(), 20);
    assert!(found.iter().all(|event| event.argument("found") == Some("7")));
    assert_eq!(with_message(events, "after the sleep").len(), 20);
    only(events, "async begin", "immediate");
    only(events, "async end", "cancelled");
}

fn closed_elsewhere() {
    let span = info_span!("elsewhere", key = "value");
    span.in_scope(|| {});
    std::thread::spawn(move || drop(span)).join().unwrap();
}

fn never_entered() {
    let _unused = info_span!("never entered", key = 1);
    info!("beside it");
}

fn follows() {
    let (cause, effect) = (info_span!("cause"), info_span!("effect"));
    effect.follows_from(&cause);
}

fn elsewhere(events: &[Event]) {
    assert_eq!(only(events, "async begin", "elsewhere").line(), "async begin elsewhere key=value");
    only(events, "duration", "elsewhere");
    assert_eq!(
        only(events, "async begin", "never entered").line(),
        "async begin never entered key=1"
    );
    assert!(events.iter().all(|event| event.kind != "duration" || event.name != "never entered"));
    let cause = only(events, "async begin", "cause").tail;
    assert_eq!(
        only(events, "async instant", "effect").line(),
        format!("async instant effect follows_from={cause}")
    );
}
