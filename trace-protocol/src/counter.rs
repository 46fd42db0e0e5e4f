//! The CPU's time counter, for the side that measures its rate.
//!
//! Counter values of all CPUs of a machine agree where the counter is invariant; whether it is, a
//! provider decides when it registers
//! ([`ClockSource`](crate::message::ClockSource)).

/// Reads the counter; `None` on a processor that has none which programs can read.
pub fn read() -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: rdtsc is part of the x86_64 baseline and touches no memory.
    return Some(unsafe { std::arch::x86_64::_rdtsc() });
    #[cfg(target_arch = "aarch64")]
    {
        let ticks: u64;
        // SAFETY: Linux lets programs read cntvct_el0; the instruction touches no memory.
        unsafe { std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
        return Some(ticks);
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    None
}

#[cfg(test)]
mod tests {
    #[test]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn the_counter_counts() {
        let before = super::read();
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert!(super::read() > before);
    }
}
