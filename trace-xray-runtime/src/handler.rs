//! What the trampolines call at each entry and exit.

use trace_runtime::foreign::Site;

use crate::{own, thread};

/// Is called by a patched entry.
pub(crate) extern "C" fn entry(site: *const Site, address: usize) {
    let session = own::session();
    if session == 0 {
        return;
    }
    // SAFETY: the stub has the address of the function's trace point, which is never freed.
    let site: &'static Site = unsafe { &*site };
    thread::with_calls(address, |calls, writer| calls.enter(writer, session, address, site));
}

/// Is called by a patched entry of a function whose first argument is recorded.
pub(crate) extern "C" fn entry_with_argument(site: *const Site, address: usize, argument: u64) {
    let session = own::session();
    if session == 0 {
        return;
    }
    // SAFETY: as in `entry`.
    let site: &'static Site = unsafe { &*site };
    thread::with_calls(address, |calls, writer| {
        calls.enter_with(writer, session, address, |call| call.begin_with(site, argument));
    });
}

/// Is called by a patched exit.
pub(crate) extern "C" fn exit(address: usize) {
    let session = own::session();
    if session != 0 {
        thread::with_open_calls(address, |calls, writer| calls.exit(writer, session, address));
    }
}

/// Is called by a patched tail exit.
pub(crate) extern "C" fn tail_exit(address: usize) {
    let session = own::session();
    if session != 0 {
        thread::with_open_calls(address, |calls, writer| calls.tail_exit(writer, session, address));
    }
}
