//! Threads that may not read the CPU's counter.

use std::sync::atomic::{AtomicBool, Ordering};

use trace_runtime::trace_instant;

use crate::sys;

static DONE: AtomicBool = AtomicBool::new(false);

/// Traces a number of events in a thread that may not read the counter: `all` of them, one
/// `thread`, or a `strict` one, under strict seccomp.
pub(crate) fn run(which: &str, number: u64) {
    let events = move || events(number);
    match which {
        "all" => {
            sys::forbid_counter();
            let _trace = crate::init();
            events();
        }
        "thread" => {
            let _trace = crate::init();
            std::thread::spawn(move || {
                sys::forbid_counter();
                events();
            })
            .join()
            .expect("it does not panic");
        }
        "strict" => {
            let _trace = crate::init();
            // Not joined: it ends without the standard library.
            drop(std::thread::spawn(move || {
                sys::forbid_system_calls();
                events();
                DONE.store(true, Ordering::Release);
                sys::exit_thread();
            }));
            while !DONE.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
        }
        _ => panic!("no such threads: {which}"),
    }
}

fn events(number: u64) {
    for number in 0..number {
        trace_instant!("clocks", "instant", "number" => number);
    }
}
