//! The clocks that an application can choose from.

#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
use trace_protocol::{clock::Source, counter};

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

#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
impl Clock {
    /// The clock for a process that has not chosen one: without the counter if the calling thread
    /// may not read it.
    ///
    /// This is asked once, of the thread that makes the process a provider. It takes a system call,
    /// and a thread may be ended for one.
    pub(crate) fn preferred() -> Self {
        match counter::is_forbidden() {
            true => Self::SystemCall,
            false => Self::Counter,
        }
    }

    /// Where its ticks come from on this machine.
    pub(crate) fn source(self) -> Source {
        match self {
            Self::Counter if counter::is_invariant() => Source::Counter,
            Self::Counter | Self::Boottime => Source::Boottime,
            Self::SystemCall => Source::SystemCall,
            Self::Coarse => Source::Coarse,
        }
    }

    /// Runs `run` in a thread that may read the CPU's counter meanwhile. Asks the kernel only if
    /// this is a clock for threads that may not.
    pub(crate) fn with_counter<T>(self, run: impl FnOnce() -> T) -> T {
        match self {
            Self::SystemCall | Self::Coarse => counter::with(run),
            Self::Counter | Self::Boottime => run(),
        }
    }
}
