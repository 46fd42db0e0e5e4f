//! Scopes in which instructions are traced.

use std::hint::black_box;
use std::io::{stdin, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use trace_runtime::trace_duration;

/// The time between the requests of a program that runs until its input is closed.
const PAUSE: Duration = Duration::from_millis(1);

/// Traces this number of requests. Some have an argument, and some a request inside.
pub(crate) fn run(requests: u64) {
    let _trace = crate::init();
    for number in 0..requests {
        outside();
        match number % 3 {
            0 => {
                trace_duration!("web", "request");
                inside(number);
            }
            1 => {
                trace_duration!("web", "request", "number" => number);
                inside(number);
            }
            _ => {
                trace_duration!("web", "request");
                {
                    trace_duration!("web", "request");
                }
                trace_duration!("web", "part");
                inside(number);
            }
        }
        trace_duration!("web", "other");
        outside();
    }
}

/// Traces requests until standard input is closed.
pub(crate) fn until_closed() {
    let _trace = crate::init();
    println!("ready");
    let is_closed = Arc::new(AtomicBool::new(false));
    let closed = is_closed.clone();
    thread::spawn(move || {
        let _ = stdin().read_to_end(&mut Vec::new());
        closed.store(true, Ordering::Relaxed);
    });
    for number in 0.. {
        if is_closed.load(Ordering::Relaxed) {
            return;
        }
        // Each scope is recorded: without a pause there are too many.
        thread::sleep(PAUSE);
        outside();
        trace_duration!("web", "request");
        inside(number);
    }
}

/// The functions that a window has called, in their order.
type Called = Vec<&'static str>;

/// Traces this number of windows of some microseconds each. Prints the functions that each of them
/// has called, a line each.
pub(crate) fn windows(count: u64) {
    let _trace = crate::init();
    for number in 1..=count {
        let mut called = Called::with_capacity(1024);
        outside();
        {
            trace_duration!("web", "window");
            left(number * 7919, 6, &mut called);
        }
        println!("{}", called.join(" "));
    }
}

#[inline(never)]
fn left(seed: u64, depth: u32, called: &mut Called) {
    called.push("left");
    branch(seed / 3, depth, called);
    called.push("last");
    last(seed);
}

#[inline(never)]
fn right(seed: u64, depth: u32, called: &mut Called) {
    called.push("right");
    branch(seed / 2 + 1, depth, called);
}

#[inline(never)]
fn branch(seed: u64, depth: u32, called: &mut Called) {
    called.push("branch");
    let Some(depth) = depth.checked_sub(1) else { return };
    if seed % 3 != 0 {
        left(seed + 1, depth, called);
    }
    if seed % 2 != 0 {
        right(seed, depth, called);
    }
}

#[inline(never)]
fn last(seed: u64) {
    black_box(seed);
}

#[inline(never)]
fn inside(number: u64) {
    black_box(number);
}

/// Far too many instructions for single steps.
#[inline(never)]
fn outside() {
    for number in 0..1_000_000_u64 {
        black_box(number);
    }
}
