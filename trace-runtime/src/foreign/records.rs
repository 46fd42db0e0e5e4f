//! Events at other times or on tracks, and records other than events.

use std::ffi::{c_char, c_void, CStr};
use std::slice;
use std::time::Duration;

use trace_format::layout::{BlobType, ObjectType};

use super::argument::KeyedArguments;
use super::name::Name;
use super::{Argument, Site};
use crate::names;
use crate::point::names::{Literal, NameAtRunTime};
use crate::point::object::Object;
use crate::point::place::{At, On, Place};
use crate::point::{blob as blobs, object as objects, write};
use crate::timestamp::Timestamp;
use crate::track::Track;
use crate::tracks::koid_of;

/// Writes an event at a time in ticks, on a track returned by [`track`], or on this thread if
/// `track` is 0.
///
/// # Safety
/// As for [`event`](super::event).
pub unsafe fn event_at(
    site: *const Site,
    arguments: *const Argument,
    tail: u64,
    ticks: u64,
    track: u64,
) {
    // SAFETY: by the contract.
    let site = unsafe { &*site };
    // SAFETY: by the contract.
    let arguments = unsafe { KeyedArguments::of(site, arguments) };
    let at = At(Timestamp::from_ticks(ticks));
    match track {
        0 => write_at(site, at, arguments, tail),
        koid => write_at(site, On(Track::with_koid(koid), at), arguments, tail),
    }
}

fn write_at(site: &Site, place: impl Place, arguments: KeyedArguments<'_>, tail: u64) {
    if site.has_tail() {
        write::event_at(site, &[], place, Literal, arguments, [tail]);
    } else {
        write::event_at(site, &[], place, Literal, arguments, []);
    }
}

/// Returns the koid of the track with this id. The name is used by the first call for an id, and
/// ignored later.
///
/// The first call for an id takes a lock and may allocate. Later calls do so only if there are many
/// tracks.
///
/// # Safety
/// `name` is a string that ends with a zero byte.
pub unsafe fn track(name: *const c_char, id: u64) -> u64 {
    let number = names::recall_track(id).unwrap_or_else(|| {
        // SAFETY: by the contract.
        let name = unsafe { CStr::from_ptr(name) };
        names::track_with_id(&name.to_string_lossy(), id)
    });
    koid_of(number)
}

/// Returns the current time in ticks.
pub fn ticks() -> u64 {
    Timestamp::now().ticks()
}

/// Converts a time of `CLOCK_BOOTTIME`, in nanoseconds, to ticks.
pub fn ticks_from_boottime(nanoseconds: u64) -> u64 {
    Timestamp::from_boottime(Duration::from_nanos(nanoseconds)).ticks()
}

/// Writes a blob of the type `blob_type`.
///
/// # Safety
/// `site` is a site as [`load`](super::load) describes it, and `size` bytes are readable.
pub unsafe fn blob(site: *const Site, blob_type: u32, bytes: *const c_void, size: usize) {
    // SAFETY: by the contract.
    let site = unsafe { &*site };
    // SAFETY: by the contract.
    let bytes = unsafe { data(bytes, size) };
    blobs::blob(site, BlobType(blob_type as u8), Literal, bytes);
}

/// Writes a blob event with arguments. The site's first two keys are the part's number and the
/// number of parts.
///
/// # Safety
/// As for [`blob`]. `arguments` points to one argument for each further key, and their texts are
/// readable.
pub unsafe fn blob_event(
    site: *const Site,
    arguments: *const Argument,
    bytes: *const c_void,
    size: usize,
) {
    // SAFETY: by the contract.
    let site = unsafe { &*site };
    let [part, parts, keys @ ..] = site.keys() else { return };
    // SAFETY: by the contract.
    let arguments = unsafe { KeyedArguments::for_keys(keys, arguments) };
    // SAFETY: by the contract.
    let bytes = unsafe { data(bytes, size) };
    let part_keys = || [part.bits(), parts.bits()];
    blobs::blob_event_in_parts(site, &[], part_keys, Literal, arguments, bytes);
}

/// Writes a blob attachment with the site's category and name.
///
/// # Safety
/// As for [`blob`].
pub unsafe fn blob_attachment(site: *const Site, bytes: *const c_void, size: usize) {
    // SAFETY: by the contract.
    let site = unsafe { &*site };
    // SAFETY: by the contract.
    let bytes = unsafe { data(bytes, size) };
    blobs::blob_attachment_named(site, || site.name(), Literal, bytes);
}

/// Writes the name and the arguments of an object of this process.
///
/// # Safety
/// As for [`event`](super::event). `name` is null or a string that ends with a zero byte.
pub unsafe fn userspace_object(
    site: *const Site,
    arguments: *const Argument,
    pointer: *const c_void,
    name: *const c_char,
) {
    // SAFETY: by the contract.
    unsafe { object(site, arguments, Object::Userspace(pointer.addr() as u64), name) };
}

/// Writes the name and the arguments of a kernel object.
///
/// # Safety
/// As for [`userspace_object`].
pub unsafe fn kernel_object(
    site: *const Site,
    arguments: *const Argument,
    koid: u64,
    object_type: u32,
    name: *const c_char,
) {
    let kind = ObjectType(object_type as u8);
    // SAFETY: by the contract.
    unsafe { object(site, arguments, Object::Kernel(kind, koid), name) };
}

/// # Safety
/// As for [`userspace_object`].
unsafe fn object(
    site: *const Site,
    arguments: *const Argument,
    object: Object,
    name: *const c_char,
) {
    // SAFETY: by the contract.
    let site = unsafe { &*site };
    // SAFETY: by the contract.
    let arguments = unsafe { KeyedArguments::of(site, arguments) };
    let bytes = if name.is_null() {
        &[]
    } else {
        // SAFETY: by the contract.
        unsafe { CStr::from_ptr(name) }.to_bytes()
    };
    let name = Name::new(bytes);
    objects::object(site, &[], object, NameAtRunTime(name.as_str()), arguments);
}

/// # Safety
/// `size` bytes are readable while the result is used.
unsafe fn data<'a>(start: *const c_void, size: usize) -> &'a [u8] {
    if start.is_null() || size == 0 {
        return &[];
    }
    // SAFETY: by the contract.
    unsafe { slice::from_raw_parts(start.cast(), size) }
}
