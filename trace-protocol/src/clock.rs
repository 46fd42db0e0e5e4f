//! The clock of this process's timestamps.
//!
//! Ticks are the CPU's counter where it runs at one rate on all cores (`rdtsc`, `cntvct_el0`), and
//! nanoseconds of `CLOCK_BOOTTIME` elsewhere. Both count on while the machine sleeps. A process has
//! one such clock, which it chooses once. A provider may have another one for its records.

use std::sync::atomic::{AtomicU64, AtomicU8, Ordering};

use crate::counter;
use crate::sys::time::{nanoseconds, nanoseconds_by_system_call};

/// Where ticks come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Source {
    /// The CPU's counter.
    Counter,
    /// `CLOCK_BOOTTIME`, as the C library reads it.
    Boottime,
    /// `CLOCK_BOOTTIME` by a system call.
    SystemCall,
    /// The time of the kernel's last tick.
    Coarse,
}

const COUNTER: u8 = Source::Counter as u8;
const SYSTEM_CALL: u8 = Source::SystemCall as u8;
const COARSE: u8 = Source::Coarse as u8;

/// Where this process's ticks come from.
///
/// Rules: stored once, before the first session; read by each trace point.
static SOURCE: AtomicU8 = AtomicU8::new(COUNTER);

/// Nanoseconds from `CLOCK_MONOTONIC` to `CLOCK_BOOTTIME` when the clock was chosen.
static SUSPENDED: AtomicU64 = AtomicU64::new(0);

/// Returns the current time in ticks. Costs one read of the CPU's counter.
#[inline(always)]
pub fn ticks() -> u64 {
    if is_counter() {
        counter_ticks()
    } else {
        kernel_nanoseconds()
    }
}

/// Returns the current time in ticks, in a process whose ticks are the CPU's counter.
#[inline(always)]
pub fn counter_ticks() -> u64 {
    counter::read().unwrap_or_else(kernel_nanoseconds)
}

/// Decides where ticks come from. The calling thread may read the CPU's counter.
pub fn choose(source: Source) {
    let monotonic = nanoseconds(libc::CLOCK_MONOTONIC);
    SUSPENDED.store(boottime().saturating_sub(monotonic), Ordering::Relaxed);
    SOURCE.store(source as u8, Ordering::Relaxed);
}

/// Whether ticks are the CPU's counter, and not nanoseconds.
#[inline(always)]
pub fn is_counter() -> bool {
    SOURCE.load(Ordering::Relaxed) == COUNTER
}

/// Whether ticks come from [`Source::Coarse`].
pub fn is_coarse() -> bool {
    SOURCE.load(Ordering::Relaxed) == COARSE
}

/// Returns `CLOCK_BOOTTIME` in nanoseconds, read as the chosen source permits.
#[cold]
pub fn kernel_nanoseconds() -> u64 {
    match SOURCE.load(Ordering::Relaxed) {
        SYSTEM_CALL => nanoseconds_by_system_call(libc::CLOCK_BOOTTIME),
        COARSE => {
            let now = nanoseconds(libc::CLOCK_MONOTONIC_COARSE);
            now.wrapping_add(SUSPENDED.load(Ordering::Relaxed))
        }
        _ => boottime(),
    }
}

/// Returns `CLOCK_BOOTTIME` in nanoseconds, whatever source was chosen.
pub fn boottime() -> u64 {
    nanoseconds(libc::CLOCK_BOOTTIME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_with_each_source() {
        for source in [Source::Coarse, Source::SystemCall, Source::Boottime, Source::Counter] {
            choose(source);
            let first = ticks();
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(ticks() > first, "{source:?}");
            let (is_counter, is_coarse) = (source == Source::Counter, source == Source::Coarse);
            assert_eq!((super::is_counter(), super::is_coarse()), (is_counter, is_coarse));
        }
    }
}
