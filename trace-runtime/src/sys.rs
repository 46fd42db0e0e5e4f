//! System calls and functions of the C library that the standard library has no name for.

use libc::pthread_key_t;

/// Has the kernel wipe the pages of a static in forked children, where it can (Linux 4.14). `T` is
/// aligned to pages.
pub(crate) fn wipe_on_fork<T>(pages: &'static T) {
    let start = std::ptr::from_ref(pages).cast_mut().cast();
    // SAFETY: the range is the static's, whole pages by its alignment; the advice changes nothing
    // in this process.
    unsafe { libc::madvise(start, size_of::<T>(), libc::MADV_WIPEONFORK) };
}

/// The kernel's randomness, or 0 where there is none yet.
pub(crate) fn random_number() -> u64 {
    let mut random = 0u64;
    // SAFETY: the place has as many bytes as it is said to have. Without randomness it stays as it
    // is.
    unsafe { libc::getrandom((&raw mut random).cast(), size_of_val(&random), libc::GRND_NONBLOCK) };
    random
}

/// Makes a key whose value `destructor` gets when a thread ends.
pub(crate) fn make_key(
    destructor: unsafe extern "C" fn(*mut libc::c_void),
) -> Option<pthread_key_t> {
    let mut key = 0;
    // SAFETY: `key` is a valid place for the key; the destructor gets what was stored under it.
    let made = unsafe { libc::pthread_key_create(&mut key, Some(destructor)) } == 0;
    made.then_some(key)
}

/// Stores a value of the calling thread under a key, which is never deleted.
pub(crate) fn set_value(key: pthread_key_t, value: *const libc::c_void) {
    // SAFETY: the key was made by `make_key`; the value is only stored.
    unsafe { libc::pthread_setspecific(key, value) };
}

/// Has `in_child` called in forked children. It may do there what async-signal-safe functions do.
pub(crate) fn at_fork(in_child: unsafe extern "C" fn()) {
    // SAFETY: the handler is a function of this program, and is called without arguments.
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
}

/// Has `run` called when the process exits. It must not unwind.
pub(crate) fn at_exit(run: extern "C" fn()) {
    // SAFETY: the handler is a function of this program, and unwinds into nothing.
    unsafe { libc::atexit(run) };
}
