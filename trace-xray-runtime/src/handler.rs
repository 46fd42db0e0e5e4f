//! What the trampolines call at each entry and exit.

use trace_runtime::foreign::Site;

use crate::{events, own, thread};

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

/// Is called by a patched custom event, with the address and size of its data.
pub(crate) extern "C" fn custom_event(data: *const u8, size: usize, _other: usize, address: usize) {
    record_event(data, size, address, events::custom);
}

/// Is called by a patched typed event, with its type, and the address and size of its data.
pub(crate) extern "C" fn typed_event(
    event_type: usize,
    data: *const u8,
    size: usize,
    address: usize,
) {
    record_event(data, size, address, |data| events::typed(event_type, data));
}

fn record_event(data: *const u8, size: usize, address: usize, record: impl FnOnce(&[u8])) {
    if own::session() == 0 || size == 0 || data.is_null() {
        return;
    }
    // SAFETY: the program has passed its data to the event, of this size.
    let data = unsafe { std::slice::from_raw_parts(data, size) };
    thread::with_calls(address, |_, _| record(data));
}
