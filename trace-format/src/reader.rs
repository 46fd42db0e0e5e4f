//! Reading of archives.
//!
//! A [`Reader`] reads an archive once, record by record. It keeps each provider's name, clock,
//! strings and threads, to which later records refer. An [`Item`] is one record with its provider.
//! A [`Decoder`] is the reader without I/O.
//!
//! # Errors and the reader's position after them
//!
//! | input                              | result                                  | next        |
//! |------------------------------------|-----------------------------------------|-------------|
//! | malformed record                   | [`ReadError::Record`], counted          | next record |
//! | large record beyond the limit      | [`ReadError::RecordTooLarge`], counted  | next record |
//! | record of an unknown type          | item with [`Record::Unknown`](crate::Record::Unknown), counted | next record |
//! | index that was never registered    | [`UNKNOWN_STRING`], [`ThreadKoids::UNKNOWN`](crate::ThreadKoids::UNKNOWN), counted by an [`audit`](crate::audit) | same record |
//! | string that is not UTF-8           | U+FFFD in place of the wrong bytes      | same record |
//! | string or thread record for index 0 | item, not registered                   | next record |
//! | record of size 0                   | [`ReadError::SizeZero`]                 | end         |
//! | end of the archive within a record | [`ReadError::Truncated`]                | end         |
//! | no magic number, but a well-formed record | item, noted in [`Stats`]         | next record |
//! | magic number of a big-endian machine | item, noted in [`Stats`]              | next record |
//! | any other start                    | [`ReadError::NotAnArchive`]             | end         |
//! | too many providers                 | [`ReadError::TooManyProviders`]         | end         |
//! | I/O error                          | [`ReadError::Io`]                       | end         |
//!
//! # Memory
//!
//! Memory grows with the bytes that were read, never with a size that a record claims. The reader
//! keeps one record, at most [`Limits::providers`] providers, and 32767 strings and 255 threads for
//! each provider.

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

/// The limits of a [`Reader`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest record in bytes. The default is 256 MiB, which only large records can exceed.
    pub record_bytes: u64,
    /// The largest number of providers. The default is 65536.
    pub providers: usize,
    /// Whether an archive must start with the magic number record. By default, it can also start
    /// with any other well-formed record of at most 32760 bytes, as archives from before 2019 do.
    pub magic_number: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self { record_bytes: MAX_READ_BYTES, providers: 1 << 16, magic_number: false }
    }
}

/// Counts of the records that a [`Reader`] has read so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Records of any type, malformed ones included.
    pub records: u64,
    /// Records of unknown types.
    pub unknown_records: u64,
    /// Records that are malformed or beyond the limit.
    pub bad_records: u64,
    /// Whether the archive has the byte order of big-endian machines.
    pub is_big_endian: bool,
    /// Whether the archive lacks the magic number record at its start.
    pub lacks_magic_number: bool,
}

impl Stats {
    /// Returns the reports of commands on the archive's byte order and magic number.
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
/// It reads large blocks, so `R` needs no buffer.
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
    /// Returns a reader of the archive that `input` contains.
    #[must_use]
    pub fn new(input: R) -> Self {
        Self::with_limits(input, Limits::default())
    }

    /// Returns a reader with other limits than the default ones.
    #[must_use]
    pub fn with_limits(input: R, limits: Limits) -> Self {
        Self { input, decoder: Decoder::with_limits(limits) }
    }

    /// Returns the next record, or `None` at the end of the archive.
    ///
    /// String and thread records are returned, too.
    ///
    /// # Errors
    ///
    /// See the [module's documentation](self). After an error that
    /// [is fatal](ReadError::is_fatal) the next call returns `None`.
    // It borrows from the reader, which an iterator cannot.
    #[allow(clippy::should_implement_trait)]
    // An item is large: returning it from a call takes as long as decoding it.
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

    /// Calls `look` with each record and each error that [`Reader::next`] would return, to the end
    /// of the archive or to the first error of `look`. Takes less time than `next`, because events
    /// are not moved.
    ///
    /// # Errors
    ///
    /// `look` has returned an error.
    #[inline]
    pub fn visit<E>(
        &mut self,
        mut look: impl FnMut(Result<&Item<'_>, ReadError>) -> Result<(), E>,
    ) -> Result<(), E> {
        loop {
            match self.decoder.ready_span() {
                Some(span) => self.decoder.visit(span, &mut look)?,
                None if self.visit_slow(&mut look)? => {}
                None => return Ok(()),
            }
        }
    }

    /// Visits the next record or error that is not ready. Returns false at the end of the archive.
    #[cold]
    #[inline(never)]
    fn visit_slow<E>(
        &mut self,
        look: &mut impl FnMut(Result<&Item<'_>, ReadError>) -> Result<(), E>,
    ) -> Result<bool, E> {
        match self.next() {
            Ok(Some(item)) => look(Ok(&item))?,
            Ok(None) => return Ok(false),
            Err(error) => look(Err(error))?,
        }
        Ok(true)
    }

    /// Returns the counts so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.decoder.stats()
    }

    /// Returns the providers so far, in the order of their first records.
    pub fn providers(&self) -> impl Iterator<Item = &Provider> {
        self.decoder.providers()
    }

    /// Returns the offset of the next record, in bytes from the archive's start.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.decoder.offset()
    }

    /// Reads until a record is complete. Returns `None` at the end of the archive.
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

    /// Reads one block. At the end of the input, finishes the archive.
    fn fill(&mut self) -> Result<(), ReadError> {
        loop {
            match self.input.read(self.decoder.space()) {
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
