//! Functions of `trace/blob.h`, `trace/instaflow.h`, `trace/object.h` and `trace/vthread.h`.
//!
//! Each has the contract of the function of [`foreign`] that it calls.

use std::ffi::{c_char, c_void};

use trace_runtime::foreign::{self, Argument, Site};

use crate::contain::contain;

/// Returns the current time, in ticks of the trace's clock.
#[no_mangle]
pub extern "C" fn trace_ticks() -> u64 {
    foreign::ticks()
}

/// Returns a time of `CLOCK_BOOTTIME`, in nanoseconds, as ticks.
#[no_mangle]
pub extern "C" fn trace_ticks_from_boottime(nanoseconds: u64) -> u64 {
    foreign::ticks_from_boottime(nanoseconds)
}

/// Defines functions that call a function in [`foreign`].
macro_rules! forwarded {
    ($($(#[$doc:meta])* $name:ident => $function:ident($($argument:ident: $type:ty),*);)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            #[doc = concat!("As for [`foreign::", stringify!($function), "`].")]
            #[no_mangle]
            pub unsafe extern "C" fn $name($($argument: $type),*) {
                // SAFETY: by the contract.
                unsafe { foreign::$function($($argument),*) };
            }
        )*

        /// Functions that the headers declare.
        #[allow(dead_code, reason = "the linker uses them")]
        pub(crate) struct Exported {
            $($name: unsafe extern "C" fn($($type),*),)*
            trace_c_track: unsafe extern "C" fn(*const c_char, u64) -> u64,
            trace_ticks: extern "C" fn() -> u64,
            trace_ticks_from_boottime: extern "C" fn(u64) -> u64,
        }

        pub(crate) const EXPORTED: Exported =
            Exported { $($name,)* trace_c_track, trace_ticks, trace_ticks_from_boottime };
    };
}

forwarded! {
    /// Writes an event at a time, on a track or, for 0, on this thread.
    trace_c_event_at => event_at(site: *const Site, arguments: *const Argument, tail: u64, ticks: u64, track: u64);
    /// Writes data of a type.
    trace_c_blob => blob(site: *const Site, blob_type: u32, bytes: *const c_void, size: usize);
    /// Writes data with a time and arguments.
    trace_c_blob_event => blob_event(site: *const Site, arguments: *const Argument, bytes: *const c_void, size: usize);
    /// Writes data with a category and a name.
    trace_c_blob_attachment => blob_attachment(site: *const Site, bytes: *const c_void, size: usize);
    /// Writes the name of an object of this process.
    trace_c_userspace_object => userspace_object(site: *const Site, arguments: *const Argument, pointer: *const c_void, name: *const c_char);
    /// Writes the name of an object of the kernel.
    trace_c_kernel_object => kernel_object(site: *const Site, arguments: *const Argument, koid: u64, object_type: u32, name: *const c_char);
}

/// Returns the koid of the track with this id.
///
/// # Safety
/// As for [`foreign::track`].
#[no_mangle]
pub unsafe extern "C" fn trace_c_track(name: *const c_char, id: u64) -> u64 {
    // SAFETY: by the contract.
    contain(0, || unsafe { foreign::track(name, id) })
}
