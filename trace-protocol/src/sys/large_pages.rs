//! Large pages for memory that is written once, soon after its allocation.

/// The least number of bytes for which large pages are requested.
const LEAST: usize = 4 << 20;

/// Requests large pages for the unused capacity of `words`, if it is several MiB.
///
/// The first write of each page is a fault: with pages of 4 KiB, faults take most of the time of a
/// copy. Has no effect where the kernel or its administrator permits none. See
/// [madvise(2)](https://man7.org/linux/man-pages/man2/madvise.2.html), `MADV_HUGEPAGE`.
pub(crate) fn prefer(words: &mut Vec<u64>) {
    let unused = words.spare_capacity_mut();
    if cfg!(miri) || size_of_val(unused) < LEAST {
        return;
    }
    const PAGE: usize = 4096;
    let start = unused.as_mut_ptr().cast::<libc::c_void>();
    let before_page = start.align_offset(PAGE);
    let Some(whole) = size_of_val(unused).checked_sub(before_page) else { return };
    // SAFETY: the range is within the unused capacity, and the advice changes no contents.
    unsafe { libc::madvise(start.wrapping_byte_add(before_page), whole, libc::MADV_HUGEPAGE) };
}
