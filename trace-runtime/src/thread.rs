//! The slot of each thread: taken at the thread's first record, given back when the thread ends.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

use trace_protocol::buffer::producer::Slot;
use trace_protocol::{clock, thread_id};

use crate::{sys, ENGINE, RECORDER};

thread_local! {
    /// The thread's slot; null before its first record and after it has ended; [`ATTACHING`] in
    /// between.
    ///
    /// It needs no destructor of Rust's, so that it can be read at any time in the life of a
    /// thread.
    static SLOT: Cell<*const Slot> = const { Cell::new(ptr::null()) };

    /// Records of signal handlers that interrupted the thread while it was taking its slot.
    static MISSED: Cell<u32> = const { Cell::new(0) };
}

/// Marks a thread that is taking a slot, for a signal handler that interrupts it.
const ATTACHING: *const Slot = ptr::without_provenance(1);

/// The key whose destructor gives the slots of ended threads back, or -1.
///
/// POSIX runs destructors of keys after those of Rust's thread locals, and again if one of them
/// made a value for the key anew: a trace point in any of them works, and the slot is given back
/// all the same.
static KEY: AtomicI32 = AtomicI32::new(-1);

/// The slot of the calling thread, if it has or can get one.
#[inline(always)]
pub(crate) fn slot() -> Option<&'static Slot> {
    let slot = SLOT.get();
    if slot.addr() > ATTACHING.addr() {
        // SAFETY: a pointer here is null, `ATTACHING`, or came from the `&'static Slot` that
        // `attach` stored.
        Some(unsafe { &*slot })
    } else {
        attach(slot)
    }
}

/// The slot that the calling thread has already.
#[inline(always)]
pub(crate) fn attached() -> Option<&'static Slot> {
    let slot = SLOT.get();
    if slot.addr() > ATTACHING.addr() {
        // SAFETY: a pointer other than null and `ATTACHING` came from the `&'static Slot` that
        // `attach` stored.
        Some(unsafe { &*slot })
    } else {
        None
    }
}

#[cold]
#[inline(never)]
fn attach(current: *const Slot) -> Option<&'static Slot> {
    if !RECORDER.is_recording() {
        return None;
    }
    if !current.is_null() {
        MISSED.set(MISSED.get().saturating_add(1));
        return None;
    }
    SLOT.set(ATTACHING);
    let slot = RECORDER.attach(thread_id::current());
    if RECORDER.asks_for_slots() {
        ENGINE.notify();
    }
    SLOT.set(slot.map_or(ptr::null(), ptr::from_ref));
    if slot.is_none() {
        RECORDER.lost_without_slot(clock::ticks);
    }
    if let (Some(slot), missed @ 1..) = (slot, MISSED.take()) {
        slot.count_nested(&RECORDER, missed);
    }
    if let (Some(slot), Ok(key)) = (slot, KEY.load(Ordering::Relaxed).try_into()) {
        sys::set_value(key, ptr::from_ref(slot).cast());
    }
    slot
}

/// Makes ready what the first record of a thread needs. Called before the first session; later
/// calls do nothing.
pub(crate) fn prepare() {
    if KEY.load(Ordering::Relaxed) >= 0 {
        return;
    }
    if let Some(key) = sys::make_key(thread_ends).and_then(|key| i32::try_from(key).ok()) {
        KEY.store(key, Ordering::Relaxed);
    }
}

/// Leaves the trace point that the calling thread was interrupted in, if it was. For a thread that
/// ends its process from a signal handler, and so never comes back to it.
pub(crate) fn leave_trace_point() {
    if let Some(slot) = attached() {
        slot.leave();
    }
}

/// Makes the thread forget the slot that it has from its parent process. Called in a forked child,
/// by its only thread.
pub(crate) fn forget_slot() {
    SLOT.set(ptr::null());
}

extern "C" fn thread_ends(slot: *mut libc::c_void) {
    if SLOT.get() != slot.cast_const().cast() {
        // A forked child has forgotten its parent's slot.
        return;
    }
    // SAFETY: the value of the key is the `&'static Slot` that `attach` stored, found above to be
    // this thread's.
    give_back(unsafe { &*slot.cast_const().cast::<Slot>() });
}

/// Gives the thread's slot back, as its end does, which then makes no system call. Called outside
/// of trace points.
pub(crate) fn detach() {
    if let Some(slot) = attached() {
        give_back(slot);
    }
}

fn give_back(slot: &'static Slot) {
    trace_provider::write_own_name(&ENGINE, slot);
    SLOT.set(ptr::null());
    RECORDER.detach(slot);
}
