//! The two sides of the buffer's asymmetric barrier.

use crate::sync::{fence, Ordering};
use crate::sys::membarrier;

/// Writer's side: prevents the compiler from moving a later load before an earlier store.
///
/// The processor may still do so. [`heavy_fence`] on the other side compensates for that.
#[inline(always)]
pub(crate) fn light_fence() {
    #[cfg(loom)]
    fence(Ordering::SeqCst);
    #[cfg(not(loom))]
    core::sync::atomic::compiler_fence(Ordering::SeqCst);
}

/// Service thread's side: after it, every thread of the process has run a full barrier, or will see
/// all earlier stores.
///
/// If `asymmetric` is false, the kernel has no `membarrier`, and writers run a full fence
/// themselves.
pub(crate) fn heavy_fence(asymmetric: bool) {
    fence(Ordering::SeqCst);
    if asymmetric && !membarrier::expedited() {
        // `membarrier` fails now, for example because of a later system call filter. A store
        // becomes visible to all processors within nanoseconds; this waits a million times as long.
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}
