//! Trace points that other languages lay out: what `trace-c` and its header are made of.
//!
//! Their sites are statics too. The linker puts pointers to all sites of a module, which is a
//! program or a shared library, side by side in a section; the module hands the section over when
//! it is loaded and takes it back when it is unloaded. So a session's start finds them without
//! their being run first, and they cost what those of Rust cost.
//!
//! What lies in those statics is not Rust's: texts may be anything, and are looked at when a
//! session starts. Bytes that are not UTF-8 are recorded as `?` in values, and as U+FFFD in names.

mod argument;
mod modules;
mod name;
mod records;
mod site;
mod text;

use self::argument::Given;
use crate::point::names::Literal;
use crate::point::write;
use crate::DurationScope;

pub use argument::Argument;
pub use modules::{load, unload, Module};
pub(crate) use modules::{read_all, turn_all, turn_all_off};
pub use records::{
    blob, blob_attachment, blob_event, event_at, kernel_object, ticks, ticks_from_boottime, track,
    userspace_object,
};
pub use site::{Key, Site};

/// A scope as it lies in a frame of another language: 32 bytes, of which the first 8 are 0 while it
/// is not recorded.
pub type Scope = DurationScope;

const _: () = assert!(size_of::<Scope>() == 32);

/// Writes an event of `site` with a value for each of its keys. `tail` is its id or scope, where
/// events of its type have one.
///
/// # Safety
/// `site` is a site as [`load`] describes it. `arguments` are as many as it has keys, and their
/// texts can be read.
#[inline]
pub unsafe fn event(site: *const Site, arguments: *const Argument, tail: u64) {
    // SAFETY: by the contract.
    let site = unsafe { &*site };
    // SAFETY: by the contract.
    let given = unsafe { Given::of(site, arguments) };
    if site.has_tail() {
        write::event(site, &[], Literal, given, [tail]);
    } else {
        write::event(site, &[], Literal, given, []);
    }
}

/// Begins a duration of `site` with a value for each of its keys, and stores it in `scope`, which
/// [`end`] ends.
///
/// # Safety
/// As for [`event`]; `scope` can be written to.
#[inline]
pub unsafe fn begin(scope: *mut Scope, site: *const Site, arguments: *const Argument) {
    // SAFETY: by the contract.
    let site = unsafe { &*site };
    // SAFETY: by the contract.
    let given = unsafe { Given::of(site, arguments) };
    let begun = if given.is_empty() {
        write::begin_inline(site, &[], Literal, ())
    } else {
        write::begin_inline(site, &[], Literal, given)
    };
    // SAFETY: by the contract; what was there is not a scope yet.
    unsafe { scope.write(begun) };
}

/// Ends the duration in `scope`.
///
/// # Safety
/// [`begin`] has stored it there, on this thread, and it was not ended before.
#[inline]
pub unsafe fn end(scope: *mut Scope) {
    // SAFETY: by the contract.
    unsafe { scope.drop_in_place() };
}
