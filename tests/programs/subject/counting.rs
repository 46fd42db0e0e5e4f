//! Counting in the trace and in shared memory, which shows the committed records after the process
//! is killed.
//!
//! For each thread, the file has the number of begun scopes, of instants, and of ended scopes.

use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use trace_runtime::{trace_duration, trace_fn, trace_instant};

use crate::sys;

/// Numbers of each thread in the file.
pub(crate) const NUMBERS: usize = 3;

/// Counts in `threads` threads until the process is killed.
pub(crate) fn count(file: &Path, threads: u64) {
    let numbers = sys::shared_numbers(file, threads as usize * NUMBERS);
    let _trace = crate::init();
    std::thread::scope(|scope| {
        for (thread, numbers) in numbers.chunks_exact(NUMBERS).enumerate() {
            scope.spawn(move || {
                count_for_ever(thread as u64, [&numbers[0], &numbers[1], &numbers[2]])
            });
        }
    });
}

fn count_for_ever(thread: u64, [begun, instants, ended]: [&std::sync::atomic::AtomicU64; NUMBERS]) {
    trace_duration!("count", "whole thread", "thread" => thread);
    for number in 0u64.. {
        {
            trace_duration!("count", "scope", "number" => number, "thread" => thread);
            begun.store(number + 1, Ordering::SeqCst);
            trace_instant!("count", "instant", "number" => number, "thread" => thread);
            instants.store(number + 1, Ordering::SeqCst);
        }
        ended.store(number + 1, Ordering::SeqCst);
        // Slow enough for a manager on the same core.
        (0..2000).for_each(|_| std::hint::spin_loop());
    }
}

/// Calls functions in `threads` threads until the process is killed.
pub(crate) fn count_calls(file: &Path, threads: u64) {
    let numbers = sys::shared_numbers(file, threads as usize * NUMBERS);
    let _trace = crate::init_recording();
    std::thread::scope(|scope| {
        for numbers in numbers.chunks_exact(NUMBERS) {
            scope.spawn(move || loop {
                called(&numbers[0], &numbers[1]);
                numbers[2].fetch_add(1, Ordering::SeqCst);
                // Slow enough for a manager on the same core.
                (0..2000).for_each(|_| std::hint::spin_loop());
            });
        }
    });
}

/// Counts when it has begun, and when the inner function has ended.
#[trace_fn(category = "calls", name = "called")]
fn called(begun: &AtomicU64, inner: &AtomicU64) {
    begun.fetch_add(1, Ordering::SeqCst);
    inside();
    inner.fetch_add(1, Ordering::SeqCst);
}

#[trace_fn(category = "calls", name = "inside")]
fn inside() {
    std::hint::black_box(());
}

/// Calls two functions, one in the other, this often.
pub(crate) fn call(times: u64) {
    let _trace = crate::init();
    let numbers = [AtomicU64::new(0), AtomicU64::new(0)];
    (0..times).for_each(|_| called(&numbers[0], &numbers[1]));
}

/// Starts `times` processes that count in `directory`, each with two threads, and kills each at a
/// random moment.
///
/// The environment selects where they trace: into files of their own if it names a file.
pub(crate) fn count_and_be_killed(times: u64, directory: &Path, seed: u64) {
    let mut random = seed | 1;
    for index in 0..times {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let mut child = start_counting(directory, index);
        // Some are killed while they start. On a slow machine that would be all.
        if index % 4 != 0 {
            wait_until_it_counts(&directory.join(format!("index-{index}.numbers")));
        }
        std::thread::sleep(Duration::from_micros(random % 40_000));
        child.kill().expect("it runs until it is killed");
        child.wait().expect("it can be waited for");
        for file in ["numbers", "fxt.buffer", "fxt.partial"] {
            let path = |name: String| directory.join(format!("{name}.{file}"));
            // If it was killed early, the files do not exist.
            std::fs::rename(path(format!("index-{index}")), path(child.id().to_string())).ok();
        }
    }
}

fn wait_until_it_counts(numbers: &Path) {
    let has_counted = || std::fs::read(numbers).is_ok_and(|it| it.iter().any(|byte| *byte != 0));
    while !has_counted() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn start_counting(directory: &Path, index: u64) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("it knows where it is"));
    command.arg("count").arg(directory.join(format!("index-{index}.numbers"))).arg("2");
    if std::env::var_os("SELF_TRACING").is_some() {
        command.env("TRACE_OUTPUT", directory.join(format!("index-{index}.fxt")));
    }
    command.spawn().expect("it starts")
}

/// Records this many numbered instants at full speed, and ends.
pub(crate) fn burst(count: u64) {
    let _trace = crate::init();
    for number in 0..count {
        trace_instant!("burst", "instant", "number" => number);
    }
}

/// Counts in several threads and in many short ones, during any number of sessions, until standard
/// input ends.
pub(crate) fn storm() {
    let _trace = crate::init();
    println!("ready");
    for thread in 0..3u64 {
        std::thread::spawn(move || {
            for number in 0u64.. {
                gust(thread, number);
            }
        });
    }
    std::thread::spawn(|| {
        for number in 0u64.. {
            let short = std::thread::spawn(move || gust(3, number));
            short.join().expect("it does not panic");
        }
    });
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).expect("standard input can be read");
}

fn gust(thread: u64, number: u64) {
    trace_duration!("storm", "outer", "number" => number, "thread" => thread);
    trace_duration!("storm", "inner");
    trace_instant!("storm", "instant", "number" => number, "thread" => thread);
}

/// Events of [`publish`] between two pauses.
const BURST: u64 = 5;

/// Records numbered events of a program with this number, a few after each pause of so many
/// microseconds, and stores their number in a file, until standard input ends.
pub(crate) fn publish(program: u64, file: &Path, pause: u64) {
    let numbers = sys::shared_numbers(file, 1);
    let _trace = crate::init();
    println!("ready");
    std::thread::spawn(move || {
        for number in 0u64.. {
            trace_instant!("publish", "event", "program" => program, "number" => number);
            numbers[0].store(number + 1, Ordering::SeqCst);
            if number % BURST == BURST - 1 {
                std::thread::sleep(Duration::from_micros(pause));
            }
        }
    });
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).expect("standard input can be read");
}
