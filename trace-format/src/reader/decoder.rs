//! Decoding of archives without I/O.

mod start;

use super::buffer::Buffer;
use super::provider::Providers;
use super::{Item, Limits, Provider, ReadError, Stats};
use crate::decode::{self, DecodeError};
use crate::layout::WORD_BYTES;
use crate::record::Record;

/// Decodes an archive from chunks of bytes of any size.
///
/// It does no I/O, so it can follow an archive that is still written. Errors are those of a
/// [`Reader`](super::Reader), except [`ReadError::Io`].
///
/// # Examples
///
/// ```
/// use trace_format::Decoder;
///
/// let mut decoder = Decoder::default();
/// let mut records = 0;
/// for chunk in [&b"\x10\x00\x04\x46"[..], b"\x78\x54\x16\x00\x21\x00\x00\x00"] {
///     decoder.feed(chunk);
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
    /// The state between records: [`State::Records`] or [`State::BigEndian`].
    at_record: State,
    is_finished: bool,
}

/// The expected input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The first record.
    Start,
    /// A little-endian record.
    Records,
    /// A big-endian record. The header at offset `header_at` is already little endian. All other
    /// bytes that are not consumed are still big endian.
    BigEndian { header_at: u64 },
    /// The last `left` bytes of a record beyond the limit, to be skipped.
    Skipping { offset: u64, bytes: u64, left: u64 },
    /// Nothing, after the end of the archive or a fatal error.
    End,
}

/// The offset and size in bytes of a record, whose bytes are consumed.
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
            at_record: State::Records,
            is_finished: false,
        }
    }

    /// Adds the next bytes of the archive.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let space = self.buffer.space();
            let (now, later) = bytes.split_at(space.len().min(bytes.len()));
            space.iter_mut().zip(now).for_each(|(place, byte)| *place = *byte);
            self.buffer.received(now.len());
            bytes = later;
        }
    }

    /// Ends the archive. An incomplete record is then an error.
    pub fn finish(&mut self) {
        self.is_finished = true;
    }

    /// Returns the next record, or `None` if more bytes are needed and at the end of the archive.
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

    /// Returns the counts so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Returns the providers so far, in the order of their first records.
    pub fn providers(&self) -> impl Iterator<Item = &Provider> {
        self.providers.iter()
    }

    /// Returns the offset of the next record, in bytes from the archive's start.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.buffer.offset()
    }

    /// Returns space for the next bytes of the archive, as an alternative to [`Decoder::feed`].
    pub(super) fn space(&mut self) -> &mut [u8] {
        self.buffer.space()
    }

    /// Adds the first `count` bytes of [`Decoder::space`].
    pub(super) fn received(&mut self, count: usize) {
        self.buffer.received(count);
    }

    /// Returns whether the decoder needs more bytes.
    pub(super) fn is_open(&self) -> bool {
        !self.is_finished && self.state != State::End
    }

    /// Returns the offset of the incomplete record.
    pub(super) fn record_offset(&self) -> u64 {
        match self.state {
            State::Skipping { offset, .. } => offset,
            _ => self.buffer.offset(),
        }
    }

    /// Stops decoding after an I/O error.
    pub(super) fn abort(&mut self) {
        self.state = State::End;
    }

    /// Consumes the next record, if it was received.
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

    /// Consumes the next record, if it was received and nothing else is to do before. This is the
    /// usual case of [`Decoder::next_span`], apart so that the span stays in registers.
    #[inline(always)]
    pub(super) fn ready_span(&mut self) -> Option<Span> {
        let header = self.buffer.peek().filter(|_| self.state == State::Records)?;
        let size = decode::record_bytes(header).ok()?;
        if size > self.limits.record_bytes.min(self.buffer.filled() as u64) {
            return None;
        }
        let (offset, bytes) = (self.buffer.offset(), size as usize);
        self.stats.records += 1;
        self.buffer.consume(bytes);
        Some(Span { offset, bytes })
    }

    /// Decodes the record of `span`, and updates the tables and the current provider.
    #[inline(always)]
    pub(super) fn item(&mut self, span: Span) -> Result<Item<'_>, ReadError> {
        let Span { offset, bytes } = span;
        let bytes = self.buffer.consumed(bytes);
        let record = match decode::whole_record(bytes) {
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

    /// Calls `look` with the record of `span`, like [`Decoder::item`]. An event is made in place.
    #[inline(always)]
    pub(super) fn visit<T>(
        &mut self,
        span: Span,
        mut look: impl FnMut(Result<&Item<'_>, ReadError>) -> T,
    ) -> T {
        let Span { offset, bytes } = span;
        let bytes = self.buffer.consumed(bytes);
        match decode::whole_event(bytes) {
            Some(Ok(event)) => {
                let (record, provider) = (Record::Event(event), self.providers.current());
                look(Ok(&Item { offset, record, bytes, provider }))
            }
            Some(Err(error)) => look(Err(bad_record(&mut self.stats, offset, error))),
            None => self.visit_other(span, &mut look),
        }
    }

    #[inline(never)]
    fn visit_other<T>(
        &mut self,
        span: Span,
        look: &mut impl FnMut(Result<&Item<'_>, ReadError>) -> T,
    ) -> T {
        match self.item(span) {
            Ok(item) => look(Ok(&item)),
            Err(error) => look(Err(error)),
        }
    }

    /// Advances to the next record in states other than [`State::Records`], and returns whether its
    /// header can be decoded now.
    #[cold]
    #[inline(never)]
    fn is_at_record(&mut self) -> Result<bool, ReadError> {
        match self.state {
            State::Start => self.start(),
            State::Records => Ok(true),
            State::BigEndian { header_at } => Ok(self.reverse(header_at)),
            State::Skipping { offset, bytes, left } => self.skip(offset, bytes, left),
            State::End => Ok(false),
        }
    }

    /// Handles an incomplete header word.
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

    /// Handles a record that is incomplete or beyond the limit.
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
                self.state = self.at_record;
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
