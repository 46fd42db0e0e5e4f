//! The time that a hypervisor takes from the machine.
//!
//! A thread's CPU time is without it where the kernel subtracts it, and the time between the
//! switches to the thread and from it includes it.

use std::fs;

/// The time that was taken since then.
pub(crate) struct Stolen {
    ticks: u64,
}

impl Stolen {
    pub(crate) fn begin() -> Self {
        Self { ticks: ticks() }
    }

    /// Returns whether the kernel has counted some.
    pub(crate) fn is_seen(&self) -> bool {
        ticks() > self.ticks
    }

    /// Returns the most that it can be, in nanoseconds: the kernel shows whole ticks.
    pub(crate) fn most_ns(&self) -> u64 {
        (ticks() - self.ticks + 1) * 1_000_000_000 / rustix::param::clock_ticks_per_second()
    }

    /// Returns the least number of samples of so many milliseconds of CPU time, one for each: the
    /// time that was taken has few.
    pub(crate) fn least_samples(&self, milliseconds: u64) -> u64 {
        milliseconds.saturating_sub(self.most_ns() / 1_000_000) * 2 / 3
    }
}

fn ticks() -> u64 {
    let stat = fs::read_to_string("/proc/stat").unwrap();
    let ticks = stat.split_whitespace().nth(8).and_then(|number| number.parse().ok());
    ticks.expect("the eighth number of the first line")
}
