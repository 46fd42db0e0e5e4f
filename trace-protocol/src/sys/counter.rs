//! The CPU's time counter.
//!
//! Counter values of all CPUs of a machine agree where the counter is invariant; whether it is, a
//! provider decides when it registers
//! (`ClockSource`).

/// Reads the counter; `None` on a processor that has none which programs can read.
#[inline(always)]
pub fn read() -> Option<u64> {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: every x86-64 processor has the instruction, and Linux lets programs use it.
    return Some(unsafe { core::arch::x86_64::_rdtsc() });
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    {
        let ticks: u64;
        // SAFETY: reads a register that Linux lets programs read; it touches no memory and no
        // flags.
        unsafe {
            core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags))
        };
        return Some(ticks);
    }
    #[allow(unreachable_code, reason = "reached on processors without a counter")]
    None
}

/// Whether the counter has one rate on all cores, at all times: the processor says so, and the
/// kernel has not found otherwise.
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub fn is_invariant() -> bool {
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

/// Whether the counter has one rate on all cores, at all times.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub fn is_invariant() -> bool {
    cfg!(all(target_arch = "aarch64", not(miri)))
}

/// Whether the kernel has fallen back to a clock that it uses only where the counter is unstable.
/// Allocates no memory, for the sake of a provider's service thread.
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn kernel_distrusts_counter() -> bool {
    use std::io::Read;
    const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let mut source = [0; 32];
    let length = std::fs::File::open(SOURCE).and_then(|mut file| file.read(&mut source));
    let source = source.get(..length.unwrap_or(0)).unwrap_or_default().trim_ascii();
    [&b"hpet"[..], b"acpi_pm", b"jiffies", b"refined-jiffies", b"pit"].contains(&source)
}

/// Whether the kernel ends the calling thread for reading the counter.
pub fn is_forbidden() -> bool {
    let mut state: libc::c_int = 0;
    // SAFETY: `state` is a valid place for the answer.
    let answered = unsafe { libc::prctl(libc::PR_GET_TSC, &raw mut state) } == 0;
    answered && state == libc::PR_TSC_SIGSEGV
}

/// Lets the calling thread read the counter, which threads inherit.
pub fn allow() {
    if is_forbidden() {
        permit(libc::PR_TSC_ENABLE);
    }
}

/// Runs `run` in a thread that may read the counter meanwhile, as the standard library does where
/// it waits for a limited time.
pub fn with<T>(run: impl FnOnce() -> T) -> T {
    let forbidden = is_forbidden();
    if forbidden {
        permit(libc::PR_TSC_ENABLE);
    }
    let result = run();
    if forbidden {
        permit(libc::PR_TSC_SIGSEGV);
    }
    result
}

fn permit(permission: libc::c_int) {
    // SAFETY: the call takes an integer, and changes what this thread may do.
    unsafe { libc::prctl(libc::PR_SET_TSC, permission as libc::c_ulong) };
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
