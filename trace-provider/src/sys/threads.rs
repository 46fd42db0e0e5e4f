//! Threads of the tracer.
//!
//! They are the C library's threads, not those of the standard library, which allocate memory
//! before they run. glibc reserves 64 MiB of address space for each thread that allocates or frees
//! memory, and `mlockall` counts it. A new thread here does neither.

use std::ffi::{c_void, CStr};
use std::io;
use std::mem::MaybeUninit;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::null_mut;

/// The size of a stack in bytes, beside the C library's part. A program that locks its memory
/// (`mlockall`) locks all of it. A guard page is below it.
const STACK: usize = 256 << 10;

/// The size of the stack of a thread that calls few functions, none of them deep.
const SMALL_STACK: usize = 64 << 10;

/// Starts a thread.
pub(crate) fn spawn<F>(name: &'static CStr, run: F) -> io::Result<()>
where
    F: FnOnce() + Send + 'static,
{
    let announced = super::announce();
    let run = Box::into_raw(Box::new(move || {
        announced.runs_here();
        set_own_thread_name(name);
        run();
    }));
    // SAFETY: the new thread owns the box.
    let started = unsafe { start_boxed(run) };
    match started {
        Ok(thread) => {
            // SAFETY: the thread was started above, and is neither joined nor detached.
            unsafe { libc::pthread_detach(thread) };
            Ok(())
        }
        Err(error) => {
            announced.has_failed();
            // SAFETY: `run` came from `Box::into_raw`, and no thread has it.
            drop(unsafe { Box::from_raw(run) });
            Err(error)
        }
    }
}

/// Starts a thread that calls the closure.
///
/// # Safety
/// `run` came from `Box::into_raw`. The thread owns it, if there is one.
unsafe fn start_boxed<F: FnOnce() + Send>(run: *mut F) -> io::Result<libc::pthread_t> {
    extern "C" fn enter<F: FnOnce() + Send>(run: *mut c_void) -> *mut c_void {
        // SAFETY: the starter has passed the ownership of this box.
        let run = unsafe { Box::from_raw(run.cast::<F>()) };
        // The box is freed after the call. A panic ends the thread, as in other threads of Rust.
        let _panicked = catch_unwind(AssertUnwindSafe(run));
        null_mut()
    }
    // SAFETY: `enter` gets a box of the same type.
    unsafe { start(STACK, enter::<F>, run.cast()) }
}

/// Calls `run` while a thread with a small stack calls `beside`, and waits for the end of both.
pub(crate) fn run_beside<T: Sync, R>(
    name: &'static CStr,
    data: &T,
    beside: fn(&T),
    run: impl FnOnce() -> R,
) -> io::Result<R> {
    struct Task<'a, T> {
        name: &'static CStr,
        data: &'a T,
        run: fn(&T),
    }
    extern "C" fn enter<T>(task: *mut c_void) -> *mut c_void {
        // SAFETY: the starter keeps the task until this thread has ended.
        let task = unsafe { &*task.cast::<Task<'_, T>>() };
        set_own_thread_name(task.name);
        let _panicked = catch_unwind(AssertUnwindSafe(|| (task.run)(task.data)));
        null_mut()
    }
    let mut task = Task { name, data, run: beside };
    // SAFETY: `enter` gets a task of the same type, which lives until `Joined` is dropped. Threads
    // may share the data.
    let _joined = Joined(unsafe { start(SMALL_STACK, enter::<T>, (&raw mut task).cast()) }?);
    Ok(run())
}

/// Waits for the end of a thread when it is dropped.
struct Joined(libc::pthread_t);

impl Drop for Joined {
    fn drop(&mut self) {
        // SAFETY: the thread was started with this value, and is only joined here.
        unsafe { libc::pthread_join(self.0, null_mut()) };
    }
}

/// Prepares the start of a thread with a small stack by a thread that must not allocate memory.
///
/// The start of a thread allocates its table of thread locals. glibc stores stacks of ended threads
/// with this table, and uses them again. If the next small thread is started elsewhere, or with
/// another C library, the later start allocates memory.
pub(crate) fn prepare_small_stack() -> io::Result<()> {
    run_beside(c"trace-prepare", &(), |()| {}, || ())
}

type Entry = extern "C" fn(*mut c_void) -> *mut c_void;

/// Starts a thread that calls `entry`.
///
/// # Safety
/// `entry` may be called with this argument in another thread.
unsafe fn start(stack: usize, entry: Entry, argument: *mut c_void) -> io::Result<libc::pthread_t> {
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: the call initializes the attributes.
    result(unsafe { libc::pthread_attr_init(attributes.as_mut_ptr()) })?;
    let attributes = attributes.as_mut_ptr();
    let size = stack + least_stack();
    // SAFETY: the attributes are initialized.
    let sized = result(unsafe { libc::pthread_attr_setstacksize(attributes, size) });
    let mut thread = MaybeUninit::uninit();
    let started = sized.and_then(|()| {
        // SAFETY: the attributes are initialized; the entry may be called by the contract.
        result(unsafe { libc::pthread_create(thread.as_mut_ptr(), attributes, entry, argument) })
    });
    // SAFETY: the attributes are initialized, and no longer used.
    unsafe { libc::pthread_attr_destroy(attributes) };
    // SAFETY: a successful call has stored the thread.
    started.map(|()| unsafe { thread.assume_init() })
}

/// Returns the error that a function of POSIX threads has returned, if it is not 0.
fn result(error: libc::c_int) -> io::Result<()> {
    match error {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Sets the name of the calling thread. Another thread would need a file descriptor for that.
fn set_own_thread_name(name: &CStr) {
    // SAFETY: the kernel reads at most 16 bytes, up to the zero at the end.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
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
