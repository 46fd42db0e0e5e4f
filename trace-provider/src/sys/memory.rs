//! Memory for threads that write records.

use std::io;

use trace_protocol::buffer::producer::Slot;

/// Memory for `count` slots that no thread holds, with its pages present where the kernel can
/// (Linux 5.14). It is never unmapped.
pub(crate) fn map_slots(count: usize) -> io::Result<&'static [Slot]> {
    const MADV_POPULATE_WRITE: libc::c_int = 23;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let size = count.checked_mul(size_of::<Slot>()).ok_or(io::ErrorKind::OutOfMemory)?;
    // SAFETY: a new mapping at an address of the kernel's choice disturbs no memory of this
    // process.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), size, protection, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the range is the mapping just made; populating changes no contents.
    unsafe { libc::madvise(start, size, MADV_POPULATE_WRITE) };
    // SAFETY: the mapping is zeroed, page-aligned, `count` values long and never unmapped; a
    // slot is atomics of numbers and pointers, for which zeros are valid.
    Ok(unsafe { std::slice::from_raw_parts(start.cast(), count) })
}
