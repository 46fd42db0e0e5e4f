//! Reading of archives.
//!
//! A [`Reader`] goes through an archive once, record by record, and keeps what
//! later records refer to: for each provider its name, clock, strings and
//! threads. An [`Item`] is one record with what is needed to understand it.
//!
//! # What goes wrong, and where the reader stands then
//!
//! | what                               | result                                  | then        |
//! |------------------------------------|-----------------------------------------|-------------|
//! | the content of one record is wrong | [`ReadError::Record`], counted          | next record |
//! | a large record is beyond the limit | [`ReadError::RecordTooLarge`]           | next record |
//! | a type is not known                | an item with [`Record::Unknown`], counted | next record |
//! | an index was never registered      | [`UNKNOWN_STRING`], [`ThreadKoids::UNKNOWN`](crate::ThreadKoids::UNKNOWN), counted when resolved | same record |
//! | bytes are not UTF-8                | U+FFFD in their place                   | same record |
//! | a string or thread record for index 0 | an item, not registered              | next record |
//! | a record has size 0                | [`ReadError::SizeZero`]                 | the end     |
//! | the archive ends within a record   | [`ReadError::Truncated`]                | the end     |
//! | the start is not that of an archive | [`ReadError::NotAnArchive`] or [`ReadError::BigEndian`] | the end |
//! | too many providers                 | [`ReadError::TooManyProviders`]         | the end     |
//! | reading fails                      | [`ReadError::Io`]                       | the end     |
//!
//! # Memory
//!
//! Memory grows with the bytes that were read, never with a size that a record
//! claims: at most one record, for each provider at most 32767 strings and 255
//! threads, and at most [`Limits::providers`] providers.

mod buffer;
mod error;
mod item;
mod provider;
mod table;

pub use error::ReadError;
pub use item::{Item, UNKNOWN_STRING};
pub use provider::Provider;

use std::io::Read;

use crate::decode::{self, DecodeError};
use crate::layout::{MAGIC_WORD, MAGIC_WORD_REVERSED, MAX_READ_BYTES, WORD_BYTES};
use crate::record::Record;
use buffer::Buffer;
use item::Unresolved;
use provider::Providers;

/// What a [`Reader`] accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest record in bytes; 256 MiB by default. Only large records can
    /// be beyond it.
    pub record_bytes: u64,
    /// The most providers; 65536 by default.
    pub providers: usize,
    /// Whether an archive must start with the magic number record, which is so
    /// by default. Archives of before 2019 do not.
    pub magic_number: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self { record_bytes: MAX_READ_BYTES, providers: 1 << 16, magic_number: true }
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
    /// String refs to an index that was not registered, of those that were
    /// resolved.
    pub unknown_string_refs: u64,
    /// Thread refs to an index that was not registered, of those that were
    /// resolved.
    pub unknown_thread_refs: u64,
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
    buffer: Buffer<R>,
    providers: Providers,
    limits: Limits,
    stats: Stats,
    unresolved: Unresolved,
    state: State,
}

/// Where the reader stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the first word.
    Start,
    /// Before a record.
    Records,
    /// At the end, or where it cannot go on.
    End,
}

/// Where the next record is: the file offset, and its bytes in the buffer.
#[derive(Debug, Clone, Copy)]
struct Span {
    offset: u64,
    bytes: usize,
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
        Self {
            buffer: Buffer::new(input),
            providers: Providers::new(limits.providers),
            limits,
            stats: Stats::default(),
            unresolved: Unresolved::default(),
            state: State::Start,
        }
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
    #[inline]
    pub fn next(&mut self) -> Result<Option<Item<'_>>, ReadError> {
        match self.next_span() {
            Ok(Some(span)) => self.item(span).map(Some),
            Ok(None) => Ok(None),
            Err(error) => {
                if error.is_fatal() {
                    self.state = State::End;
                }
                Err(error)
            }
        }
    }

    /// Returns what was found so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats {
            unknown_string_refs: self.unresolved.strings.get(),
            unknown_thread_refs: self.unresolved.threads.get(),
            ..self.stats
        }
    }

    /// Returns the providers found so far, in the order of their first
    /// records.
    pub fn providers(&self) -> impl Iterator<Item = &Provider> {
        self.providers.iter()
    }

    /// Returns where the next record starts, in bytes from the archive's
    /// start.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.buffer.offset()
    }

    /// Makes the next record lie in the buffer as a whole, then moves behind
    /// it.
    #[inline]
    fn next_span(&mut self) -> Result<Option<Span>, ReadError> {
        if self.state != State::Records && !self.start()? {
            return Ok(None);
        }
        let offset = self.buffer.offset();
        let Some(header) = self.header()? else {
            return Ok(None);
        };
        let Ok(size) = decode::record_bytes(header) else {
            return Err(ReadError::SizeZero { offset });
        };
        if size > self.buffer.filled() as u64 {
            self.fill_record(offset, size)?;
        }
        let bytes = size as usize;
        self.stats.records += 1;
        self.buffer.consume(bytes);
        Ok(Some(Span { offset, bytes }))
    }

    /// Returns the next record's header word, `None` at the end.
    #[inline]
    fn header(&mut self) -> Result<Option<u64>, ReadError> {
        if let Some(header) = self.buffer.peek() {
            return Ok(Some(header));
        }
        self.header_slow()
    }

    #[cold]
    #[inline(never)]
    fn header_slow(&mut self) -> Result<Option<u64>, ReadError> {
        let offset = self.buffer.offset();
        let found =
            self.buffer.fill(WORD_BYTES).map_err(|error| ReadError::Io { offset, error })?;
        match self.buffer.peek() {
            Some(header) => Ok(Some(header)),
            None if found == 0 => {
                self.state = State::End;
                Ok(None)
            }
            None => {
                let (expected, found) = (WORD_BYTES as u64, found as u64);
                Err(ReadError::Truncated { offset, expected, found })
            }
        }
    }

    /// Reads until the whole record is in the buffer.
    #[cold]
    #[inline(never)]
    fn fill_record(&mut self, offset: u64, expected: u64) -> Result<(), ReadError> {
        let io = |error| ReadError::Io { offset, error };
        let bytes = usize::try_from(expected).ok();
        let bytes = bytes.filter(|_| expected <= self.limits.record_bytes);
        let found = match bytes {
            Some(bytes) => self.buffer.fill(bytes).map_err(io)? as u64,
            None => self.buffer.skip(expected).map_err(io)?,
        };
        if found < expected {
            return Err(ReadError::Truncated { offset, expected, found });
        }
        if bytes.is_some() {
            return Ok(());
        }
        self.stats.records += 1;
        self.stats.bad_records += 1;
        let limit = self.limits.record_bytes;
        Err(ReadError::RecordTooLarge { offset, bytes: expected, limit })
    }

    /// Looks at the first word of all; tells whether there is more to read.
    #[cold]
    #[inline(never)]
    fn start(&mut self) -> Result<bool, ReadError> {
        if self.state == State::End {
            return Ok(false);
        }
        self.state = State::Records;
        let io = |error| ReadError::Io { offset: 0, error };
        self.buffer.fill(WORD_BYTES).map_err(io)?;
        match self.buffer.peek() {
            Some(MAGIC_WORD) => Ok(true),
            Some(MAGIC_WORD_REVERSED) => Err(ReadError::BigEndian),
            first_word if self.limits.magic_number => Err(ReadError::NotAnArchive { first_word }),
            _ => Ok(true),
        }
    }

    /// Decodes the record of `span` and takes note of what it registers.
    #[inline]
    fn item(&mut self, span: Span) -> Result<Item<'_>, ReadError> {
        let Span { offset, bytes } = span;
        let record = match decode::record(self.buffer.consumed(bytes)) {
            Ok(record) => record,
            Err(error) => return Err(bad_record(&mut self.stats, offset, error)),
        };
        if let Record::Unknown(_) = record {
            self.stats.unknown_records += 1;
        }
        if let Err(error) = self.providers.apply(&record, offset) {
            self.state = State::End;
            return Err(error);
        }
        Ok(Item {
            offset,
            record,
            provider: self.providers.current(),
            unresolved: &self.unresolved,
        })
    }
}

#[cold]
fn bad_record(stats: &mut Stats, offset: u64, error: DecodeError) -> ReadError {
    stats.bad_records += 1;
    ReadError::Record { offset, error }
}
