//! Memory that is reserved for traced threads.

/// Gives the first `count` values of a reservation memory now, so that nobody faults it in later.
/// Where the kernel is too old for that (before Linux 5.14), whoever comes first does.
pub(crate) fn populate<T>(values: &'static [T], count: usize) {
    const MADV_POPULATE_WRITE: libc::c_int = 23;
    let size = count.min(values.len()) * size_of::<T>();
    // SAFETY: the range is part of the reservation, which begins at a page; populating changes no
    // contents.
    unsafe { libc::madvise(values.as_ptr().cast_mut().cast(), size, MADV_POPULATE_WRITE) };
}

/// Address space for `count` values whose all-zero bytes are valid, without memory until it is
/// touched.
///
/// # Safety
/// All-zero bytes are a valid `T`.
pub(crate) unsafe fn reserve<T>(count: usize) -> Option<&'static [T]> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let size = count.checked_mul(size_of::<T>())?;
    // SAFETY: a new mapping at an address of the kernel's choice disturbs no memory of this
    // process.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), size, protection, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the mapping is zeroed, page-aligned, `count` values long and never unmapped; zeros
    // are valid values by the contract.
    Some(unsafe { std::slice::from_raw_parts(start.cast(), count) })
}
