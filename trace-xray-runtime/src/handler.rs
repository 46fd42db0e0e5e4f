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

/// Is called by a patched exit or tail exit.
pub(crate) extern "C" fn exit(address: usize) {
    let session = own::session();
    if session != 0 {
        thread::with_open_calls(address, |calls, writer| calls.exit(writer, session, address));
    }
}
