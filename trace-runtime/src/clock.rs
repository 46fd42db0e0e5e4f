//! The clock of all timestamps.
//!
//! Ticks are the CPU's counter where it runs at one rate on all cores (`rdtsc`, `cntvct_el0`), and
//! nanoseconds of `CLOCK_BOOTTIME` elsewhere. Both count on while the machine sleeps. The
//! application can choose: see [`Clock`].
//!
//! Whether a thread may read the counter is asked for once, of the thread that makes the process a
//! provider. It would take a system call for each thread, and a thread may be ended for one.

use std::sync::atomic::{AtomicU64, AtomicU8, Ordering};

use crate::Clock;

/// Where ticks come from.
///
/// Rules: stored once, before the first session; read by each trace point.
static SOURCE: AtomicU8 = AtomicU8::new(COUNTER);

const COUNTER: u8 = 0;
const KERNEL: u8 = 1;
const SYSTEM_CALL: u8 = 2;
const COARSE: u8 = 3;

/// Nanoseconds from `CLOCK_MONOTONIC` to `CLOCK_BOOTTIME` when the clock was chosen.
static SUSPENDED: AtomicU64 = AtomicU64::new(0);

/// The current time in ticks. Costs one read of the CPU's counter.
#[inline(always)]
pub(crate) fn ticks() -> u64 {
    if SOURCE.load(Ordering::Relaxed) == COUNTER {
        counter()
    } else {
        kernel_nanoseconds()
    }
}

/// Decides where ticks come from. Returns whether that is the CPU's counter.
///
/// The calling thread may read the counter.
pub(crate) fn choose(clock: Clock) -> bool {
    let source = match clock {
        Clock::Counter if counter_is_invariant() => COUNTER,
        Clock::Counter | Clock::Boottime => KERNEL,
        Clock::SystemCall => SYSTEM_CALL,
        Clock::Coarse => COARSE,
    };
    let monotonic = nanoseconds(libc::CLOCK_MONOTONIC);
    let suspended = nanoseconds(libc::CLOCK_BOOTTIME).saturating_sub(monotonic);
    SUSPENDED.store(suspended, Ordering::Relaxed);
    SOURCE.store(source, Ordering::Relaxed);
    source == COUNTER
}

/// Whether the clock is [`Clock::Coarse`].
pub(crate) fn is_coarse() -> bool {
    SOURCE.load(Ordering::Relaxed) == COARSE
}

/// The clock for a process that has not chosen one: without the counter if the calling thread may
/// not read it.
pub(crate) fn preferred() -> Clock {
    match counter_is_forbidden() {
        true => Clock::SystemCall,
        false => Clock::Counter,
    }
}

/// Whether the kernel ends the calling thread for reading the CPU's counter.
fn counter_is_forbidden() -> bool {
    let mut state: libc::c_int = 0;
    // SAFETY: `state` is a valid place for the answer.
    let answered = unsafe { libc::prctl(libc::PR_GET_TSC, &raw mut state) } == 0;
    answered && state == libc::PR_TSC_SIGSEGV
}

fn permit_counter(permission: libc::c_int) {
    // SAFETY: the call takes an integer, and changes what this thread may do.
    unsafe { libc::prctl(libc::PR_SET_TSC, permission as libc::c_ulong) };
}

/// Lets the calling thread read the CPU's counter, which threads inherit. For the service thread.
pub(crate) fn allow_counter() {
    if counter_is_forbidden() {
        permit_counter(libc::PR_TSC_ENABLE);
    }
}

/// Runs `run` in a thread that may read the CPU's counter meanwhile, as the standard library does
/// where it waits for a limited time.
///
/// Asks the kernel only where `clock` is one for threads that may not.
pub(crate) fn with_counter<T>(clock: Clock, run: impl FnOnce() -> T) -> T {
    let forbidden = matches!(clock, Clock::SystemCall | Clock::Coarse) && counter_is_forbidden();
    if forbidden {
        permit_counter(libc::PR_TSC_ENABLE);
    }
    let result = run();
    if forbidden {
        permit_counter(libc::PR_TSC_SIGSEGV);
    }
    result
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

/// `CLOCK_BOOTTIME` in nanoseconds, read as the chosen clock permits.
#[cold]
pub(crate) fn kernel_nanoseconds() -> u64 {
    match SOURCE.load(Ordering::Relaxed) {
        SYSTEM_CALL => nanoseconds_by_system_call(),
        COARSE => {
            let now = nanoseconds(libc::CLOCK_MONOTONIC_COARSE);
            now.wrapping_add(SUSPENDED.load(Ordering::Relaxed))
        }
        _ => nanoseconds(libc::CLOCK_BOOTTIME),
    }
}

/// Through the vDSO, which reads the CPU's counter for all but the coarse clocks.
fn nanoseconds(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result.
    unsafe { libc::clock_gettime(clock, &mut time) };
    in_nanoseconds(time)
}

fn nanoseconds_by_system_call() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result.
    unsafe { libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_BOOTTIME, &raw mut time) };
    in_nanoseconds(time)
}

fn in_nanoseconds(time: libc::timespec) -> u64 {
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_with_each_clock() {
        for clock in [Clock::Coarse, Clock::SystemCall, Clock::Boottime, Clock::Counter] {
            choose(clock);
            let first = ticks();
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(ticks() > first, "{clock:?}");
        }
    }

    #[test]
    fn clocks_of_the_kernel_agree() {
        let boottime = nanoseconds(libc::CLOCK_BOOTTIME);
        let second = boottime..boottime + 60_000_000_000;
        assert!(second.contains(&nanoseconds_by_system_call()));
    }
}
