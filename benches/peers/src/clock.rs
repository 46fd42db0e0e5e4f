//! The two clocks: the raw counter, which is the unit of comparison, and the traced thread's CPU
//! time, which is measured.

use rustix::time::{clock_gettime, ClockId};

/// Reads the processor's counter, unserialised, as tracers do.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[allow(unsafe_code)]
pub fn ticks() -> u64 {
    // SAFETY: `rdtsc` has no precondition on x86_64: it reads a register, and Linux leaves it open
    // to user mode.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Reads the processor's counter, unserialised, as tracers do.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
#[allow(unsafe_code)]
pub fn ticks() -> u64 {
    let ticks: u64;
    // SAFETY: the virtual counter is readable at EL0 under Linux; the instruction touches neither
    // memory, stack nor flags.
    unsafe {
        core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags))
    };
    ticks
}

/// Returns the CPU time of the calling thread, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    cpu_ns(ClockId::ThreadCPUTime)
}

/// Returns the CPU time of the whole process, in nanoseconds.
pub fn process_cpu_ns() -> u64 {
    cpu_ns(ClockId::ProcessCPUTime)
}

fn cpu_ns(id: ClockId) -> u64 {
    let time = clock_gettime(id);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
