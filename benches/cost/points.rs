//! The measured loops. Each is a separate function, so that they do not affect each other.

use std::future::{poll_fn, Future};
use std::hint::black_box;
use std::pin::{pin, Pin};
use std::task::{Context, Poll, Waker};

use trace_runtime::{
    trace_at, trace_blob_event, trace_counter, trace_duration, trace_flow_step, trace_fn,
    trace_future_args, trace_instaflow_step, trace_instant, trace_log, trace_nonce, trace_track,
    Timestamp, TraceFutureExt, Track,
};

/// A loop over one trace point, `count` times.
pub(crate) type Loop = fn(count: u64);

#[inline(never)]
pub(crate) fn empty(count: u64) {
    for round in 0..count {
        black_box(round);
    }
}

#[inline(never)]
pub(crate) fn clock(count: u64) {
    for _ in 0..count {
        black_box(crate::measure::raw_clock());
    }
}

#[inline(never)]
pub(crate) fn off(count: u64) {
    for round in 0..count {
        trace_duration!("off", "scope");
        black_box(round);
    }
}

#[inline(never)]
pub(crate) fn off_with_arguments(count: u64) {
    for round in 0..count {
        trace_duration!("off", "scope", "number" => round as i64, "text" => "short");
        black_box(round);
    }
}

#[inline(never)]
pub(crate) fn scope(count: u64) {
    for round in 0..count {
        trace_duration!("bench", "scope");
        black_box(round);
    }
}

#[trace_fn(category = "bench")]
#[inline(never)]
fn traced_function(round: u64) {
    black_box(round);
}

#[inline(never)]
fn function(round: u64) {
    black_box(round);
}

#[inline(never)]
pub(crate) fn call(count: u64) {
    for round in 0..count {
        function(round);
    }
}

#[inline(never)]
pub(crate) fn attribute(count: u64) {
    for round in 0..count {
        traced_function(round);
    }
}

#[inline(never)]
pub(crate) fn scope_with_arguments(count: u64) {
    for round in 0..count {
        trace_duration!("bench", "scope with arguments", "number" => round as i64, "text" => black_box("short"));
        black_box(round);
    }
}

#[inline(never)]
pub(crate) fn instant(count: u64) {
    for _ in 0..count {
        trace_instant!("bench", "instant");
    }
}

#[inline(never)]
pub(crate) fn counter(count: u64) {
    for round in 0..count {
        trace_counter!("bench", "counter", 0, "value" => round as i64);
    }
}

/// A future that stays pending.
fn future() -> impl Future<Output = ()> {
    poll_fn(|_| {
        black_box(());
        Poll::Pending
    })
}

fn polls(count: u64, mut future: Pin<&mut impl Future<Output = ()>>) {
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..count {
        let _pending = black_box(future.as_mut().poll(&mut context));
    }
}

#[inline(never)]
pub(crate) fn polls_untraced(count: u64) {
    polls(count, pin!(future()));
}

#[inline(never)]
pub(crate) fn polls_off(count: u64) {
    polls(count, pin!(future().trace(trace_future_args!("off", "future"))));
}

#[inline(never)]
pub(crate) fn polls_traced(count: u64) {
    polls(count, pin!(future().trace(trace_future_args!("bench", "future"))));
}

/// Writes the records of a poll, with one macro each.
#[inline(never)]
pub(crate) fn records_of_polls(count: u64) {
    let id = trace_nonce!();
    polls(
        count,
        pin!(poll_fn(|_| {
            let mut number = 0;
            let polled = {
                number += 1;
                trace_duration!("bench", "poll", "task" => id, "poll-count" => number, "poll-state" => 0u32);
                black_box(());
                Poll::Pending
            };
            trace_flow_step!("bench", "poll", id);
            polled
        })),
    );
}

#[inline(never)]
pub(crate) fn known_time(count: u64) {
    for round in 0..count {
        trace_at!(Timestamp::from_ticks(black_box(round)), instant("bench", "known time"));
    }
}

fn track() -> Track {
    Track::with_id("bench", 1)
}

#[inline(never)]
pub(crate) fn track_instant(count: u64) {
    let track = track();
    for _ in 0..count {
        trace_track!(track, instant("bench", "instant on a track"));
    }
}

#[inline(never)]
pub(crate) fn track_scope(count: u64) {
    let track = track();
    for round in 0..count {
        trace_track!(track, duration("bench", "scope on a track"));
        black_box(round);
    }
}

#[inline(never)]
pub(crate) fn instaflow(count: u64) {
    for round in 0..count {
        trace_instaflow_step!("bench", "flow", "step", round);
    }
}

#[inline(never)]
pub(crate) fn log(count: u64) {
    for round in 0..count {
        trace_log!("bench", "round {round}");
    }
}

#[inline(never)]
pub(crate) fn blob_event(count: u64) {
    let data = [7u8; 1024];
    for _ in 0..count {
        trace_blob_event!("bench", "blob event", black_box(&data));
    }
}

#[inline(never)]
pub(crate) fn conversion(count: u64) {
    let now = std::time::Instant::now();
    for _ in 0..count {
        black_box(Timestamp::from(black_box(now)));
    }
}
