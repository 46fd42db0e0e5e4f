//! Threads of the tracer.

use std::io;
use std::thread::{Builder, JoinHandle};

/// The size of a thread's stack in bytes, beside the C library's part. A program that locks its
/// memory (`mlockall`) locks all of it.
const STACK: usize = 256 << 10;

/// Starts a thread with a small stack.
pub(crate) fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    Builder::new().name(name.to_owned()).stack_size(STACK + least_stack()).spawn(run)
}

/// Returns the C library's part of each stack in bytes: thread locals of the program may be large.
fn least_stack() -> usize {
    type Least = unsafe extern "C" fn(*const libc::pthread_attr_t) -> libc::size_t;
    // SAFETY: the name is a string with a zero at its end.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__pthread_get_minstack".as_ptr()) };
    if found.is_null() {
        // Other C libraries do not have the function.
        return 0;
    }
    // SAFETY: only the GNU C library has the function, with this type. The standard library of Rust
    // uses it in the same way.
    let least = unsafe { std::mem::transmute::<*mut libc::c_void, Least>(found) };
    // SAFETY: the function ignores its argument.
    unsafe { least(std::ptr::null()) }
}

/// Blocks every signal in the calling thread while `run` runs.
///
/// Threads that `run` starts inherit the signal mask.
pub(crate) fn without_signals<T>(run: impl FnOnce() -> T) -> T {
    let mut all = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the pointer is valid, and the call initializes the set.
    unsafe { libc::sigfillset(all.as_mut_ptr()) };
    // SAFETY: `all` was filled above; `before` is a valid place for the old set.
    let blocked =
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) } == 0;
    let result = run();
    if blocked {
        // SAFETY: `before` was filled by the successful call above.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    }
    result
}

/// Returns the name of the calling thread, with a zero at its end.
pub(crate) fn own_thread_name() -> [u8; 16] {
    let mut name = [0u8; 16];
    // SAFETY: PR_GET_NAME writes at most 16 bytes, with a zero at the end.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    name
}
