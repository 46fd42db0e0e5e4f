//! One record of an archive with its provider.

use std::borrow::Cow;

use super::Provider;
use crate::layout::ThreadKoids;
use crate::record::{Process, Record, Text, Thread};

/// The placeholder of a string whose index is not registered.
pub const UNKNOWN_STRING: &str = "<unknown string>";

/// One record of an archive, with the provider whose tables resolve its references.
#[derive(Debug, Clone, Copy)]
pub struct Item<'a> {
    /// The record's offset, in bytes from the archive's start.
    pub offset: u64,
    /// The record. [`Item::text`] and [`Item::thread`] resolve its strings and threads.
    pub record: Record<'a>,
    /// The bytes of the record, header included, little endian.
    pub bytes: &'a [u8],
    /// The provider of the record. For a provider info or section record, it is the provider that
    /// the record names. For magic number and provider event records, it is that of the record
    /// before.
    pub provider: &'a Provider,
}

impl<'a> Item<'a> {
    /// Returns a string of the record, or [`UNKNOWN_STRING`] if its index is not registered.
    ///
    /// Bytes that are not UTF-8 are replaced by U+FFFD.
    #[inline]
    #[must_use]
    pub fn text(&self, text: Text<'a>) -> Cow<'a, str> {
        match text {
            // `from_utf8_lossy` takes several times as long.
            Text::Inline(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => String::from_utf8_lossy(bytes),
            },
            Text::Indexed(index) => {
                Cow::Borrowed(self.provider.string(index).unwrap_or(UNKNOWN_STRING))
            }
        }
    }

    /// Returns a thread of the record, or [`ThreadKoids::UNKNOWN`] if its index is not registered.
    #[inline]
    #[must_use]
    pub fn thread(&self, thread: Thread) -> ThreadKoids {
        match thread {
            Thread::Inline(koids) => koids,
            Thread::Indexed(index) => self.provider.thread(index).unwrap_or(ThreadKoids::UNKNOWN),
        }
    }

    /// Returns the koid of a process of the record, or 0 if its index is not registered.
    #[must_use]
    pub fn process(&self, process: Process) -> u64 {
        match process {
            Process::Inline(koid) => koid,
            Process::Indexed(index) => self.thread(Thread::Indexed(index)).process,
        }
    }

    /// Converts a timestamp of the record to nanoseconds of the provider's clock, as
    /// [`TickRate::to_nanos`](crate::TickRate::to_nanos) does.
    #[inline]
    #[must_use]
    pub fn nanos(&self, ticks: u64) -> u64 {
        self.provider.tick_rate().to_nanos(ticks)
    }
}
