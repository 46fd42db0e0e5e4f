//! A program that locks its memory.

use std::path::Path;
use std::time::Duration;

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
    record(events);
    println!("{}", locked().saturating_sub(own));
}

fn record(events: u64) {
    for number in 0..events {
        trace_instant!("locked", "instant", "number" => number);
    }
}

/// Records `events`. Then prints the name of each of the tracer's threads, and the KiB of its
/// stack, of the used part, and of the guard below.
pub(crate) fn print_stacks(events: u64) {
    let _trace = crate::init();
    record(events);
    let tasks = std::fs::read_dir("/proc/self/task").expect("proc is mounted");
    for task in tasks.map(|task| task.expect("a task is listed").path()) {
        let name = std::fs::read_to_string(task.join("comm")).unwrap_or_default();
        if name.starts_with("trace-") {
            let [size, used, guard] = stack_around(stack_pointer(&task));
            // A thread names itself before its first system calls here.
            let name = std::fs::read_to_string(task.join("comm")).unwrap_or_default();
            println!("{} {size} {used} {guard}", name.trim());
        }
    }
}

/// Returns the stack pointer of a thread, which is in a system call now and then.
fn stack_pointer(task: &Path) -> u64 {
    loop {
        let call = std::fs::read_to_string(task.join("syscall")).expect("the kernel reports it");
        let pointer = call.split_whitespace().rev().nth(1).and_then(|it| it.strip_prefix("0x"));
        if let Some(pointer) = pointer {
            return u64::from_str_radix(pointer, 16).expect("a number");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Returns the KiB of the mapping at an address, of its used part, and of the inaccessible mapping
/// below.
fn stack_around(address: u64) -> [u64; 3] {
    let maps = std::fs::read_to_string("/proc/self/smaps").expect("proc is mounted");
    let mut below = (0, 0);
    let mut lines = maps.lines();
    while let Some(line) = lines.next() {
        let Some((start, end, access)) = mapping(line) else { continue };
        let size = (end - start) >> 10;
        if (start..end).contains(&address) {
            let used = lines.find_map(|line| line.strip_prefix("Rss:")).expect("each has it");
            let guard = if below.0 == start { below.1 } else { 0 };
            return [size, kibibytes(used), guard];
        }
        below = (end, if access == "---p" { size } else { 0 });
    }
    panic!("no stack has the address {address:#x}");
}

/// Parses the first line of a mapping: start, end and access.
fn mapping(line: &str) -> Option<(u64, u64, &str)> {
    let mut words = line.split(' ');
    let (start, end) = words.next()?.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    Some((number(start)?, number(end)?, words.next()?))
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
    kibibytes(line.expect("Linux has it"))
}

fn kibibytes(text: &str) -> u64 {
    let number = text.trim().strip_suffix(" kB");
    number.and_then(|number| number.parse().ok()).expect("a number of KiB")
}
