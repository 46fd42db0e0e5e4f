//! The records of futures that are polled by hand.

use std::cell::Cell;
use std::future::{pending, poll_fn, ready, Future};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::pin::{pin, Pin};
use std::task::{Context, Poll, Waker};

use trace_runtime::{trace_duration, trace_future_args, TraceFuture, TraceFutureExt};

use crate::Recording;

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Returns a future that is ready at this poll.
fn ready_at(number: u32) -> impl Future<Output = u32> + Unpin {
    let mut polls = 0;
    poll_fn(move |_| {
        polls += 1;
        if polls < number {
            Poll::Pending
        } else {
            Poll::Ready(polls)
        }
    })
}

fn poll_to_end<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = poll(future.as_mut()) {
            return value;
        }
    }
}

#[test]
fn a_future_is_its_polls_and_a_task() {
    let recording = Recording::start();
    for polls in 1..=3 {
        let traced = ready_at(polls).trace(trace_future_args!("test", "future", "polls" => polls));
        assert_eq!(poll_to_end(traced), polls);
    }
    let tasks = recording.tasks();
    let tasks = tasks.named("future");
    assert_eq!(tasks.len(), 3);
    for (task, polls) in tasks.into_iter().zip(1..) {
        assert_eq!((task.polls.len(), task.numbers["polls"]), (polls, polls as u64));
        assert_eq!((task.state(), task.parent), ("ready", None));
        assert_eq!(task.polls.last().unwrap().state, "ready");
        assert_eq!(task.begin, task.polls[0].start);
    }
}

#[test]
fn values_are_recorded_with_the_begin() {
    let recording = Recording::start();
    let (owned, borrowed) = (String::from("owned"), String::from("borrowed"));
    let traced = ready(()).trace(trace_future_args!(
        "test", "values", "owned" => owned, "borrowed" => &borrowed, "number" => 7u64, "none" => None::<u64>,
    ));
    poll_to_end(traced);
    let tasks = recording.tasks();
    let task = tasks.only("values");
    assert_eq!(task.numbers["number"], 7);
    assert_eq!(
        (task.texts["owned"].as_str(), task.texts["borrowed"].as_str()),
        ("owned", borrowed.as_str())
    );
}

#[test]
fn a_future_dropped_before_it_is_ready_is_cancelled() {
    let recording = Recording::start();
    let mut once = Box::pin(pending::<()>().trace(trace_future_args!("test", "polled once")));
    assert!(poll(once.as_mut()).is_pending());
    let mut twice = Box::pin(pending::<()>().trace(trace_future_args!("test", "polled twice")));
    assert!(poll(twice.as_mut()).is_pending() && poll(twice.as_mut()).is_pending());
    drop(once);
    std::thread::spawn(move || drop(twice)).join().unwrap();
    drop(pending::<()>().trace(trace_future_args!("test", "never polled")));
    let tasks = recording.tasks();
    assert_eq!(tasks.only("polled once").state(), "cancelled");
    assert_eq!(tasks.only("polled twice").state(), "cancelled");
    assert_eq!(tasks.only("polled twice").polls.len(), 2);
    assert_eq!(tasks.named("never polled").len(), 0);
}

#[test]
fn a_panic_ends_it() {
    let recording = Recording::start();
    let mut polls = 0;
    let mut future = Box::pin(
        poll_fn(|_| {
            polls += 1;
            assert!(polls != 2, "second poll");
            Poll::<()>::Pending
        })
        .trace(trace_future_args!("test", "panics")),
    );
    assert!(poll(future.as_mut()).is_pending());
    assert!(catch_unwind(AssertUnwindSafe(|| poll(future.as_mut()))).is_err());
    assert!(poll(future.as_mut()).is_pending(), "the untraced poll still works");
    drop(future);
    // The task that panicked is no longer a parent.
    poll_to_end(ready(()).trace(trace_future_args!("test", "after")));
    let tasks = recording.tasks();
    let task = tasks.only("panics");
    let states: Vec<_> = task.polls.iter().map(|poll| poll.state.as_str()).collect();
    assert_eq!((states, task.state()), (vec!["pending", "panicked"], "panicked"));
    assert_eq!(tasks.only("after").parent, None);
}

#[test]
fn a_poll_after_completion_is_passed_to_the_future() {
    let recording = Recording::start();
    let mut future = Box::pin(async {}.trace(trace_future_args!("test", "completed")));
    assert!(poll(future.as_mut()).is_ready());
    let second = catch_unwind(AssertUnwindSafe(|| poll(future.as_mut())));
    let message = second.unwrap_err().downcast_ref::<&str>().map(|text| (*text).to_owned());
    assert!(message.unwrap().contains("resumed after completion"));
    drop(future);
    let tasks = recording.tasks();
    assert_eq!(tasks.only("completed").polls.len(), 1);
    assert_eq!(tasks.only("completed").state(), "ready");
}

#[test]
fn the_parent_is_the_task_that_made_it_or_polls_it_first() {
    let recording = Recording::start();
    let mut made_inside = None;
    let made_outside = ready_at(2).trace(trace_future_args!("test", "made outside"));
    let parent = async {
        made_inside = Some(ready_at(2).trace(trace_future_args!("test", "made inside")));
        async { ready(()).trace(trace_future_args!("test", "grandchild")).await }
            .trace(trace_future_args!("test", "child"))
            .await;
        made_outside.await;
    };
    poll_to_end(parent.trace(trace_future_args!("test", "parent")));
    poll_to_end(made_inside.unwrap());
    let tasks = recording.tasks();
    let parent = Some(tasks.only("parent").id);
    assert_eq!(tasks.only("parent").parent, None);
    assert_eq!(tasks.only("child").parent, parent);
    assert_eq!(tasks.only("grandchild").parent, Some(tasks.only("child").id));
    assert_eq!(tasks.only("made outside").parent, parent);
    assert_eq!(tasks.only("made inside").parent, parent, "although it was polled later, in none");
}

#[test]
fn names_may_be_known_at_run_time_only() {
    let recording = Recording::of("known");
    let number = 7;
    poll_to_end(
        ready_at(2).trace(trace_future_args!("known", format!("future {number}"), "n" => number)),
    );
    let category = |on| String::from(if on { "known" } else { "unknown" });
    poll_to_end(ready_at(2).trace(trace_future_args!(category(true), "dynamic")));
    let evaluated = Cell::new(false);
    let argument = || evaluated.replace(true);
    poll_to_end(ready_at(2).trace(trace_future_args!(category(false), "off", "k" => argument())));
    let tasks = recording.tasks();
    assert_eq!(tasks.only("future 7").polls.len(), 2);
    assert_eq!(tasks.only("dynamic").polls.len(), 2);
    assert!(tasks.named("off").is_empty() && !evaluated.get());
}

#[test]
fn off_means_off() {
    let recording = Recording::of("on");
    let evaluated = Cell::new(0);
    let count = || evaluated.replace(evaluated.get() + 1);
    poll_to_end(ready(()).trace(trace_future_args!("off", "literal", "k" => count())));
    poll_to_end(ready(()).trace(trace_future_args!("off", format!("{}", count()), "k" => count())));
    // A task that is off is no parent: its own parent is used.
    let inner = || async { ready(()).trace(trace_future_args!("on", "inner")).await };
    let between = || inner().trace(trace_future_args!("off", "between"));
    poll_to_end(async { between().await }.trace(trace_future_args!("on", "outer")));
    assert_eq!(evaluated.get(), 0);
    let tasks = recording.tasks();
    assert_eq!(tasks.0.len(), 2);
    assert_eq!(tasks.only("inner").parent, Some(tasks.only("outer").id));
}

/// Scopes without an `.await` are allowed, and are within the poll.
#[test]
fn a_scope_between_two_awaits_is_in_its_poll() {
    let recording = Recording::start();
    poll_to_end(
        async {
            for _ in 0..2 {
                {
                    trace_duration!("test", "between");
                }
                ready_at(2).await;
            }
        }
        .trace(trace_future_args!("test", "around")),
    );
    let archive = recording.end();
    let provider = archive.only();
    let tasks = crate::Tasks::of(provider);
    for (scope, poll) in provider.named("between").zip(&tasks.only("around").polls) {
        let start = provider.rate.to_nanos(scope.ticks);
        assert!(poll.start <= start && start <= poll.end);
    }
    assert_eq!(provider.count("between"), 2);
}

#[test]
fn a_traced_future_has_the_properties_of_its_future() {
    fn is<T: Send + Sync + Unpin + 'static>(_: &T) {}
    let text = String::from("text");
    is(&ready(1).trace(trace_future_args!("test", "future", "text" => text)));
    let plain = ready(1u64);
    let size = size_of_val(&plain);
    let traced = plain.trace(trace_future_args!("test", "plain"));
    assert!(size_of_val(&traced) <= size + 64, "{} bytes more", size_of_val(&traced) - size);
    let local = std::rc::Rc::new(1);
    // A future that is neither `Send` nor `'static` nor `Unpin`.
    let borrows = async { *local }.trace(trace_future_args!("test", "local", "number" => &local));
    assert_eq!(poll_to_end(borrows), 1);
    let boxed: Pin<Box<dyn Future<Output = u32> + Send>> = Box::pin(ready_at(1));
    let traced: TraceFuture<_, _> = boxed.trace(trace_future_args!("test", "boxed"));
    assert!(format!("{traced:?}").starts_with("TraceFuture"));
    assert_eq!(poll_to_end(traced), 1);
}

/// As in the expansion of `#[trace_fn]` on an `async fn`: arguments are borrowed, and the task
/// begins at once.
#[test]
fn a_task_may_begin_before_its_future() {
    use trace_runtime::__private::{Name, TraceFuture};
    let recording = Recording::start();
    let text = String::from("text");
    let task = trace_runtime::__trace_task_begin!(("test", Name::Text("function")), "text" => text, "length" => text.len());
    let length = poll_to_end(TraceFuture::begun(task, async move { text.len() }));
    assert_eq!(length, 4);
    let task = trace_runtime::__trace_task_begin!(("test", Name::Text("no future")));
    drop(task);
    let tasks = recording.tasks();
    let task = tasks.only("function");
    assert_eq!(
        (task.texts["text"].as_str(), task.numbers["length"], task.state()),
        ("text", 4, "ready")
    );
    assert_eq!(tasks.only("no future").state(), "cancelled");
}
