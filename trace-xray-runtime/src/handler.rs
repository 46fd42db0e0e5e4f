//! What the trampolines call at each entry and exit.

use trace_runtime::foreign::Site;
use trace_xray::layout::MAX_PAYLOAD_BYTES;

use crate::sled::{self, CALL_BYTES, CUSTOM_EVENT_MOVES, TYPED_EVENT_MOVES};
use crate::{events, own, text, thread};

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
    record_event::<CUSTOM_EVENT_MOVES>(data, size, address, events::custom);
}

/// Is called by a patched typed event, with its type, and the address and size of its data.
pub(crate) extern "C" fn typed_event(
    event_type: usize,
    data: *const u8,
    size: usize,
    address: usize,
) {
    record_event::<TYPED_EVENT_MOVES>(data, size, address, |data| events::typed(event_type, data));
}

/// Records the event of a sled that has `N` bytes between its jump and its call.
fn record_event<const N: usize>(
    data: *const u8,
    size: usize,
    address: usize,
    record: impl FnOnce(&[u8]),
) {
    let session = own::session();
    let Some(size) = payload_bytes(size).filter(|_| session != 0 && !data.is_null()) else {
        return;
    };
    // SAFETY: the program has passed its data to the event, of this size, which is less than that
    // of half of the address space.
    let data = unsafe { std::slice::from_raw_parts(data, size) };
    let callee = callee_address::<N>(address);
    thread::with_calls(address, |calls, writer| {
        calls.close_below(writer, session, callee);
        record(data);
    });
}

/// Returns the bytes of a payload that has any and that a log may have. Clang has passed a size of
/// 32 bits, with any value in the upper half of the register.
fn payload_bytes(size: usize) -> Option<usize> {
    let size = size as u32 as usize;
    (1..=MAX_PAYLOAD_BYTES).contains(&size).then_some(size)
}

/// Returns the address that the frame of a function would have that is called in place of an event.
/// That of the event is lower, by the words that its sled pushes.
fn callee_address<const N: usize>(address: usize) -> usize {
    let place: *const u64 = std::ptr::with_exposed_provenance(address);
    // SAFETY: the trampoline has the address of its return address, which is on the stack.
    let next = unsafe { place.read() };
    let moves = text::read::<N>(next.wrapping_sub((N + CALL_BYTES) as u64));
    address + size_of::<u64>() * sled::pushed_words(&moves)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_32_bits_and_a_limit() {
        assert_eq!(payload_bytes(0), None);
        assert_eq!(payload_bytes(7), Some(7));
        assert_eq!(payload_bytes(MAX_PAYLOAD_BYTES), Some(MAX_PAYLOAD_BYTES));
        assert_eq!(payload_bytes(MAX_PAYLOAD_BYTES + 1), None);
        assert_eq!(payload_bytes(usize::MAX), None);
        assert_eq!(payload_bytes(0xdead_beef_0000_0007), Some(7), "the upper half is undefined");
        assert_eq!(payload_bytes(1 << 32), None);
    }

    #[test]
    fn a_callee_has_the_address_without_the_words_that_an_event_pushes() {
        let sled = b"\xeb\x0f\x57\x56\x48\x89\xf7\x48\x89\xd6\xe8\xc1\xff\xff\xff\x5e\x5f";
        let frame = sled.as_ptr().expose_provenance() as u64 + 15;
        let address = (&raw const frame).expose_provenance();
        assert_eq!(callee_address::<CUSTOM_EVENT_MOVES>(address), address + 16);
    }
}
