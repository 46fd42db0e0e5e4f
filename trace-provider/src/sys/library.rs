//! The library that has this code.

use std::ffi::c_void;
use std::mem::MaybeUninit;

/// Keeps the library that has this code loaded until the process ends. Without it, `dlclose` could
/// remove the code of threads that run, and of functions that the C library calls when a thread
/// ends. Does nothing in a program.
pub(crate) fn keep_loaded() {
    // A static program has no libraries, and Miri does not load any.
    if cfg!(any(target_feature = "crt-static", miri)) {
        return;
    }
    // SAFETY: the call takes an integer.
    let program = unsafe { libc::getauxval(libc::AT_PHDR) };
    let program = containing(program as *const c_void).map(|found| found.dli_fbase);
    let library = containing(keep_loaded as *const c_void);
    let Some(library) = library.filter(|library| Some(library.dli_fbase) != program) else {
        return;
    };
    let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE;
    // SAFETY: the name is that of a loaded library, which contains this code and stays loaded
    // during the call. The call runs no code of it.
    unsafe { libc::dlopen(library.dli_fname, flags) };
}

/// Returns the program or library at an address.
fn containing(address: *const c_void) -> Option<libc::Dl_info> {
    let mut found = MaybeUninit::uninit();
    // SAFETY: the call accepts any address, and `found` is memory for its result.
    let is_found = unsafe { libc::dladdr(address, found.as_mut_ptr()) } != 0;
    // SAFETY: the call has stored its result.
    is_found.then(|| unsafe { found.assume_init() })
}
