//! Decoding without input and output.

use super::buffer::Buffer;
use super::provider::Providers;
use super::{Item, Limits, Provider, ReadError, Stats};
use crate::decode::{self, DecodeError};
use crate::layout::{MAGIC_WORD, MAGIC_WORD_REVERSED, WORD_BYTES};
use crate::record::Record;

/// Decodes an archive from bytes that are pushed, in pieces of any size.
///
/// It does no input or output, so that an archive can be followed while it is written. Errors are
/// those of a [`Reader`](super::Reader), except for [`ReadError::Io`].
///
/// # Examples
///
/// ```
/// use trace_format::Decoder;
///
/// let mut decoder = Decoder::default();
/// let mut records = 0;
/// for piece in [&b"\x10\x00\x04\x46"[..], b"\x78\x54\x16\x00\x21\x00\x00\x00"] {
///     decoder.feed(piece);
///     while let Some(_item) = decoder.next()? {
///         records += 1;
///     }
/// }
/// // The second record is incomplete.
/// assert_eq!((records, decoder.offset()), (1, 8));
/// decoder.finish();
/// assert!(decoder.next().is_err());
/// # Ok::<(), trace_format::ReadError>(())
/// ```
#[derive(Debug)]
pub struct Decoder {
    buffer: Buffer,
    providers: Providers,
    limits: Limits,
    stats: Stats,
    state: State,
    is_finished: bool,
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The first word.
    Start,
    /// A record.
    Records,
    /// The rest of a record beyond the limit.
    Skipping { offset: u64, bytes: u64, left: u64 },
    /// Nothing: the archive is at its end, or cannot be read on.
    End,
}

/// The next record: its place in the archive, and the number of bytes consumed for it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    offset: u64,
    bytes: usize,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::with_limits(Limits::default())
    }
}

impl Decoder {
    /// Returns a decoder with other limits than the default ones.
    #[must_use]
    pub fn with_limits(limits: Limits) -> Self {
        Self {
            buffer: Buffer::default(),
            providers: Providers::new(limits.providers),
            limits,
            stats: Stats::default(),
            state: State::Start,
            is_finished: false,
        }
    }

    /// Adds the next bytes of the archive.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = self.buffer.room();
            let (now, later) = bytes.split_at(room.len().min(bytes.len()));
            room.iter_mut().zip(now).for_each(|(place, byte)| *place = *byte);
            self.buffer.received(now.len());
            bytes = later;
        }
    }

    /// Ends the archive: what is incomplete now is an error.
    pub fn finish(&mut self) {
        self.is_finished = true;
    }

    /// Returns the next record; `None` if more bytes are needed, and at the end of the archive.
    ///
    /// # Errors
    ///
    /// See the [module's documentation](super). After an error that
    /// [is fatal](ReadError::is_fatal) the next call returns `None`.
    // It borrows from the decoder, which an iterator cannot.
    #[allow(clippy::should_implement_trait)]
    #[inline]
    pub fn next(&mut self) -> Result<Option<Item<'_>>, ReadError> {
        match self.next_span()? {
            Some(span) => self.item(span).map(Some),
            None => Ok(None),
        }
    }

    /// Returns what was found so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Returns the providers found so far, in the order of their first records.
    pub fn providers(&self) -> impl Iterator<Item = &Provider> {
        self.providers.iter()
    }

    /// Returns where the next record starts, in bytes from the archive's start.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.buffer.offset()
    }

    /// Returns space for the next bytes of the archive, instead of [`Decoder::feed`].
    pub(super) fn room(&mut self) -> &mut [u8] {
        self.buffer.room()
    }

    /// Adds the first `count` bytes of [`Decoder::room`].
    pub(super) fn received(&mut self, count: usize) {
        self.buffer.received(count);
    }

    /// Tells whether more bytes are of use.
    pub(super) fn is_open(&self) -> bool {
        !self.is_finished && self.state != State::End
    }

    /// Returns the place of the record that is incomplete.
    pub(super) fn record_offset(&self) -> u64 {
        match self.state {
            State::Skipping { offset, .. } => offset,
            _ => self.buffer.offset(),
        }
    }

    /// Stops decoding, because the input failed.
    pub(super) fn abort(&mut self) {
        self.state = State::End;
    }

    /// Moves behind the next record, if all of it was received.
    #[inline(always)]
    pub(super) fn next_span(&mut self) -> Result<Option<Span>, ReadError> {
        if self.state != State::Records && !self.is_at_record()? {
            return Ok(None);
        }
        let offset = self.buffer.offset();
        let Some(header) = self.buffer.peek() else {
            return self.end_of_bytes();
        };
        let Ok(size) = decode::record_bytes(header) else {
            self.state = State::End;
            return Err(ReadError::SizeZero { offset });
        };
        if size > self.limits.record_bytes.min(self.buffer.filled() as u64) {
            return self.incomplete(offset, size);
        }
        let bytes = size as usize;
        self.stats.records += 1;
        self.buffer.consume(bytes);
        Ok(Some(Span { offset, bytes }))
    }

    /// Decodes the record of `span` and registers what later records refer to.
    #[inline(always)]
    pub(super) fn item(&mut self, span: Span) -> Result<Item<'_>, ReadError> {
        let Span { offset, bytes } = span;
        let bytes = self.buffer.consumed(bytes);
        let record = match decode::record(bytes) {
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
        Ok(Item { offset, record, bytes, provider: self.providers.current() })
    }

    /// Goes on to the next record, if it can: behind the first word, or a record beyond the limit.
    #[cold]
    #[inline(never)]
    fn is_at_record(&mut self) -> Result<bool, ReadError> {
        match self.state {
            State::Start => self.start(),
            State::Records => Ok(true),
            State::Skipping { offset, bytes, left } => self.skip(offset, bytes, left),
            State::End => Ok(false),
        }
    }

    /// Checks the first word of all.
    fn start(&mut self) -> Result<bool, ReadError> {
        let first_word = self.buffer.peek();
        if first_word.is_none() && !self.is_finished {
            return Ok(false);
        }
        self.state = State::Records;
        let error = match first_word {
            Some(MAGIC_WORD) => return Ok(true),
            Some(MAGIC_WORD_REVERSED) => ReadError::BigEndian,
            first_word if self.limits.magic_number => ReadError::NotAnArchive { first_word },
            _ => return Ok(true),
        };
        self.state = State::End;
        Err(error)
    }

    /// There is no whole header word.
    #[cold]
    #[inline(never)]
    fn end_of_bytes(&mut self) -> Result<Option<Span>, ReadError> {
        match (self.is_finished, self.buffer.filled() as u64) {
            (false, _) => Ok(None),
            (true, 0) => {
                self.state = State::End;
                Ok(None)
            }
            (true, found) => self.truncated(self.buffer.offset(), WORD_BYTES as u64, found),
        }
    }

    /// The record is not all there, or beyond the limit.
    #[cold]
    #[inline(never)]
    fn incomplete(&mut self, offset: u64, bytes: u64) -> Result<Option<Span>, ReadError> {
        if bytes > self.limits.record_bytes || usize::try_from(bytes).is_err() {
            self.state = State::Skipping { offset, bytes, left: bytes };
            return self.skip(offset, bytes, bytes).map(|_| None);
        }
        match self.is_finished {
            true => self.truncated(offset, bytes, self.buffer.filled() as u64),
            false => Ok(None),
        }
    }

    /// Moves over `left` bytes of a record beyond the limit, which is an error at its end.
    fn skip(&mut self, offset: u64, bytes: u64, left: u64) -> Result<bool, ReadError> {
        let step = usize::try_from(left).unwrap_or(usize::MAX).min(self.buffer.filled());
        self.buffer.consume(step);
        let left = left - step as u64;
        self.state = State::Skipping { offset, bytes, left };
        match (left, self.is_finished) {
            (0, _) => {
                self.state = State::Records;
                self.stats.records += 1;
                self.stats.bad_records += 1;
                let limit = self.limits.record_bytes;
                Err(ReadError::RecordTooLarge { offset, bytes, limit })
            }
            (_, true) => self.truncated(offset, bytes, bytes - left).map(|_| false),
            (_, false) => Ok(false),
        }
    }

    fn truncated(
        &mut self,
        offset: u64,
        expected: u64,
        found: u64,
    ) -> Result<Option<Span>, ReadError> {
        self.state = State::End;
        Err(ReadError::Truncated { offset, expected, found })
    }
}

#[cold]
fn bad_record(stats: &mut Stats, offset: u64, error: DecodeError) -> ReadError {
    stats.bad_records += 1;
    ReadError::Record { offset, error }
}
