//! The CPU time of the process.

use std::time::Duration;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) fn now() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Elsewhere, wall-clock time.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub(crate) fn now() -> Duration {
    std::time::UNIX_EPOCH.elapsed().unwrap_or_default()
}
