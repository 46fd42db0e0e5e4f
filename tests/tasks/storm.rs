//! Recordings begin and end at any moment, while threads create, poll, pass on and drop futures.

use std::future::{poll_fn, Future};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use trace_runtime::{trace_future_args, TraceFutureExt};

use crate::found::Tasks;
use crate::Recording;

const RECORDINGS: usize = 30;
const THREADS: u64 = 3;

/// Polls of all threads since the recording began.
static POLLS: AtomicU64 = AtomicU64::new(0);
/// A recording ends after this number of polls. The threads continue, slowly after twice as many,
/// so that the buffer has room for all.
const ENOUGH: u64 = 100;
const MOST: u64 = 2 * ENOUGH;

type Boxed = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Returns a future that polls and creates others, and is ready at this poll.
fn future(polls: u64, depth: u64) -> Boxed {
    let mut done = 0;
    let mut children = Vec::new();
    let future = poll_fn(move |context| {
        done += 1;
        if depth > 0 {
            children.push(future(done % 4, depth - 1));
        }
        children.retain_mut(|child| child.as_mut().poll(context).is_pending());
        if done > polls {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    });
    Box::pin(future.trace(trace_future_args!("storm", "future", "polls" => polls)))
}

/// Polls futures that other threads pass on, and passes them on too.
fn work(stop: &AtomicBool, number: u64, from: &Receiver<Boxed>, to: &Sender<Boxed>) {
    let mut context = Context::from_waker(Waker::noop());
    for round in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let mut polled = from.try_recv().unwrap_or_else(|_| future((round + number) % 7, 2));
        if polled.as_mut().poll(&mut context).is_pending() && round % 5 != 0 {
            let _gone = to.send(polled);
        }
        if POLLS.fetch_add(1, Ordering::Relaxed) > MOST {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn records_belong_to_their_recording() {
    for _ in 0..RECORDINGS {
        let recording = Recording::with(|builder| {
            builder.categories(["storm"]).buffer_size(16 << 20).oneshot()
        });
        POLLS.store(0, Ordering::Relaxed);
        while POLLS.load(Ordering::Relaxed) < ENOUGH {
            std::thread::yield_now();
        }
        let archive = recording.end();
        let tasks = Tasks::cut(archive.only());
        assert!(!tasks.0.is_empty(), "the recording has tasks");
        let ended = tasks.0.values().filter(|task| task.end.is_some()).count();
        assert!(ended > 0, "of {} tasks none has ended", tasks.0.len());
    }
}

#[test]
fn no_recording_has_records_of_tasks_from_another_one() {
    let stop = AtomicBool::new(false);
    let (mut senders, mut receivers): (Vec<_>, Vec<_>) = (0..THREADS).map(|_| channel()).unzip();
    // Each thread passes on to the next one.
    senders.rotate_left(1);
    std::thread::scope(|scope| {
        for (number, (to, from)) in senders.drain(..).zip(receivers.drain(..)).enumerate() {
            let stop = &stop;
            scope.spawn(move || work(stop, number as u64, &from, &to));
        }
        let result = std::panic::catch_unwind(records_belong_to_their_recording);
        stop.store(true, Ordering::Relaxed);
        result.unwrap();
    });
}
