//! The clocks that an application can choose from.

/// Where timestamps come from. See [`Builder::clock`](crate::Builder::clock).
///
/// The CPU's counter is the best of them where a thread may read it. A thread may not after
/// `prctl(PR_SET_TSC, PR_TSC_SIGSEGV)` and under strict seccomp (`SECCOMP_MODE_STRICT`): the kernel
/// ends it with `SIGSEGV` at its first trace point. The C library's clock reads the counter too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Clock {
    /// The CPU's counter where it runs at one rate on all cores, else [`Clock::Boottime`].
    Counter,
    /// `CLOCK_BOOTTIME`, as the C library reads it: with the CPU's counter, and without a system
    /// call.
    Boottime,
    /// `CLOCK_BOOTTIME` by a system call, for threads that may not read the counter. A trace point
    /// takes some 100 ns longer. Strict seccomp forbids it.
    SystemCall,
    /// The time of the kernel's last tick, 1 to 10 ms apart: needs neither the counter nor a system
    /// call, and so works under strict seccomp. Trace points do not wake the service thread either,
    /// which looks at full buffers and alerts every tenth of a second: buffers must hold what is
    /// recorded in that time. A suspended machine's time is left out.
    Coarse,
}
