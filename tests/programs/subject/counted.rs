//! Page faults and context switches, with the kernel's own counts of this process.

use std::fs;
use std::hint;
use std::thread;
use std::time::Duration;

use rustix::param::page_size;

/// Touches pages for the first time, and sleeps. Prints the numbers of faults and switches that the
/// kernel has counted.
pub(crate) fn run(pages: u64, sleeps: u64) {
    let mut bytes = vec![0_u8; pages as usize * page_size()];
    bytes.iter_mut().step_by(page_size()).for_each(|byte| *byte = 1);
    hint::black_box(&bytes);
    for _ in 0..sleeps {
        thread::sleep(Duration::from_micros(1));
    }
    println!("{} {}", faults(), switches());
}

/// Minor and major faults of this process: fields 10 and 12 of `/proc/PID/stat`.
fn faults() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("there is /proc");
    let (_, fields) = stat.rsplit_once(')').expect("the name is in brackets");
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let number = |field: usize| fields[field - 3].parse::<u64>().expect("a number");
    number(10) + number(12)
}

/// Context switches of the only thread.
fn switches() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("there is /proc");
    let counts = status.lines().filter(|line| line.contains("ctxt_switches:"));
    counts
        .map(|line| line.rsplit_once('\t').expect("a number").1.parse::<u64>().expect("one"))
        .sum()
}
