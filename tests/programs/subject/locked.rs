//! A program that locks its memory.

use trace_runtime::trace_instant;

use crate::sys;

/// Locks all memory, before or after tracing begins, depending on `when`. With a `limit` other than
/// 0, runs as an unprivileged user who may lock that many KiB. Then records `events`.
///
/// Prints the KiB of locked memory that tracing adds.
pub(crate) fn run(when: &str, limit: u64, events: u64) {
    let own = total();
    if limit != 0 {
        sys::limit_locked_memory(limit << 10);
    }
    let lock = || sys::lock_all_memory().expect("the memory fits the limit");
    if when == "before" {
        lock();
    }
    let _trace = crate::init();
    if when == "after" {
        lock();
    }
    for number in 0..events {
        trace_instant!("locked", "instant", "number" => number);
    }
    println!("{}", locked().saturating_sub(own));
}

/// Returns the KiB of locked memory.
fn locked() -> u64 {
    status("VmLck:")
}

/// Returns the KiB of address space.
fn total() -> u64 {
    status("VmSize:")
}

fn status(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
    number.and_then(|number| number.trim().parse().ok()).expect("a number of KiB")
}
