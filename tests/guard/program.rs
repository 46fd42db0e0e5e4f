//! The recorded program: threads that count, and publish their number after each trace point.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use trace_runtime::{trace_counter, trace_enabled};

/// The number of counting threads.
pub(crate) const THREADS: u64 = 2;

/// The variable with the name of the progress file. The file has the process id, then each thread's
/// last number.
pub(crate) const PROGRESS: &str = "GUARD_TEST_PROGRESS";

/// Numbers between two pauses, so that few are dropped because of a full buffer.
const BURST: u64 = 100;
const PAUSE: Duration = Duration::from_millis(1);

pub(crate) fn run() {
    let progress = std::env::var_os(PROGRESS).expect("the test says where the progress goes");
    let progress = File::options().write(true).open(progress).expect("the test made it");
    let _trace = trace_runtime::init();
    while !trace_enabled!() {
        std::thread::sleep(PAUSE);
    }
    publish(&progress, 0, std::process::id().into());
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let progress = &progress;
            scope.spawn(move || count(thread, progress));
        }
    });
}

fn count(thread: u64, progress: &File) {
    for number in 1u64.. {
        trace_counter!("guard", "counted", thread, "number" => number);
        publish(progress, 1 + thread, number);
        if number % BURST == 0 {
            std::thread::sleep(PAUSE);
        }
    }
}

fn publish(progress: &File, place: u64, number: u64) {
    progress.write_all_at(&number.to_le_bytes(), place * 8).expect("the progress can be written");
}
