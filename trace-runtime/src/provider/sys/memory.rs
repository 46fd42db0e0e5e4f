//! Memory for traced threads.

use std::io;

/// Memory for `count` values whose all-zero bytes are valid, with its pages present where the
/// kernel can (Linux 5.14). It is never unmapped.
///
/// # Safety
/// All-zero bytes are a valid `T`.
pub(crate) unsafe fn map_zeroed<T>(count: usize) -> io::Result<&'static [T]> {
    const MADV_POPULATE_WRITE: libc::c_int = 23;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let size = count.checked_mul(size_of::<T>()).ok_or(io::ErrorKind::OutOfMemory)?;
    // SAFETY: a new mapping at an address of the kernel's choice disturbs no memory of this
    // process.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), size, protection, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the range is the mapping just made; populating changes no contents.
    unsafe { libc::madvise(start, size, MADV_POPULATE_WRITE) };
    // SAFETY: the mapping is zeroed, page-aligned, `count` values long and never unmapped; zeros
    // are valid values by the contract.
    Ok(unsafe { std::slice::from_raw_parts(start.cast(), count) })
}
