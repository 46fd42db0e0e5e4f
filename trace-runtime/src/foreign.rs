//! Trace points whose statics are laid out by other languages: the base of `trace-c` and its
//! header.
//!
//! Their sites are statics too. In each module (a program or a shared library) the linker collects
//! pointers to all sites in a section. The module registers the section when it is loaded, and
//! unregisters it when it is unloaded. So a session's start finds the sites before they have run,
//! and they cost as much as those of Rust.
//!
//! Texts in these statics may have any bytes, and are checked when a session starts. Bytes that are
//! not UTF-8 are recorded as `?` in values, and as U+FFFD in names.

mod argument;
mod missed;
mod modules;
mod name;
mod records;
mod site;
mod text;

use std::marker::PhantomData;

use trace_protocol::buffer::producer::Slot;
use trace_provider::Generation;

use self::argument::KeyedArguments;
pub use crate::forbidden::forbid_system_calls;
use crate::point::names::Literal;
use crate::point::write;
use crate::{thread, DurationScope, RECORDER};

pub use argument::Argument;
pub(crate) use missed::take_missed;
pub use missed::{add_missed_calls, add_missed_object};
pub use modules::{load, unload, Module};
pub(crate) use modules::{read_all, turn_all, turn_all_off};
pub use records::{
    blob, blob_attachment, blob_event, event_at, kernel_object, ticks, ticks_from_boottime, track,
    userspace_object,
};
pub use site::{Key, Site};
pub use trace_provider::{announce_own_thread, have_threads_ended};

/// A scope in a stack frame of another language: 32 bytes. The first 8 are 0 while it is not
/// recorded.
pub type Scope = DurationScope;

const _: () = assert!(size_of::<Scope>() == 32);

/// Returns a number of this process, which is not 0. No process from which it has inherited memory
/// has the same.
pub fn generation() -> u32 {
    Generation::current().number()
}

/// Writes an event of `site` with a value for each of its keys. `tail` is the id or the scope, if
/// the event type has one.
///
/// # Safety
/// `site` is a site as [`load`] describes it. `arguments` points to one argument for each key, and
/// their texts are readable.
#[inline]
pub unsafe fn event(site: *const Site, arguments: *const Argument, tail: u64) {
    // SAFETY: by the contract.
    let site = unsafe { &*site };
    // SAFETY: by the contract.
    let arguments = unsafe { KeyedArguments::of(site, arguments) };
    if site.has_tail() {
        write::event(site, &[], Literal, arguments, [tail]);
    } else {
        write::event(site, &[], Literal, arguments, []);
    }
}

/// Begins a duration of `site` with a value for each of its keys, and stores its state in `scope`.
/// [`end`] ends it.
///
/// # Safety
/// As for [`event`]. `scope` is writable.
#[inline]
pub unsafe fn begin(scope: *mut Scope, site: *const Site, arguments: *const Argument) {
    // SAFETY: by the contract.
    let site = unsafe { &*site };
    // SAFETY: by the contract.
    let arguments = unsafe { KeyedArguments::of(site, arguments) };
    let begun = if arguments.is_empty() {
        write::begin_inline(site, &[], Literal, ())
    } else {
        write::begin_inline(site, &[], Literal, arguments)
    };
    // SAFETY: by the contract; `scope` holds no value yet that must be dropped.
    unsafe { scope.write(begun) };
}

/// Caches the thread's slot, for callers that have a state of their own for each thread.
///
/// It belongs to its thread, and is not [`Send`]:
///
/// ```compile_fail
/// fn send<T: Send>() {}
/// send::<trace_runtime::foreign::Writer>();
/// ```
///
/// `None` of an `Option<Writer>` is all zeros.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Writer(&'static Slot, PhantomData<*const ()>);

impl Writer {
    fn new(slot: &'static Slot) -> Self {
        Self(slot, PhantomData)
    }

    /// Returns that of the calling thread, if it has or can get one.
    ///
    /// The thread has it until its end: until the destructor of a key that [`prepare_threads`] has
    /// made.
    #[inline]
    pub fn current() -> Option<Self> {
        thread::slot().map(Self::new)
    }

    /// Returns that of the calling thread, if it has one.
    pub fn attached() -> Option<Self> {
        thread::attached().map(Self::new)
    }

    /// Ends a call of this module that a signal handler has interrupted and left by a jump. `here`
    /// is an address on the thread's own stack, in the frame of a function that is being called
    /// now: nothing is done if the interrupted call's frame is above it. A record that is not
    /// complete is counted as lost.
    pub fn leave_above(self, here: usize) {
        self.0.leave_above(&RECORDER, here);
    }
}

/// Creates the key with which threads give their slots back, before a provider does.
pub fn prepare_threads() {
    thread::prepare();
}

/// Gives the calling thread's slot back before the thread ends, so that its end makes no system
/// call. A later event would take another slot.
///
/// # Safety
/// The thread is not interrupted in a call of this module, and uses no [`Writer`] that it got
/// before.
pub unsafe fn detach_thread() {
    thread::detach();
}

/// Begins a duration of `site`, which has no keys, as [`begin`] does.
///
/// # Safety
/// As for [`begin`]. The calling thread has the writer.
#[inline(always)]
pub unsafe fn begin_plain(writer: Writer, scope: *mut Scope, site: *const Site) {
    // SAFETY: by the contract.
    let site = unsafe { &*site };
    let begun = write::begin_by(writer.0, site);
    // SAFETY: by the contract; `scope` holds no value yet that must be dropped.
    unsafe { scope.write(begun) };
}

/// Ends the duration in `scope`, as [`end`] does.
///
/// # Safety
/// As for [`end`]. The calling thread has the writer.
#[inline(always)]
pub unsafe fn end_plain(writer: Writer, scope: *const Scope) {
    // SAFETY: by the contract.
    unsafe { &*scope }.end_by(writer.0);
}

/// Ends the duration in `scope` like [`end_plain`]: its function jumps to another one.
///
/// # Safety
/// As for [`end_plain`].
#[inline(always)]
pub unsafe fn end_plain_by_jump(writer: Writer, scope: *const Scope) {
    // SAFETY: by the contract.
    unsafe { &*scope }.end_by_jump(writer.0);
}

/// Ends the duration in `scope`.
///
/// # Safety
/// [`begin`] has stored the duration there, on this thread, and it has not been ended.
#[inline]
pub unsafe fn end(scope: *mut Scope) {
    // SAFETY: by the contract.
    unsafe { scope.drop_in_place() };
}
