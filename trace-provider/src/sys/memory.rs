//! Memory that lives as long as the process.

use std::io;
use std::sync::atomic::AtomicU32;

use trace_protocol::buffer::producer::{Recorder, Slot};

use super::check;

/// Returns memory for `count` slots that no thread holds, with its pages present where the kernel
/// can (Linux 5.14).
pub(crate) fn map_slots(count: usize) -> io::Result<&'static [Slot]> {
    const MADV_POPULATE_WRITE: libc::c_int = 23;
    // SAFETY: a slot is atomics of numbers and pointers, for which zeros are valid.
    let slots = unsafe { map_zeroed(count) }?;
    // Without it the first record of a thread takes the page fault.
    let _present = advise(slots, MADV_POPULATE_WRITE);
    Ok(slots)
}

/// Returns a recorder that records nothing, on pages that the kernel wipes in forked children. An
/// error where it cannot (before Linux 4.14): a child would write to its parent's buffer.
pub(crate) fn map_recorder() -> io::Result<&'static Recorder> {
    // SAFETY: a recorder is atomics of numbers and pointers, for which zeros are valid; they mean
    // that it records nothing.
    unsafe { map_wiped_on_fork() }
}

/// Returns a number that is 0, on a page that the kernel wipes in forked children. An error where
/// it cannot (before Linux 4.14).
pub(crate) fn map_generation() -> io::Result<&'static AtomicU32> {
    if cfg!(miri) {
        return Err(io::ErrorKind::Unsupported.into());
    }
    // SAFETY: zeros are a valid number.
    unsafe { map_wiped_on_fork() }
}

/// Maps memory for a value, on pages that the kernel wipes in forked children.
///
/// # Safety
/// All-zero bytes are a valid `T`.
unsafe fn map_wiped_on_fork<T>() -> io::Result<&'static T> {
    // SAFETY: by the contract.
    let value: &[T] = unsafe { map_zeroed(1) }?;
    advise(value, libc::MADV_WIPEONFORK)?;
    value.first().ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

/// Maps memory for `count` values.
///
/// # Safety
/// All-zero bytes are a valid `T`.
unsafe fn map_zeroed<T>(count: usize) -> io::Result<&'static [T]> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let size = count.checked_mul(size_of::<T>()).ok_or(io::ErrorKind::OutOfMemory)?;
    // SAFETY: a new mapping at an address of the kernel's choice disturbs no memory of this
    // process.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), size, protection, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the mapping is zeroed, page-aligned, `count` values long and never unmapped; zeros
    // are valid values by the contract.
    Ok(unsafe { std::slice::from_raw_parts(start.cast(), count) })
}

/// Gives advice about a whole mapping of [`map_zeroed`].
fn advise<T>(mapping: &'static [T], advice: libc::c_int) -> io::Result<()> {
    let start = mapping.as_ptr().cast_mut().cast();
    // SAFETY: the range is a mapping of its own; neither populating it nor wiping it in children
    // changes its contents in this process.
    check(unsafe { libc::madvise(start, size_of_val(mapping), advice) }).map(drop)
}
