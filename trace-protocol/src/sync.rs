//! The atomics of the buffer, and the two halves of its asymmetric barrier.
//!
//! Under `--cfg loom` the same code runs on loom's atomics, so that the model checker explores what
//! applications run.

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{fence, AtomicPtr, AtomicU16, AtomicU32, AtomicU64, Ordering};

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{fence, AtomicPtr, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// Makes a `const fn` of a constructor, except for the model checker, whose atomics are made at run
/// time.
macro_rules! const_new {
    ($(#[$meta:meta])* $visibility:vis fn $name:ident() -> Self $body:block) => {
        #[cfg(not(loom))]
        $(#[$meta])*
        $visibility const fn $name() -> Self $body

        #[cfg(loom)]
        $(#[$meta])*
        $visibility fn $name() -> Self $body
    };
}
pub(crate) use const_new;

use crate::sys::membarrier;

/// The writer's half: keeps the compiler from moving a later load before an earlier store.
///
/// The processor may still do so; [`heavy_fence`] on the other side makes up for that.
#[inline(always)]
pub(crate) fn light_fence() {
    #[cfg(loom)]
    fence(Ordering::SeqCst);
    #[cfg(not(loom))]
    core::sync::atomic::compiler_fence(Ordering::SeqCst);
}

/// The service's half: after it, every thread of the process has run a full barrier, or will see
/// what was stored before.
///
/// With `asymmetric` false the kernel has no `membarrier`, and the writers run a full fence
/// themselves.
pub(crate) fn heavy_fence(asymmetric: bool) {
    fence(Ordering::SeqCst);
    if asymmetric && !membarrier::expedited() {
        // The kernel took it back, as a system call filter installed later can do. A store takes
        // nanoseconds to become visible to all processors; this is a million times as long.
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}
