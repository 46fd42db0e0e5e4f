//! Programs that raise alerts.

use std::io::{Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use trace_runtime::{raise_alert, trace_alert, trace_duration, trace_enabled, trace_instant};

use crate::sys;

/// Traces `before` times, raises the alert `slow`, waits, traces `after` times, and ends with 7.
pub(crate) fn slow(before: u64, milliseconds: u64, after: u64) {
    let trace = crate::init();
    trace_duration!("alert", "all of it");
    for number in 0..before {
        trace_instant!("alert", "before", "number" => number);
        breathe(number);
    }
    trace_alert!("alert", "slow");
    trace_alert!("not requested", "not recorded");
    std::thread::sleep(Duration::from_millis(milliseconds));
    for number in 0..after {
        trace_instant!("alert", "after", "number" => number);
        breathe(number);
    }
    drop(trace);
    std::process::exit(7);
}

/// Pauses now and then, so that the service thread can empty a small buffer.
fn breathe(number: u64) {
    if number % 256 == 255 {
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// Raises the alert `slow` `times` times and traces before each, with a pause after each.
pub(crate) fn repeatedly(times: u64, milliseconds: u64) {
    let _trace = crate::init();
    for number in 0..times {
        trace_instant!("alert", "before", "number" => number);
        trace_alert!("slow");
        std::thread::sleep(Duration::from_millis(milliseconds));
    }
}

/// Raises the alert `failed` when it is recorded, and ends at once.
pub(crate) fn at_end() {
    let _trace = crate::init();
    while !trace_enabled!() {
        std::thread::sleep(Duration::from_millis(50));
    }
    last_function();
    trace_alert!("failed");
}

#[inline(never)]
fn last_function() {
    std::hint::black_box(());
}

/// Traces and raises the alert `slow` for each byte of standard input.
pub(crate) fn on_input() {
    let _trace = crate::init();
    for (number, _) in (0u64..).zip(std::io::BufReader::new(std::io::stdin()).bytes()) {
        trace_instant!("alert", "before", "number" => number);
        trace_alert!("slow");
    }
}

/// Raises the alert `slow` continuously while other threads trace, until it kills itself.
pub(crate) fn until_killed(milliseconds: u64) {
    let _trace = crate::init();
    for _ in 0..2 {
        std::thread::spawn(|| {
            for number in 0u64.. {
                trace_instant!("alert", "number", "number" => number);
                if number % 64 == 0 {
                    std::thread::sleep(Duration::from_micros(100));
                }
            }
        });
    }
    std::thread::spawn(|| loop {
        trace_alert!("slow");
        std::thread::sleep(Duration::from_micros(300));
    });
    std::thread::sleep(Duration::from_millis(milliseconds));
    sys::kill(std::process::id() as i32, libc::SIGKILL);
    std::thread::sleep(Duration::MAX);
}

/// Traces and raises alerts continuously, until its standard input ends.
pub(crate) fn chatter() {
    let _trace = crate::init();
    std::thread::spawn(|| {
        for number in 0u64.. {
            trace_alert!("flood");
            trace_instant!("alert", "number", "number" => number);
            std::thread::sleep(Duration::from_micros(50));
        }
    });
    // The thread may have recorded nothing yet.
    trace_instant!("alert", "ready");
    println!("ready");
    let mut input = Vec::new();
    std::io::stdin().read_to_end(&mut input).expect("standard input can be read");
}

/// Raises two kinds of alerts in several threads at full speed, and ends after so many
/// milliseconds.
pub(crate) fn many(times: u64, milliseconds: u64) {
    let _trace = crate::init();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..times).for_each(|_| trace_alert!("many")));
        }
        scope.spawn(|| (0..times).for_each(|_| assert!(raise_alert("at run time"))));
    });
    std::thread::sleep(Duration::from_millis(milliseconds));
}

/// Raises an alert whose name controls a terminal.
pub(crate) fn hostile_name() {
    let _trace = crate::init();
    assert!(raise_alert("\u{1b}[2J\n\u{202e}x"));
}

/// Raises alerts with more names than the limit.
pub(crate) fn names() {
    let _trace = crate::init();
    let sent = (0..100).filter(|number| raise_alert(&format!("name {number}"))).count();
    assert!(!raise_alert("") && !raise_alert("fifteen bytes!!") && !raise_alert("a\0b"));
    println!("{sent}");
}

static HANDLED: AtomicU64 = AtomicU64::new(0);

extern "C" fn handler(_: i32) {
    trace_alert!("handled");
    HANDLED.fetch_add(1, Ordering::SeqCst);
}

/// Raises an alert in a signal handler, while the thread that it interrupts raises one too.
pub(crate) fn in_handler(times: u64) {
    let _trace = crate::init();
    sys::handle(libc::SIGUSR1, handler);
    let target = sys::thread_id();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..times {
                let before = HANDLED.load(Ordering::SeqCst);
                sys::kill_thread(target, libc::SIGUSR1);
                while HANDLED.load(Ordering::SeqCst) == before {
                    std::thread::yield_now();
                }
            }
        });
        while HANDLED.load(Ordering::SeqCst) < times {
            trace_alert!("interrupted");
            std::thread::sleep(Duration::from_micros(10));
        }
    });
}

/// Raises different alerts in a process and in its child.
pub(crate) fn forked() {
    let trace = crate::init();
    (0..3).for_each(|_| trace_alert!("parent"));
    match sys::fork(false) {
        0 => {
            trace_alert!("nobody's");
            let trace = crate::init();
            trace_alert!("child");
            drop(trace);
            sys::exit_now(0);
        }
        child => sys::wait_for(child),
    }
    drop(trace);
}

/// Raises the alert `done`, and reports when it receives SIGTERM.
pub(crate) fn until_terminated() {
    let _trace = crate::init();
    sys::handle(libc::SIGTERM, sys::note_signal);
    trace_alert!("done");
    // With a limit, in case the test fails.
    for _ in 0..30_000 {
        if sys::SIGNALLED.load(Ordering::SeqCst) {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    println!("terminated");
    std::io::stdout().flush().expect("standard output can be written");
}
