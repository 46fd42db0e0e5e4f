//! Recordings that begin and end in the middle of a task's life.
//!
//! Each test has a category of its own, because it polls futures while other tests may be
//! recording.

use std::future::{pending, Future};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use trace_runtime::{trace_future_args, TraceFutureExt};

use crate::Recording;

type Boxed = Pin<Box<dyn Future<Output = ()>>>;

fn forever(name: &'static str, number: u64) -> Boxed {
    match name {
        "first" => {
            Box::pin(pending().trace(trace_future_args!("midway one", "first", "number" => number)))
        }
        _ => Box::pin(
            pending().trace(trace_future_args!("midway one", "second", "number" => number)),
        ),
    }
}

fn poll(future: &mut Boxed) {
    let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert_eq!(polled, Poll::Pending);
}

#[test]
fn each_recording_has_its_own_polls_of_the_task() {
    let mut future = forever("first", 7);
    poll(&mut future);

    let recording = Recording::of("midway one");
    // Created without a recording: its arguments are not known.
    poll(&mut future);
    poll(&mut future);
    let mut second = forever("second", 8);
    poll(&mut second);
    let tasks = recording.tasks();
    let (seen, known) = (tasks.only("first"), tasks.only("second"));
    assert_eq!((seen.polls.len(), seen.end.as_ref(), seen.numbers.len()), (2, None, 0));
    assert_eq!(known.numbers["number"], 8);
    let id = seen.id;

    // Polls between recordings leave no records.
    poll(&mut future);

    let recording = Recording::of("midway one");
    poll(&mut future);
    poll(&mut second);
    drop(future);
    let tasks = recording.tasks();
    let seen = tasks.only("first");
    assert_eq!((seen.polls.len(), seen.state()), (1, "cancelled"));
    assert_ne!(seen.id, id, "it is another track");
    assert_eq!(tasks.only("second").numbers["number"], 8, "the arguments are recorded");

    // Not polled in this recording, so it has neither a begin nor an end in it.
    let recording = Recording::of("midway one");
    drop(second);
    assert!(recording.tasks().0.is_empty());
}

#[test]
fn a_recording_that_ends_in_a_poll_leaves_it_open() {
    let mut recording = Some(Recording::of("midway two"));
    let mut archive = None;
    let future = async { archive = recording.take().map(Recording::end) };
    let mut future: Pin<Box<dyn Future<Output = ()> + '_>> =
        Box::pin(future.trace(trace_future_args!("midway two", "interrupted")));
    let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert_eq!(polled, Poll::Ready(()));
    drop(future);
    let archive = archive.unwrap();
    let shapes: Vec<_> = archive.only().named("interrupted").map(|event| event.shape).collect();
    let [crate::archive::Shape::AsyncBegin(_), crate::archive::Shape::Begin] = shapes[..] else {
        panic!("{shapes:?}")
    };
    let open = archive.only().named("interrupted").nth(1).unwrap();
    assert_eq!(open.texts["poll-state"], "running");
}

/// A recording that begins in a poll does not contain that poll. Children in that poll have no
/// parent.
#[test]
fn a_recording_that_begins_in_a_poll_begins_with_the_next_one() {
    let mut recording = None;
    let mut polls = 0;
    let mut future = Box::pin(
        std::future::poll_fn(|context| {
            polls += 1;
            if polls == 1 {
                recording = Some(Recording::of("midway three"));
                let child = Box::pin(async {}.trace(trace_future_args!("midway three", "child")));
                assert!({ child }.as_mut().poll(context).is_ready());
            }
            if polls < 3 {
                Poll::Pending
            } else {
                Poll::Ready(())
            }
        })
        .trace(trace_future_args!("midway three", "late")),
    );
    while future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {}
    drop(future);
    let tasks = recording.unwrap().tasks();
    assert_eq!((tasks.only("late").polls.len(), tasks.only("late").state()), (2, "ready"));
    assert_eq!(tasks.only("child").parent, None);
}
