//! Reading of archives.
//!
//! A [`Reader`] goes through an archive once, record by record, and keeps what
//! later records refer to: for each provider its name, clock, strings and
//! threads. An [`Item`] is one record with what is needed to understand it.
//! Below the reader is a [`Decoder`], which takes bytes as they come.
//!
//! # What goes wrong, and where the reader stands then
//!
//! | what                               | result                                  | then        |
//! |------------------------------------|-----------------------------------------|-------------|
//! | the content of one record is wrong | [`ReadError::Record`], counted          | next record |
//! | a large record is beyond the limit | [`ReadError::RecordTooLarge`]           | next record |
//! | a type is not known                | an item with [`Record::Unknown`](crate::Record::Unknown), counted | next record |
//! | an index was never registered      | [`UNKNOWN_STRING`], [`ThreadKoids::UNKNOWN`](crate::ThreadKoids::UNKNOWN), counted by an [`audit`](crate::audit) | same record |
//! | bytes are not UTF-8                | U+FFFD in their place                   | same record |
//! | a string or thread record for index 0 | an item, not registered              | next record |
//! | a record has size 0                | [`ReadError::SizeZero`]                 | the end     |
//! | the archive ends within a record   | [`ReadError::Truncated`]                | the end     |
//! | the magic number is missing        | nothing, noted in [`Stats`]             | first record, if it is well-formed |
//! | the archive is of a big-endian machine | nothing, noted in [`Stats`]         | next record |
//! | the start is not that of an archive | [`ReadError::NotAnArchive`]            | the end     |
//! | too many providers                 | [`ReadError::TooManyProviders`]         | the end     |
//! | reading fails                      | [`ReadError::Io`]                       | the end     |
//!
//! # Memory
//!
//! Memory grows with the bytes that were read, never with a size that a record
//! claims: at most one record, for each provider at most 32767 strings and 255
//! threads, and at most [`Limits::providers`] providers.

mod buffer;
mod decoder;
mod error;
mod item;
mod provider;
mod table;

pub use decoder::Decoder;
pub use error::ReadError;
pub use item::{Item, UNKNOWN_STRING};
pub use provider::Provider;

use std::io::{ErrorKind, Read};

use crate::layout::MAX_READ_BYTES;
use crate::notes;
use decoder::Span;

/// What a [`Reader`] accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest record in bytes; 256 MiB by default. Only large records can
    /// be beyond it.
    pub record_bytes: u64,
    /// The most providers; 65536 by default.
    pub providers: usize,
    /// Whether an archive must start with the magic number record. By default
    /// it can start with any well-formed record that is not a large one:
    /// archives of before 2019 do.
    pub magic_number: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self { record_bytes: MAX_READ_BYTES, providers: 1 << 16, magic_number: false }
    }
}

/// What a [`Reader`] has come across so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Records of any kind, also bad ones.
    pub records: u64,
    /// Records with a type that is not known.
    pub unknown_records: u64,
    /// Records whose content is wrong, or that are beyond the limit.
    pub bad_records: u64,
    /// The archive has the byte order of big-endian machines.
    pub is_big_endian: bool,
    /// The archive does not start with the magic number record.
    pub lacks_magic_number: bool,
}

impl Stats {
    /// Returns how the archive's form differs from the usual one, as commands report it.
    pub fn notes(&self) -> impl Iterator<Item = &'static str> {
        let notes = [
            (notes::BIG_ENDIAN, self.is_big_endian),
            (notes::NO_MAGIC_NUMBER, self.lacks_magic_number),
        ];
        notes.into_iter().filter(|(_, applies)| *applies).map(|(note, _)| note)
    }
}

/// Reads an archive from `R`.
///
/// It reads in big blocks: `R` needs no buffer of its own.
///
/// # Examples
///
/// ```
/// use trace_format::{Reader, Record};
///
/// # fn open() -> &'static [u8] { b"\x10\x00\x04\x46\x78\x54\x16\x00" }
/// let mut reader = Reader::new(open());
/// while let Some(item) = reader.next()? {
///     if let Record::Event(event) = item.record {
///         println!("{} ns: {}", item.nanos(event.ticks), item.text(event.name));
///     }
/// }
/// # Ok::<(), trace_format::ReadError>(())
/// ```
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    decoder: Decoder,
}

impl<R: Read> Reader<R> {
    /// Starts reading an archive from its first byte.
    #[must_use]
    pub fn new(input: R) -> Self {
        Self::with_limits(input, Limits::default())
    }

    /// Starts reading an archive with other limits than the usual ones.
    #[must_use]
    pub fn with_limits(input: R, limits: Limits) -> Self {
        Self { input, decoder: Decoder::with_limits(limits) }
    }

    /// Returns the next record, `None` at the end of the archive.
    ///
    /// All records are returned, those about tables too.
    ///
    /// # Errors
    ///
    /// See the [module's documentation](self). After an error that
    /// [is fatal](ReadError::is_fatal) the next call returns `None`.
    // It borrows from the reader, which an iterator cannot.
    #[allow(clippy::should_implement_trait)]
    // An item is large: to return it from a call takes as long as to decode it.
    #[inline(always)]
    pub fn next(&mut self) -> Result<Option<Item<'_>>, ReadError> {
        let span = match self.decoder.next_span()? {
            Some(span) => span,
            None => match self.filled_span()? {
                Some(span) => span,
                None => return Ok(None),
            },
        };
        self.decoder.item(span).map(Some)
    }

    /// Returns what was found so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.decoder.stats()
    }

    /// Returns the providers found so far, in the order of their first
    /// records.
    pub fn providers(&self) -> impl Iterator<Item = &Provider> {
        self.decoder.providers()
    }

    /// Returns where the next record starts, in bytes from the archive's
    /// start.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.decoder.offset()
    }

    /// Reads until there is a record; `None` at the end of the archive.
    #[cold]
    #[inline(never)]
    fn filled_span(&mut self) -> Result<Option<Span>, ReadError> {
        while self.decoder.is_open() {
            self.fill()?;
            if let Some(span) = self.decoder.next_span()? {
                return Ok(Some(span));
            }
        }
        Ok(None)
    }

    /// Reads once, or ends the archive.
    fn fill(&mut self) -> Result<(), ReadError> {
        loop {
            match self.input.read(self.decoder.room()) {
                Ok(0) => self.decoder.finish(),
                Ok(count) => self.decoder.received(count),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    let offset = self.decoder.record_offset();
                    self.decoder.abort();
                    return Err(ReadError::Io { offset, error });
                }
            }
            return Ok(());
        }
    }
}
