//! Threads of the tracer.

use std::io;
use std::thread::{Builder, JoinHandle};

/// Bytes of stack for a thread's own use. A program that locks its memory (`mlockall`) pays for all
/// of them.
const STACK: usize = 256 << 10;

/// Starts a thread with a small stack.
pub(crate) fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    Builder::new().name(name.to_owned()).stack_size(STACK + least_stack()).spawn(run)
}

/// What the C library takes of each stack: thread locals of the program may be large.
fn least_stack() -> usize {
    type Least = unsafe extern "C" fn(*const libc::pthread_attr_t) -> libc::size_t;
    // SAFETY: the name is a string with a zero at its end.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__pthread_get_minstack".as_ptr()) };
    if found.is_null() {
        // The C library takes nothing.
        return 0;
    }
    // SAFETY: in the GNU C library, which alone has it, the function is of this type, as the
    // standard library of Rust has it too.
    let least = unsafe { std::mem::transmute::<*mut libc::c_void, Least>(found) };
    // SAFETY: the function ignores its argument.
    unsafe { least(std::ptr::null()) }
}

/// Blocks every signal in the calling thread, and runs `run` before they are let in again.
///
/// A thread that is started meanwhile starts with every signal blocked.
pub(crate) fn without_signals<T>(run: impl FnOnce() -> T) -> T {
    let mut all = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: a valid place for the set, which the call fills.
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

/// The name of the calling thread, with a zero at its end.
pub(crate) fn own_thread_name() -> [u8; 16] {
    let mut name = [0u8; 16];
    // SAFETY: PR_GET_NAME writes at most 16 bytes, with a zero at the end.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    name
}
