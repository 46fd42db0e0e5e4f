//! The atomics of the buffer.
//!
//! Under `--cfg loom` the same code runs with loom's atomics, so that the model checker explores
//! the code of applications.

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{fence, AtomicPtr, AtomicU16, AtomicU32, AtomicU64, Ordering};

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{fence, AtomicPtr, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// Makes a constructor a `const fn`, except for the model checker, whose atomics are created at run
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
