//! Signal handlers that trace.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use trace_runtime::{trace_duration, trace_instant, Timestamp};

use crate::sys;

/// Calls of the handler.
static HANDLED: AtomicU64 = AtomicU64::new(0);

/// Rounds of the thread that the handler interrupts.
static ROUNDS: AtomicU64 = AtomicU64::new(0);

/// The number of handler calls to wait for, for at most 20 times the rounds.
const ENOUGH: u64 = 100;

/// Traces a scope with an instant in it.
extern "C" fn handler(_: i32) {
    let number = HANDLED.fetch_add(1, Ordering::SeqCst);
    // The interrupted thread may be converting a moment, too.
    black_box(Timestamp::from(Instant::now()));
    trace_duration!("signal", "handler scope", "number" => number);
    trace_instant!("signal", "handler", "number" => number);
}

/// Traces at least `rounds` times in this thread while another one sends it signals at a high rate.
pub(crate) fn trace_in_handler(rounds: u64) {
    let trace = crate::init_recording();
    sys::handle(libc::SIGUSR1, handler);
    let target = sys::thread_id();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::SeqCst) {
                sys::kill_thread(target, libc::SIGUSR1);
                // The pause lets the thread progress, because the handler takes time too.
                (0..500).for_each(|_| std::hint::spin_loop());
            }
        });
        while HANDLED.load(Ordering::SeqCst) == 0 {
            std::hint::spin_loop();
        }
        let is_enough = || HANDLED.load(Ordering::SeqCst) >= ENOUGH;
        let rounds = (0..20 * rounds).take_while(|number| *number < rounds || !is_enough());
        for number in rounds {
            black_box(Timestamp::from(Instant::now()));
            trace_duration!("signal", "scope", "number" => number);
            trace_instant!("signal", "instant", "number" => number, "text" => "some text that takes a while to copy");
            ROUNDS.store(number + 1, Ordering::SeqCst);
        }
        stop.store(true, Ordering::SeqCst);
    });
    drop(trace);
    say();
}

/// Prints how often the handler was called, and how often the interrupted thread has traced.
fn say() {
    println!("{} {}", HANDLED.load(Ordering::SeqCst), ROUNDS.load(Ordering::SeqCst));
}

/// Starts `threads` threads that each trace once, while signals are sent at a high rate. Most of
/// them interrupt a thread's first record.
pub(crate) fn first_records(threads: u64) {
    let trace = crate::init_recording();
    sys::handle(libc::SIGUSR1, handler);
    for number in 0..threads {
        let (ready, go) = (AtomicU64::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                ready.store(sys::thread_id(), Ordering::SeqCst);
                trace_instant!("signal", "instant", "number" => number);
                while !go.load(Ordering::SeqCst) {
                    std::hint::spin_loop();
                }
            });
            while ready.load(Ordering::SeqCst) == 0 {
                std::hint::spin_loop();
            }
            for _ in 0..20 {
                sys::kill_thread(ready.load(Ordering::SeqCst), libc::SIGUSR1);
            }
            go.store(true, Ordering::SeqCst);
        });
    }
    drop(trace);
    say();
}
