//! A thread that takes CPU time in two scopes, by functions of their own.

use std::hint::black_box;
use std::time::Duration;

use rustix::time::{clock_gettime, ClockId};
use trace_runtime::trace_duration;

/// Takes CPU time in the scopes `first` and `second`, and outside of them.
pub(crate) fn run(milliseconds: u64) {
    let _trace = crate::init();
    let part = Duration::from_millis(milliseconds);
    // Samples are not taken in step with the scopes.
    for number in [3, 5, 4, 6, 2] {
        let part = part * number / 20;
        {
            trace_duration!("sampled", "first");
            in_first(part);
        }
        {
            trace_duration!("sampled", "second");
            in_second(part);
        }
        outside(part);
    }
}

#[inline(never)]
fn in_first(time: Duration) {
    spin(time);
}

#[inline(never)]
fn in_second(time: Duration) {
    spin(time);
}

#[inline(never)]
fn outside(time: Duration) {
    spin(time);
}

/// Takes CPU time of this thread.
fn spin(time: Duration) {
    let end = cpu_time() + time;
    while cpu_time() < end {
        black_box((0..1000_u64).fold(0, |sum, number| black_box(sum + number)));
    }
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
