//! Memory that is never freed.

use std::io;
use std::sync::atomic::AtomicU32;

use trace_protocol::buffer::producer::{Recorder, Slot};

use super::check;

/// Returns memory for `count` free slots. The kernel populates its pages (Linux 5.14).
pub(crate) fn map_slots(count: usize) -> io::Result<&'static [Slot]> {
    const MADV_POPULATE_WRITE: libc::c_int = 23;
    // SAFETY: a slot consists of atomics of numbers and pointers, for which zeros are valid.
    let slots = unsafe { map_zeroed(count) }?;
    // Without it, the first record of a thread takes a page fault.
    let _present = advise(slots, MADV_POPULATE_WRITE);
    Ok(slots)
}

/// Returns a recorder that does not record, on pages that the kernel wipes in forked children.
/// Fails before Linux 4.14, because a child would write to its parent's buffer.
pub(crate) fn map_recorder() -> io::Result<&'static Recorder> {
    // SAFETY: a recorder consists of atomics of numbers and pointers, for which zeros are valid. A
    // recorder of zeros does not record.
    unsafe { map_wiped_on_fork() }
}

/// Returns a number that is 0, on a page that the kernel wipes in forked children. Fails before
/// Linux 4.14.
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
    // SAFETY: a new mapping at an address of the kernel's choice does not replace other memory.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), size, protection, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the mapping is zeroed, page-aligned, `count` values long and never unmapped; zeros
    // are valid values by the contract.
    Ok(unsafe { std::slice::from_raw_parts(start.cast(), count) })
}

/// Gives advice about a mapping of [`map_zeroed`].
fn advise<T>(mapping: &'static [T], advice: libc::c_int) -> io::Result<()> {
    let start = mapping.as_ptr().cast_mut().cast();
    // SAFETY: the range is one mapping. Neither populating it nor wiping it in children changes its
    // contents in this process.
    check(unsafe { libc::madvise(start, size_of_val(mapping), advice) }).map(drop)
}
