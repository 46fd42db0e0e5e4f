//! The clocks that an application can choose.

#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
use trace_protocol::{clock::Source, counter};

/// The source of timestamps. See [`Builder::clock`](crate::Builder::clock).
///
/// The CPU's counter has the best resolution and the lowest cost. A thread may not read it after
/// `prctl(PR_SET_TSC, PR_TSC_SIGSEGV)` and under strict seccomp (`SECCOMP_MODE_STRICT`): the kernel
/// kills the thread with `SIGSEGV` at its first trace point. The C library's clock reads the
/// counter too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Clock {
    /// The CPU's counter if it runs at the same constant rate on all cores, else
    /// [`Clock::Boottime`].
    Counter,
    /// `CLOCK_BOOTTIME`, read by the C library from the CPU's counter, without a system call. In
    /// nanoseconds.
    Boottime,
    /// `CLOCK_BOOTTIME`, read by a system call, for threads that may not read the counter. Adds
    /// about 100 ns to a trace point. Strict seccomp forbids it.
    SystemCall,
    /// The time of the kernel's last tick, with a resolution of 1 to 10 ms. Works under strict
    /// seccomp, because it requires neither the counter nor a system call.
    ///
    /// Trace points do not wake the service thread, which looks at full buffers and alerts every
    /// tenth of a second. The buffer must hold the records of that time. The clock stands still
    /// while the machine is suspended.
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
