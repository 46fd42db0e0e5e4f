//! A cursor over a record's bytes.

use super::{Process, Text, Thread};
use crate::decode_error::DecodeError;
use crate::layout::{words_for_bytes, StringRef, ThreadKoids, ThreadRef, WORD_BYTES};

/// The part of a record that is not decoded yet.
///
/// Methods that take a field fail with [`DecodeError::Short`] if the record ends before it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
    /// The record's size in bytes: the position of the end of `rest`.
    total: usize,
    strict: bool,
}

impl<'a> Cursor<'a> {
    #[inline]
    pub(crate) fn new(record: &'a [u8]) -> Self {
        let total = record.len();
        Self { rest: record, total, strict: false }
    }

    /// Sets whether data that a reader skips or replaces is an error.
    #[inline]
    pub(crate) fn with_strict(self, strict: bool) -> Self {
        Self { strict, ..self }
    }

    #[inline]
    pub(crate) fn is_strict(&self) -> bool {
        self.strict
    }

    /// Returns the cursor's position, in bytes from the record's start.
    pub(crate) fn position(&self) -> usize {
        self.total - self.rest.len()
    }

    #[inline]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Returns the number of complete words that are left.
    #[inline]
    pub(crate) fn words_left(&self) -> usize {
        self.rest.len() / WORD_BYTES
    }

    #[cold]
    fn short(&self, what: &'static str) -> DecodeError {
        let at = self.position();
        DecodeError::Short { what, at }
    }

    #[inline]
    pub(crate) fn word(&mut self, what: &'static str) -> Result<u64, DecodeError> {
        let Some((word, rest)) = self.rest.split_first_chunk() else {
            return Err(self.short(what));
        };
        self.rest = rest;
        Ok(u64::from_le_bytes(*word))
    }

    /// Takes `bytes` bytes and their padding, and returns the bytes.
    pub(crate) fn stream(
        &mut self,
        bytes: u64,
        what: &'static str,
    ) -> Result<&'a [u8], DecodeError> {
        let taken = usize::try_from(bytes).ok().and_then(|bytes| {
            let (stream, padded) = self.rest.split_at_checked(bytes)?;
            let padding = words_for_bytes(bytes) * WORD_BYTES - bytes;
            let (padding, rest) = padded.split_at_checked(padding)?;
            Some((stream, padding, rest))
        });
        let (stream, padding, rest) = taken.ok_or_else(|| self.short(what))?;
        if padding.iter().any(|byte| *byte != 0) {
            return Err(DecodeError::Padding { what, at: self.position() });
        }
        self.rest = rest;
        Ok(stream)
    }

    /// Takes a string of `bytes` bytes and its padding. Only a strict cursor requires UTF-8.
    pub(crate) fn string(
        &mut self,
        bytes: u64,
        what: &'static str,
    ) -> Result<&'a [u8], DecodeError> {
        let at = self.position();
        let string = self.stream(bytes, what)?;
        if self.strict && core::str::from_utf8(string).is_err() {
            return Err(DecodeError::Utf8 { what, at });
        }
        Ok(string)
    }

    /// Takes the next `words` words as a cursor, or returns `None` if the record ends before.
    pub(crate) fn split(&mut self, words: u64) -> Option<Cursor<'a>> {
        let bytes = usize::try_from(words).ok()?.checked_mul(WORD_BYTES)?;
        let (taken, rest) = self.rest.split_at_checked(bytes)?;
        let total = self.position() + bytes;
        self.rest = rest;
        Some(Cursor { rest: taken, total, strict: self.strict })
    }

    /// Takes the string of a string ref, in the low 16 bits of `bits`.
    #[inline]
    pub(crate) fn text(&mut self, bits: u64, what: &'static str) -> Result<Text<'a>, DecodeError> {
        let string_ref = StringRef::from_bits(bits as u16);
        if let Some(index) = string_ref.index() {
            return Ok(Text::Indexed(index));
        }
        let bytes = string_ref.inline_bytes().unwrap_or(0);
        self.string(bytes as u64, what).map(Text::Inline)
    }

    /// Takes the koids of a thread ref, in the low 8 bits of `bits`.
    #[inline]
    pub(crate) fn thread(&mut self, bits: u64) -> Result<Thread, DecodeError> {
        let thread_ref = ThreadRef::from_bits(bits as u8);
        if !thread_ref.is_inline() {
            return Ok(Thread::Indexed(thread_ref.bits()));
        }
        self.koids().map(Thread::Inline)
    }

    pub(crate) fn koids(&mut self) -> Result<ThreadKoids, DecodeError> {
        let process = self.word("process koid")?;
        let thread = self.word("thread koid")?;
        Ok(ThreadKoids::new(process, thread))
    }

    /// Takes the process koid of a thread ref, in the low 8 bits of `bits`.
    pub(crate) fn process(&mut self, bits: u64) -> Result<Process, DecodeError> {
        let thread_ref = ThreadRef::from_bits(bits as u8);
        if !thread_ref.is_inline() {
            return Ok(Process::Indexed(thread_ref.bits()));
        }
        self.word("process koid").map(Process::Inline)
    }
}
