//! System calls and functions of the C library that the standard library has no name for.

use std::ffi::c_void;
use std::fs::{self, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::fd::IntoRawFd;
use std::ptr;

/// The commands of membarrier(2) for the instructions of all threads of this process.
const SYNC_CORE: i32 = 1 << 5;
const REGISTER_SYNC_CORE: i32 = 1 << 6;

/// Returns whether the program has privileges that its caller does not have: set-user-ID,
/// set-group-ID, or file capabilities (`AT_SECURE`, getauxval(3)).
pub(crate) fn is_privileged() -> bool {
    // SAFETY: getauxval takes an integer.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Has all threads execute the code that was written before. Kernels before 4.16 and some
/// processors lack it; the caller does without, as LLVM's runtime always does.
pub(crate) fn synchronize_code() {
    for command in [REGISTER_SYNC_CORE, SYNC_CORE] {
        // SAFETY: membarrier takes integers and changes no memory.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) };
    }
}

/// Maps memory that is readable and writable, at `address` or, if that is 0, anywhere.
pub(crate) fn map(address: usize, bytes: usize) -> io::Result<*mut u8> {
    let place = if address == 0 { 0 } else { libc::MAP_FIXED_NOREPLACE };
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | place;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let wanted = ptr::without_provenance_mut(address);
    // SAFETY: the mapping replaces none: that is what the flag is for, and older kernels take the
    // address as a hint.
    let mapped = unsafe { libc::mmap(wanted, bytes, access, flags, -1, 0) };
    if mapped == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    if address != 0 && mapped.addr() != address {
        // SAFETY: the mapping was made above, and nothing has its address.
        unsafe { unmap(mapped.cast(), bytes) };
        return Err(io::ErrorKind::AddrInUse.into());
    }
    Ok(mapped.cast())
}

/// Maps zeroed memory for values, which is never freed. Only pages that are used take memory, also
/// in a program that locks its memory, or that has huge pages.
///
/// # Safety
/// All zeros is a valid value, which threads may share.
pub(crate) unsafe fn map_entries<T>(count: usize) -> io::Result<&'static [T]> {
    let bytes = count.checked_mul(size_of::<T>()).ok_or(io::ErrorKind::OutOfMemory)?;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping at an address of the kernel's choice.
    let mapped = unsafe { libc::mmap(ptr::null_mut(), bytes, libc::PROT_NONE, flags, -1, 0) };
    if mapped == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the mapping was made above. The call fails if it is not locked.
    unsafe { libc::munlock(mapped, bytes) };
    // SAFETY: as above. Else the first use of a value could take 2 MiB.
    unsafe { libc::madvise(mapped, bytes, libc::MADV_NOHUGEPAGE) };
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the mapping was made above, and nothing uses it.
    if unsafe { libc::mprotect(mapped, bytes, access) } != 0 {
        let error = io::Error::last_os_error();
        // SAFETY: as above.
        unsafe { libc::munmap(mapped, bytes) };
        return Err(error);
    }
    // SAFETY: the mapping has so many bytes, is aligned to pages, and is never unmapped; zeros are
    // valid by the contract.
    Ok(unsafe { std::slice::from_raw_parts(mapped.cast(), count) })
}

/// Unmaps memory.
///
/// # Safety
/// It came from [`map`] with this size, and nothing refers to it.
pub(crate) unsafe fn unmap(start: *mut u8, bytes: usize) {
    // SAFETY: by the contract.
    unsafe { libc::munmap(start.cast(), bytes) };
}

/// Makes memory of [`map`] executable, and no longer writable.
///
/// # Safety
/// Nothing writes to it any more.
pub(crate) unsafe fn make_executable(start: *mut u8, bytes: usize) -> io::Result<()> {
    // SAFETY: by the contract.
    let failed = unsafe { libc::mprotect(start.cast(), bytes, libc::PROT_READ | libc::PROT_EXEC) };
    if failed == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Writes bytes into program text by making its pages writable and executable meanwhile.
///
/// # Safety
/// `address` is in a mapped segment that is readable and executable, and threads may execute the
/// text before, during and after each byte is stored.
pub(crate) unsafe fn write_text(address: usize, bytes: &[u8]) -> io::Result<()> {
    let pages = pages(address..address + bytes.len());
    let (start, length) = (ptr::with_exposed_provenance_mut(pages.start), pages.len());
    let access = libc::PROT_READ | libc::PROT_EXEC;
    // SAFETY: the pages are mapped; they stay readable and executable.
    if unsafe { libc::mprotect(start, length, access | libc::PROT_WRITE) } != 0 {
        return Err(io::Error::last_os_error());
    }
    for (index, byte) in bytes.iter().enumerate() {
        let place: *mut u8 = ptr::with_exposed_provenance_mut(address + index);
        // SAFETY: the page is mapped and writable, by the call above.
        unsafe { place.write_volatile(*byte) };
    }
    // SAFETY: as above.
    if unsafe { libc::mprotect(start, length, access) } != 0 {
        let error = io::Error::last_os_error();
        return Err(io::Error::new(
            error.kind(),
            format!("cannot make text read-only again, it is writable and executable: {error}"),
        ));
    }
    Ok(())
}

/// Reads bytes of program text.
///
/// # Safety
/// They are in a mapped segment that is readable.
pub(crate) unsafe fn read_text<const N: usize>(address: usize) -> [u8; N] {
    std::array::from_fn(|index| {
        let place: *const u8 = ptr::with_exposed_provenance(address + index);
        // SAFETY: by the contract.
        unsafe { place.read_volatile() }
    })
}

/// Returns bytes of memory.
///
/// # Safety
/// They are mapped and readable, and not written meanwhile.
pub(crate) unsafe fn read_memory(address: usize, bytes: usize) -> Vec<u8> {
    let start: *const u8 = ptr::with_exposed_provenance(address);
    // SAFETY: by the contract.
    unsafe { std::slice::from_raw_parts(start, bytes) }.to_vec()
}

/// Copies memory of this process, which may be unmapped meanwhile, into `bytes`.
///
/// # Errors
/// It is not mapped, or the kernel does not permit it.
pub(crate) fn copy_memory(address: u64, bytes: &mut [u8]) -> io::Result<()> {
    let here = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let there = ptr::without_provenance_mut(address as usize);
    let there = libc::iovec { iov_base: there, iov_len: bytes.len() };
    // SAFETY: getpid has no preconditions.
    let process = unsafe { libc::getpid() };
    // SAFETY: the kernel writes to `bytes` only, and reports what is not mapped.
    let copied =
        unsafe { libc::process_vm_readv(process, &raw const here, 1, &raw const there, 1, 0) };
    match usize::try_from(copied) {
        Ok(copied) if copied == bytes.len() => Ok(()),
        Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// Gives the calling thread a descriptor table of its own, with nothing but `/dev/null` as the
/// standard streams: the program may close any descriptor at any time, and a child that it forks
/// inherits none of this table.
pub(crate) fn own_descriptors() -> io::Result<()> {
    if close_all_unshared().is_err() {
        // SAFETY: the functions of this thread do not use inherited descriptors.
        check(unsafe { libc::unshare(libc::CLONE_FILES) })?;
        close_inherited()?;
    }
    for stream in 0..3 {
        let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
        if null.into_raw_fd() != stream {
            return Err(io::ErrorKind::AddrInUse.into());
        }
    }
    Ok(())
}

/// Unshares and closes in one call (Linux 5.9).
fn close_all_unshared() -> io::Result<()> {
    const CLOSE_RANGE_UNSHARE: libc::c_uint = 1 << 1;
    // SAFETY: the call takes integers; the table is unshared before anything in it is closed.
    let result =
        unsafe { libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, CLOSE_RANGE_UNSHARE) };
    check(result as libc::c_int)
}

/// Closes the copies of descriptors that `unshare` has made.
fn close_inherited() -> io::Result<()> {
    // Not `/proc/self/fd`, which is the table of the first thread.
    let entries = fs::read_dir("/proc/thread-self/fd")?.collect::<io::Result<Vec<_>>>()?;
    let numbers = entries.iter().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    for descriptor in numbers {
        // SAFETY: the table belongs to this thread, which uses none of the descriptors yet.
        unsafe { libc::close(descriptor) };
    }
    Ok(())
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Returns the addresses of the pages that contain a range.
fn pages(range: Range<usize>) -> Range<usize> {
    // SAFETY: sysconf takes an integer.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(4096) as usize;
    range.start & !(page - 1)..range.end.next_multiple_of(page)
}

/// Makes a key whose value `destructor` gets when a thread ends.
pub(crate) fn make_key(destructor: unsafe extern "C" fn(*mut c_void)) -> Option<u32> {
    let mut key = 0;
    // SAFETY: `key` is a valid place for the key; the destructor gets what was stored under it.
    let made = unsafe { libc::pthread_key_create(&raw mut key, Some(destructor)) } == 0;
    made.then_some(key)
}

/// Stores a value of the calling thread under a key of [`make_key`].
pub(crate) fn set_value(key: u32, value: *const c_void) -> bool {
    // SAFETY: keys are never deleted; the value is only stored.
    unsafe { libc::pthread_setspecific(key, value) == 0 }
}

/// Has functions called around each fork(3): before it, and after it in the parent and the child.
/// That in the child may do what async-signal-safe functions do.
pub(crate) fn at_fork(
    before: unsafe extern "C" fn(),
    in_parent: unsafe extern "C" fn(),
    in_child: unsafe extern "C" fn(),
) {
    // SAFETY: the handlers are functions of this library, and are called without arguments.
    unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
}

/// Has the kernel wipe the pages of a static in forked children, where it can (Linux 4.14). `T` is
/// aligned to pages.
pub(crate) fn wipe_on_fork<T>(pages: &'static T) {
    let start = ptr::from_ref(pages).cast_mut().cast();
    // SAFETY: the range is the static's, whole pages by its alignment; the advice changes nothing
    // in this process.
    unsafe { libc::madvise(start, size_of::<T>(), libc::MADV_WIPEONFORK) };
}

/// Runs a function with every signal blocked, as in the threads that it starts.
pub(crate) fn without_signals<T>(run: impl FnOnce() -> T) -> T {
    let mut all = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the pointer is valid, and the call initializes the set.
    unsafe { libc::sigfillset(all.as_mut_ptr()) };
    // SAFETY: `all` was filled above; `before` is a valid place for the old set.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) };
    let result = run();
    // SAFETY: `before` was filled by the call above, which does not fail with these arguments.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut()) };
    result
}

/// Runs a function that pthread_cancel(3) does not end: functions of the standard library are
/// cancellation points, and the C library's unwinding must not pass those of this library.
pub(crate) fn without_cancellation<T>(run: impl FnOnce() -> T) -> T {
    const DISABLE: libc::c_int = 1;
    let mut before = 0;
    // SAFETY: the place for the state is valid.
    unsafe { pthread_setcancelstate(DISABLE, &raw mut before) };
    let result = run();
    // SAFETY: the state is the one from before.
    unsafe { pthread_setcancelstate(before, ptr::null_mut()) };
    result
}

extern "C" {
    fn pthread_setcancelstate(state: libc::c_int, before: *mut libc::c_int) -> libc::c_int;
}

/// Makes a system call. Returns what the kernel returns.
///
/// # Safety
/// The call is sound with these arguments.
pub(crate) unsafe fn call(number: libc::c_long, arguments: [u64; 6]) -> i64 {
    let [a, b, c, d, e, f] = arguments;
    let result;
    // SAFETY: by the contract; the instruction changes no other registers than these.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") a,
            in("rsi") b,
            in("rdx") c,
            in("r10") d,
            in("r8") e,
            in("r9") f,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// Returns the result of [`call`] as the C library does: -1 for an error, which is in `errno`.
pub(crate) fn returned(result: i64) -> libc::c_long {
    if !(-4095..0).contains(&result) {
        return result;
    }
    // SAFETY: it returns a pointer to this thread's errno.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: the pointer is this thread's errno.
    unsafe { *errno = -result as i32 };
    -1
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_cancelled_thread_is_not_unwound_through_this_library() {
        let thread = std::thread::spawn(|| {
            // The end of a thread of the standard library is no place to be cancelled, either.
            let mut before = 0;
            // SAFETY: the call has no preconditions.
            let here = unsafe { libc::pthread_self() };
            // SAFETY: the thread is this one.
            unsafe { libc::pthread_cancel(here) };
            let result = without_cancellation(|| {
                std::thread::sleep(Duration::from_millis(1));
                7
            });
            // SAFETY: the place for the state is valid.
            unsafe { pthread_setcancelstate(1, &raw mut before) };
            (result, before)
        });
        assert_eq!(thread.join().unwrap(), (7, 0), "and it can be cancelled later");
    }
}
