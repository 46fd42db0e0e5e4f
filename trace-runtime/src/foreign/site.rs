//! The static of a trace point, and its activation by a session.

use std::borrow::Cow;
use std::ffi::{c_char, CStr};
use std::slice;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

use trace_format::layout::{
    argument, cut_str, event_header, EventType, StringRef, MAX_STRING_BYTES,
};
use trace_protocol::buffer::function::FunctionWord;
use trace_protocol::buffer::producer::CHUNK_THREAD;
use trace_provider::{Demands, Durations, Turn};

use crate::point::site::{Switch, WATCHED};

/// The maximum number of arguments of an event.
const MAX_ARGUMENTS: u32 = 15;

/// The static of a trace point: `struct trace_c_site` of the header.
///
/// Only other languages create one. Every method relies on the contract of [`load`](super::load).
#[derive(Debug)]
#[repr(C)]
pub struct Site {
    /// As in a Rust site.
    header: AtomicU64,
    category: *const c_char,
    name: *const c_char,
    keys: *const Key,
    key_count: u32,
    /// The number of an [`EventType`]. Any other number makes a category check, which is on while
    /// the category is recorded. [`FUNCTION`] is that of a duration begin.
    event_type: u32,
}

/// The event type of a site that only [`begin_plain`](super::begin_plain) uses, so that its scopes
/// may have function records.
const FUNCTION: u32 = 1 << 16 | EventType::DurationBegin as u32;

/// The key of an argument: `struct trace_c_key` of the header.
#[derive(Debug)]
#[repr(C)]
pub struct Key {
    name: *const c_char,
    /// As in a Rust key.
    reference: AtomicU16,
}

impl Key {
    /// Creates a key.
    pub const fn new(name: &'static CStr) -> Self {
        Self { name: name.as_ptr(), reference: AtomicU16::new(0) }
    }
}

// SAFETY: by the contract of `load`, what its pointers point to never changes, but for the atomics.
unsafe impl Sync for Site {}

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

    /// The begin of a duration is that of a scope, unless there is a site of an end as well.
    fn durations(&self) -> Option<Durations<'_>> {
        let is_compared = match self.event_type()? {
            EventType::DurationBegin => true,
            EventType::DurationEnd | EventType::DurationComplete => false,
            // Its end is a site of its own.
            EventType::AsyncBegin => false,
            _ => return None,
        };
        Some(Durations { name: self.name(), is_compared })
    }

    fn turn_on(
        &self,
        intern: &mut dyn FnMut(&str) -> Option<StringRef>,
        demands: Demands,
    ) -> Option<()> {
        let (category, name) = (intern(&self.category())?, intern(&self.name())?);
        for key in self.keys() {
            key.reference.store(intern(&key.name())?.bits(), Ordering::Relaxed);
        }
        let event_type = self.event_type().unwrap_or(EventType::Instant);
        let header = event_header(event_type, 0, 0, CHUNK_THREAD, category, name);
        let word = match () {
            () if demands.is_watched => header | WATCHED,
            () if demands.function_records && self.is_function() => {
                FunctionWord::new(category, name).map_or(header, FunctionWord::bits)
            }
            () => header,
        };
        self.header.store(word, Ordering::Relaxed);
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
    /// Creates the site of a duration without arguments, which is off until [`load`](super::load)
    /// has registered it. Only [`begin_plain`](super::begin_plain) begins its durations.
    pub const fn duration(category: &'static CStr, name: &'static CStr) -> Self {
        Self {
            header: AtomicU64::new(0),
            category: category.as_ptr(),
            name: name.as_ptr(),
            keys: std::ptr::null(),
            key_count: 0,
            event_type: FUNCTION,
        }
    }

    /// Creates the site of a duration with arguments, which is off until [`load`](super::load) has
    /// registered it.
    pub const fn duration_with(
        category: &'static CStr,
        name: &'static CStr,
        keys: &'static [Key],
    ) -> Self {
        Self {
            keys: keys.as_ptr(),
            key_count: keys.len() as u32,
            event_type: EventType::DurationBegin as u32,
            ..Self::duration(category, name)
        }
    }

    /// Returns whether its events have arguments.
    pub fn has_arguments(&self) -> bool {
        self.key_count > 0
    }

    /// Returns whether its events are recorded.
    pub fn is_on(&self) -> bool {
        self.header() != 0
    }

    pub(super) fn name(&self) -> Cow<'_, str> {
        // SAFETY: by the contract of `load`.
        unsafe { text(self.name) }
    }

    pub(super) fn keys(&self) -> &[Key] {
        if self.key_count == 0 {
            return &[];
        }
        // SAFETY: by the contract of `load` there are `key_count` keys.
        unsafe { slice::from_raw_parts(self.keys, self.key_count.min(MAX_ARGUMENTS) as usize) }
    }

    fn event_type(&self) -> Option<EventType> {
        match self.event_type {
            FUNCTION => Some(EventType::DurationBegin),
            number => EventType::from_bits(number.into()),
        }
    }

    fn is_function(&self) -> bool {
        self.event_type == FUNCTION
    }

    /// Returns whether its events have a trailing word: an id or a scope.
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

    /// Returns the name field of an argument's header.
    #[inline(always)]
    pub(super) fn bits(&self) -> u64 {
        argument::NameRef::make(u64::from(self.reference.load(Ordering::Relaxed)))
    }
}

/// Returns a zero-terminated text as UTF-8, cut to the longest recordable string.
///
/// # Safety
/// `start` is null, or the text ends with a zero byte and lives as long as the result.
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
