//! One record of an archive with what is needed to understand it.

use std::borrow::Cow;

use super::Provider;
use crate::layout::ThreadKoids;
use crate::record::{Process, Record, Text, Thread};

/// What stands for a string whose index was not registered.
pub const UNKNOWN_STRING: &str = "<unknown string>";

/// One record of an archive, with the provider that gives its references a meaning.
#[derive(Debug, Clone, Copy)]
pub struct Item<'a> {
    /// Where the record starts, in bytes from the archive's start.
    pub offset: u64,
    /// The record. Its strings and threads become readable through
    /// [`Item::text`] and [`Item::thread`].
    pub record: Record<'a>,
    /// The record as it is stored, with its header.
    pub bytes: &'a [u8],
    /// The provider that the record is of; for a provider's info or section
    /// record, the provider that it names. Magic number and provider event
    /// records are of no provider, this then is the one before.
    pub provider: &'a Provider,
}

impl<'a> Item<'a> {
    /// Returns a string of the record; [`UNKNOWN_STRING`] if its index was not
    /// registered. What is not UTF-8 is replaced by U+FFFD.
    #[inline]
    #[must_use]
    pub fn text(&self, text: Text<'a>) -> Cow<'a, str> {
        match text {
            Text::Inline(bytes) => String::from_utf8_lossy(bytes),
            Text::Indexed(index) => {
                Cow::Borrowed(self.provider.string(index).unwrap_or(UNKNOWN_STRING))
            }
        }
    }

    /// Returns a thread of the record; [`ThreadKoids::UNKNOWN`] if its index
    /// was not registered.
    #[inline]
    #[must_use]
    pub fn thread(&self, thread: Thread) -> ThreadKoids {
        match thread {
            Thread::Inline(koids) => koids,
            Thread::Indexed(index) => self.provider.thread(index).unwrap_or(ThreadKoids::UNKNOWN),
        }
    }

    /// Returns the koid of a process of the record; 0 if its index was not
    /// registered.
    #[must_use]
    pub fn process(&self, process: Process) -> u64 {
        match process {
            Process::Inline(koid) => koid,
            Process::Indexed(index) => self.thread(Thread::Indexed(index)).process,
        }
    }

    /// Returns a timestamp of the record in nanoseconds of its provider's
    /// clock; see [`TickRate::to_nanos`](crate::TickRate::to_nanos).
    #[inline]
    #[must_use]
    pub fn nanos(&self, ticks: u64) -> u64 {
        self.provider.tick_rate().to_nanos(ticks)
    }
}
