//! Programs whose trace points compare their durations.

use std::future::{poll_fn, Future};
use std::path::Path;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread::sleep;
use std::time::{Duration, Instant};

use trace_runtime::context::{EventType, TracePoint};
use trace_runtime::{
    trace_async_begin, trace_async_end, trace_async_enter, trace_duration, trace_duration_begin,
    trace_duration_end, trace_fn, trace_future_args, trace_instant, trace_nonce, trace_track,
    TraceFutureExt, Track,
};
use tracing::Instrument;

/// Longer than the limits of the tests.
const LONG: Duration = Duration::from_millis(60);

/// Traces, plants a long request of this kind, waits until the directory has a snapshot, and
/// traces again.
pub(crate) fn run(kind: &str, directory: &Path) {
    let _trace = crate::init();
    for number in 0..50_u64 {
        trace_instant!("web", "before", "number" => number);
    }
    match kind {
        "scope" => {
            trace_duration!("web", "request");
            sleep(LONG);
        }
        "arguments" => {
            trace_duration!("web", "request", "path" => "/index");
            sleep(LONG);
        }
        "attribute" => request(),
        "point" => {
            let point = TracePoint::new(EventType::DurationBegin, "web", "request", &[]);
            let _scope = point.begin(&[]);
            sleep(LONG);
        }
        "future" => run_for(LONG, twice().trace(trace_future_args!("web", "request"))),
        "async function" => run_for(LONG, asynchronous()),
        "future with arguments" => run_for(LONG, with_argument(7)),
        "cancelled future" => {
            let future = std::future::pending::<()>();
            let mut future = Box::pin(future.trace(trace_future_args!("web", "request")));
            assert!(poll_once(&mut future).is_pending());
            sleep(LONG);
        }
        "guard" => {
            let _operation = trace_async_enter!("web", "request", trace_nonce!());
            sleep(LONG);
        }
        "track" => {
            trace_track!(Track::new("queue"), duration("web", "request"));
            sleep(LONG);
        }
        "span" => tracing::subscriber::with_default(trace_tracing::subscriber(), || {
            run_for(LONG, twice().instrument(tracing::info_span!(target: "web", "request")));
        }),
        "open future" => {
            let mut future = pin!(twice().trace(trace_future_args!("web", "request")));
            assert!(poll_once(&mut future).is_pending());
            sleep(LONG);
            // The future never ends.
            std::process::exit(0);
        }
        "open" => {
            trace_duration!("web", "request");
            sleep(LONG);
            // The scope never ends.
            std::process::exit(0);
        }
        other => panic!("unknown kind {other:?}"),
    }
    let begun = Instant::now();
    while !has_snapshot(directory) {
        assert!(begun.elapsed() < Duration::from_secs(60), "no snapshot");
        sleep(Duration::from_millis(5));
    }
    trace_instant!("web", "after");
}

#[trace_fn(category = "web", name = "request")]
fn request() {
    sleep(LONG);
}

#[trace_fn(category = "web", name = "request")]
async fn asynchronous() {
    twice().await;
}

#[trace_fn(category = "web", name = "request", args(number))]
fn with_argument(number: u64) -> impl Future<Output = ()> {
    let _ = number;
    twice()
}

/// A future that is ready in its second poll.
fn twice() -> impl Future<Output = ()> {
    let mut is_ready = false;
    poll_fn(move |_| match std::mem::replace(&mut is_ready, true) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
}

/// Polls a future to its end. The time between two polls is `time`.
fn run_for(time: Duration, future: impl Future<Output = ()>) {
    let mut future = pin!(future);
    while poll_once(&mut future).is_pending() {
        sleep(time);
    }
}

fn poll_once(future: &mut (impl Future<Output = ()> + Unpin)) -> Poll<()> {
    std::pin::Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

fn has_snapshot(directory: &Path) -> bool {
    let entries = directory.read_dir().unwrap().map(|entry| entry.unwrap().file_name());
    entries.filter_map(|name| name.into_string().ok()).any(|name| name.starts_with("out-snapshot-"))
}

/// Runs as many scopes, operations and spans of a name each, of at least 2 ms, and begins and ends
/// as many durations and operations of further names. A scope and an operation share the last one.
pub(crate) fn requests(count: u64) {
    let _trace = crate::init();
    tracing::subscriber::with_default(trace_tracing::subscriber(), || trace_requests(count));
}

fn trace_requests(count: u64) {
    let long = Duration::from_millis(2);
    for _ in 0..count {
        {
            trace_duration!("web", "request");
            trace_duration!("web", "inner");
            run_for(long, slow_polls(long).instrument(tracing::info_span!(target: "web", "span")));
        }
        trace_duration_begin!("web", "pair");
        sleep(long);
        trace_duration_end!("web", "pair");
        run_for(Duration::ZERO, slow_polls(long).trace(trace_future_args!("web", "task")));
        {
            let _operation = trace_async_enter!("web", "operation", trace_nonce!());
            sleep(long);
        }
        let id = trace_nonce!();
        trace_async_begin!("web", "separate", id);
        sleep(long);
        trace_async_end!("web", "separate", id);
        trace_duration!("web", "mixed");
        let id = trace_nonce!();
        trace_async_begin!("web", "mixed", id);
        sleep(long);
        trace_async_end!("web", "mixed", id);
    }
}

/// A future that is ready in its second poll. Each poll takes `time`.
async fn slow_polls(time: Duration) {
    sleep(time);
    twice().await;
    sleep(time);
}
