//! The static of a trace point, and what a session does with it.

use std::borrow::Cow;
use std::ffi::{c_char, CStr};
use std::slice;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

use trace_format::layout::{
    argument, cut_str, event_header, EventType, StringRef, MAX_STRING_BYTES,
};
use trace_protocol::buffer::producer::CHUNK_THREAD;
use trace_provider::Turn;

use crate::point::site::Switch;

/// The most arguments of an event.
const MAX_ARGUMENTS: u32 = 15;

/// The static of a trace point: `struct trace_c_site` of the header.
///
/// Only other languages make one, by the contract of [`load`](super::load); every method stands on
/// that.
#[derive(Debug)]
#[repr(C)]
pub struct Site {
    /// As in a site of Rust's.
    header: AtomicU64,
    category: *const c_char,
    name: *const c_char,
    keys: *const Key,
    key_count: u32,
    /// The number of an [`EventType`]; any other is that of a question, which is on while its
    /// category is.
    event_type: u32,
}

/// The key of an argument: `struct trace_c_key` of the header.
#[derive(Debug)]
#[repr(C)]
pub struct Key {
    name: *const c_char,
    /// As in a key of Rust's.
    reference: AtomicU16,
}

impl Switch for Site {
    #[inline(always)]
    fn header(&self) -> u64 {
        self.header.load(Ordering::Relaxed)
    }
}

impl Turn for Site {
    fn category(&self) -> Cow<'_, str> {
        // SAFETY: by the contract of `load`.
        unsafe { text(self.category) }
    }

    fn turn_on(&self, intern: &mut dyn FnMut(&str) -> Option<StringRef>) -> Option<()> {
        let (category, name) = (intern(&self.category())?, intern(&self.name())?);
        for key in self.keys() {
            key.reference.store(intern(&key.name())?.bits(), Ordering::Relaxed);
        }
        let event_type = self.event_type().unwrap_or(EventType::Instant);
        let header = event_header(event_type, 0, 0, CHUNK_THREAD, category, name);
        self.header.store(header, Ordering::Relaxed);
        Some(())
    }

    fn turn_off(&self) {
        self.header.store(0, Ordering::Relaxed);
    }

    fn for_each_text(&self, take: &mut dyn FnMut(&str)) {
        take(&self.category());
        take(&self.name());
        self.keys().iter().for_each(|key| take(&key.name()));
    }
}

impl Site {
    pub(super) fn name(&self) -> Cow<'_, str> {
        // SAFETY: by the contract of `load`.
        unsafe { text(self.name) }
    }

    pub(super) fn keys(&self) -> &[Key] {
        if self.key_count == 0 {
            return &[];
        }
        // SAFETY: by the contract of `load` there are as many keys as it says, and at most 15.
        unsafe { slice::from_raw_parts(self.keys, self.key_count.min(MAX_ARGUMENTS) as usize) }
    }

    fn event_type(&self) -> Option<EventType> {
        EventType::from_bits(self.event_type.into())
    }

    /// Whether a word with an id or a scope follows its events.
    #[inline(always)]
    pub(super) fn has_tail(&self) -> bool {
        self.event_type != EventType::DurationBegin as u32
            && self.event_type != EventType::DurationEnd as u32
    }
}

impl Key {
    fn name(&self) -> Cow<'_, str> {
        // SAFETY: by the contract of `load`.
        unsafe { text(self.name) }
    }

    /// The name field of an argument's header.
    #[inline(always)]
    pub(super) fn bits(&self) -> u64 {
        argument::NameRef::make(u64::from(self.reference.load(Ordering::Relaxed)))
    }
}

/// A text with a zero at its end, as it may be recorded.
///
/// # Safety
/// `start` is null, or the text lives as long as the result.
unsafe fn text<'a>(start: *const c_char) -> Cow<'a, str> {
    if start.is_null() {
        return Cow::Borrowed("");
    }
    // SAFETY: by the contract.
    let text = unsafe { CStr::from_ptr(start) };
    match text.to_string_lossy() {
        Cow::Borrowed(text) => Cow::Borrowed(cut_str(text, MAX_STRING_BYTES)),
        Cow::Owned(text) => Cow::Owned(cut_str(&text, MAX_STRING_BYTES).to_owned()),
    }
}
