//! Polls that last longer than their buffer, which is saved before they end.

use std::future::{poll_fn, Future};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use trace_runtime::{trace_future_args, trace_instant, TraceFutureExt};

use crate::archive::{Event, Provider, Shape};
use crate::Recording;

/// The buffer of each recording in bytes: two rolling buffers of about 245,000, each with room for
/// about 6,000 instants.
const BUFFER: usize = 512 << 10;

/// Runs a future of two polls, which slowly writes this number of instants in the first.
fn long_poll(instants: u64) {
    let mut polls = 0;
    let future = poll_fn(|_| {
        polls += 1;
        if polls == 2 {
            return Poll::Ready(());
        }
        for round in 0..instants {
            trace_instant!("saved", "within", "round" => round);
            if round % 500 == 0 {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        Poll::Pending
    });
    let mut future = pin!(future.trace(trace_future_args!("saved", "long", "argument" => 7u64)));
    while future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {}
}

fn of_task(provider: &Provider) -> Vec<&Event> {
    provider.named("long").collect()
}

#[test]
fn the_end_has_the_result_of_the_poll_if_its_begin_was_saved() {
    let recording =
        Recording::with(|builder| builder.categories(["saved"]).buffer_size(BUFFER).streaming());
    // More than one rolling buffer, and less than two: no records can be lost.
    long_poll(9_000);
    let archive = recording.end();
    let events = of_task(archive.only());
    let shapes: Vec<_> = events.iter().map(|event| event.shape).collect();
    let [Shape::AsyncBegin(id), Shape::Begin, Shape::End, Shape::FlowBegin(flow), Shape::Complete(_), Shape::FlowEnd(_), Shape::AsyncEnd(_)] =
        shapes[..]
    else {
        panic!("{events:?}")
    };
    assert_eq!(id, flow);
    assert_eq!(events[1].texts["poll-state"], "running");
    assert_eq!(events[2].texts["poll-state"], "pending");
    assert_eq!(events[3].ticks, events[1].ticks, "the arrow leaves from the poll");
}

#[test]
fn the_complete_duration_has_the_result_of_the_poll_if_its_begin_was_overwritten() {
    let recording =
        Recording::with(|builder| builder.categories(["saved"]).buffer_size(BUFFER).circular());
    // More than two rolling buffers: the first one is overwritten.
    long_poll(18_000);
    let archive = recording.end();
    let events = of_task(archive.only());
    let shapes: Vec<_> = events.iter().map(|event| event.shape).collect();
    let [Shape::Complete(end), Shape::FlowBegin(_), Shape::Complete(_), Shape::FlowEnd(_), Shape::AsyncEnd(_)] =
        shapes[..]
    else {
        panic!("{events:?}")
    };
    assert!(events[0].ticks < end && events[0].ticks == events[1].ticks);
    assert_eq!(events[0].texts["poll-state"], "pending");
    assert_eq!(events[0].numbers.len(), 0, "the overwritten arguments are missing");
    assert_eq!(events[2].numbers["poll-count"], 2);
}
