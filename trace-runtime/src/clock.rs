//! The clock of all timestamps.
//!
//! Ticks are the CPU's counter where it runs at one rate on all cores (`rdtsc`, `cntvct_el0`), and
//! nanoseconds of `CLOCK_BOOTTIME` elsewhere. Both count on while the machine sleeps.

use std::sync::atomic::{AtomicU8, Ordering};

/// Where ticks come from.
///
/// Rules: stored once, before the first session; read by each trace point.
static SOURCE: AtomicU8 = AtomicU8::new(COUNTER);

const COUNTER: u8 = 0;
const KERNEL: u8 = 1;

/// The current time in ticks. Costs one read of the CPU's counter.
#[inline(always)]
pub(crate) fn ticks() -> u64 {
    if SOURCE.load(Ordering::Relaxed) == COUNTER {
        counter()
    } else {
        kernel_nanoseconds()
    }
}

/// Decides where ticks come from: the CPU's counter unless that is not reliable, or `force_kernel`.
///
/// Returns whether it is the CPU's counter.
pub(crate) fn choose(force_kernel: bool) -> bool {
    let counter = !force_kernel && counter_is_invariant();
    SOURCE.store(if counter { COUNTER } else { KERNEL }, Ordering::Relaxed);
    counter
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn counter() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, and Linux lets programs use it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
#[inline(always)]
fn counter() -> u64 {
    let ticks: u64;
    // SAFETY: reads a register that Linux lets programs read; it touches no memory and no flags.
    unsafe {
        core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags))
    };
    ticks
}

#[cfg(any(not(any(target_arch = "x86_64", target_arch = "aarch64")), miri))]
#[inline(always)]
fn counter() -> u64 {
    kernel_nanoseconds()
}

/// Whether the counter has one rate on all cores, at all times: the processor says so, and the
/// kernel has not found otherwise.
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn counter_is_invariant() -> bool {
    const INVARIANT_TSC: u32 = 1 << 8;
    use core::arch::x86_64::__cpuid;
    // CPUID is there on every x86-64 processor; a leaf is asked for only if the highest one says it
    // exists.
    #[allow(unused_unsafe, reason = "CPUID became safe to ask in a later Rust")]
    // SAFETY: see above.
    let leaf = |leaf: u32| unsafe { __cpuid(leaf) };
    let known = leaf(0x8000_0000).eax >= 0x8000_0007;
    known && leaf(0x8000_0007).edx & INVARIANT_TSC != 0 && !kernel_distrusts_counter()
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn counter_is_invariant() -> bool {
    cfg!(all(target_arch = "aarch64", not(miri)))
}

/// Whether the kernel has fallen back to a clock that it uses only where the counter is unstable.
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn kernel_distrusts_counter() -> bool {
    let source =
        std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    source.is_ok_and(|source| {
        ["hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"].contains(&source.trim())
    })
}

/// Whether ticks are the CPU's counter, and not nanoseconds.
pub(crate) fn is_counter() -> bool {
    SOURCE.load(Ordering::Relaxed) == COUNTER
}

/// `CLOCK_BOOTTIME` in nanoseconds, through the vDSO.
#[cold]
pub(crate) fn kernel_nanoseconds() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_with_either_source() {
        for force_kernel in [true, false] {
            choose(force_kernel);
            let first = ticks();
            std::thread::sleep(std::time::Duration::from_millis(2));
            assert!(ticks() > first);
        }
    }
}
