//! The kernel's clocks, in nanoseconds.

/// Reads a clock through the vDSO, which reads the CPU's counter for all but the coarse clocks.
pub(crate) fn nanoseconds(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result.
    unsafe { libc::clock_gettime(clock, &mut time) };
    in_nanoseconds(time)
}

/// Reads a clock without the CPU's counter.
pub(crate) fn nanoseconds_by_system_call(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result.
    unsafe { libc::syscall(libc::SYS_clock_gettime, clock, &raw mut time) };
    in_nanoseconds(time)
}

fn in_nanoseconds(time: libc::timespec) -> u64 {
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_read_the_same_clock() {
        let boottime = nanoseconds(libc::CLOCK_BOOTTIME);
        let minute = boottime..boottime + 60_000_000_000;
        assert!(minute.contains(&nanoseconds_by_system_call(libc::CLOCK_BOOTTIME)));
    }
}
