//! Many short threads.

use trace_runtime::{trace_duration, trace_instant};

use crate::sys;

/// Runs `threads` threads with names of their own, `at_once` at a time.
pub(crate) fn run(threads: u64, at_once: u64) {
    let _trace = crate::init();
    let mut running = std::collections::VecDeque::new();
    for number in 0..threads {
        if running.len() as u64 == at_once {
            join(running.pop_front());
        }
        let thread = std::thread::Builder::new().name(format!("crowd-{number}"));
        running.push_back(thread.spawn(move || live(number)).expect("a thread starts"));
    }
    running.into_iter().for_each(|thread| join(Some(thread)));
}

fn join(thread: Option<std::thread::JoinHandle<()>>) {
    if let Some(thread) = thread {
        thread.join().expect("it does not panic");
    }
}

/// Traces the thread's number.
fn live(number: u64) {
    let thread = sys::thread_id();
    trace_duration!("crowd", "life", "number" => number, "thread" => thread);
    trace_instant!("crowd", "first", "number" => number, "thread" => thread);
    trace_instant!("crowd", "second", "number" => number, "thread" => thread);
}
