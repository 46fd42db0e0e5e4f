//! Traced futures.

use std::future::{poll_fn, Future};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use trace_runtime::{trace_future_args, TraceFutureExt};

use crate::sys;

/// Is killed in the second poll of a future.
pub(crate) fn poll_and_be_killed() {
    let _trace = crate::init();
    let mut polls = 0u32;
    let future = poll_fn(|_| {
        polls += 1;
        if polls == 2 {
            sys::kill(std::process::id() as i32, libc::SIGKILL);
        }
        Poll::<()>::Pending
    });
    let mut future = pin!(future.trace(trace_future_args!("task", "future")));
    while future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {}
}
