//! Decoding without I/O.

use std::io::Read;

use super::grammar::Progress;
use super::state::{Place, State, Step};
use super::window::Window;
use super::{decode, Item, Limits, ReadError, Stats};
use crate::layout::{function, Action, FUNCTION_BYTES};
use crate::record::{FunctionRecord, Header, Record};

/// The result of a step of a decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Poll {
    /// A record of this size.
    Record(usize),
    /// More bytes are required.
    More,
    /// The end of the log.
    End,
}

/// Decodes a log that arrives in pieces.
///
/// # Examples
///
/// ```
/// use trace_xray::read::Decoder;
///
/// # let pieces: [&[u8]; 2] = [b"\x05\0\x01\0", &[0; 28]];
/// let mut decoder = Decoder::new();
/// for piece in pieces {
///     decoder.push(piece);
///     while let Some(item) = decoder.next()? {
///         println!("{}: {:?}", item.offset, item.record);
///     }
/// }
/// decoder.finish();
/// while let Some(item) = decoder.next()? {
///     println!("{}: {:?}", item.offset, item.record);
/// }
/// # Ok::<(), trace_xray::read::ReadError>(())
/// ```
#[derive(Debug)]
pub struct Decoder {
    window: Window,
    state: State,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// Starts with the first byte of a log.
    #[must_use]
    pub fn new() -> Self {
        Self::with_limits(Limits::default())
    }

    /// Starts with limits other than the default ones.
    #[must_use]
    pub fn with_limits(limits: Limits) -> Self {
        Self { window: Window::default(), state: State::new(limits) }
    }

    /// Starts at a thread buffer of a log, of about `size` bytes.
    pub(super) fn at((log, header): (u32, Header), offset: u64, size: u64) -> Self {
        let state = State::at_buffer(log, header, Limits::default());
        Self { window: Window::at(offset, size), state }
    }

    /// Returns whether the next bytes are those of a thread buffer at `offset`.
    pub(super) fn is_at(&self, offset: u64) -> bool {
        self.state.place == Place::Boundary
            && self.window.offset() == offset
            && !self.window.is_passing()
    }

    /// Finds the next record of the thread buffer at `offset`. At its end, the end is returned.
    pub(super) fn poll_within(&mut self, offset: u64) -> Result<Poll, ReadError> {
        let is_before = self.is_at(offset);
        let is_within = self.state.place == Place::Buffer && self.state.buffer.offset == offset;
        if is_before || is_within {
            self.poll_while(|state| state.place != Place::Boundary || is_before)
        } else {
            Ok(Poll::End)
        }
    }

    /// Adds the next bytes of the log.
    ///
    /// Memory grows with bytes that are added before [`next`](Self::next) returned `None`.
    pub fn push(&mut self, bytes: &[u8]) {
        self.window.push(bytes);
    }

    /// Declares that no more bytes will be added.
    pub fn finish(&mut self) {
        self.state.finished = true;
    }

    /// Returns the next record; `None` if more bytes are required, or, after
    /// [`finish`](Self::finish), at the end of the log.
    ///
    /// # Errors
    ///
    /// See the [module's documentation](super). After an error that
    /// [is fatal](ReadError::is_fatal) the next call returns `None`.
    // It borrows from the decoder, which an iterator cannot.
    #[allow(clippy::should_implement_trait)]
    #[inline]
    pub fn next(&mut self) -> Result<Option<Item<'_>>, ReadError> {
        if let Some(record) = self.next_function() {
            return Ok(Some(self.function_item(record)));
        }
        match self.poll()? {
            Poll::Record(size) => self.item(size).map(Some),
            Poll::More | Poll::End => Ok(None),
        }
    }

    /// Returns the last header that was decoded, `None` before the first one.
    #[must_use]
    pub fn header(&self) -> Option<&Header> {
        (self.window.offset() > 0).then_some(&self.state.header)
    }

    /// Returns where the last thread buffer starts.
    pub(super) fn buffer_offset(&self) -> u64 {
        self.state.buffer.offset
    }

    /// Returns the statistics so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.state.stats
    }

    /// Decodes a function record in the body of a thread buffer: the hot path.
    #[inline]
    pub(super) fn next_function(&mut self) -> Option<FunctionRecord> {
        let state = &mut self.state;
        let order = state.header.format.order;
        let word = self.window.word()?;
        let number = function::Word::get(word, order);
        let [first, ..] = *word;
        let behind = self.window.offset() + FUNCTION_BYTES as u64;
        let is_plain = state.place == Place::Buffer
            && state.progress.is_in_body()
            && !decode::is_metadata(first, order)
            && state.end.is_none_or(|end| behind <= end)
            && !self.window.is_passing();
        if !is_plain {
            return None;
        }
        let record = decode::function(number, order).ok()?;
        // Also that of zeros in place of a record.
        if record.function.number() == 0 {
            return None;
        }
        self.window.take(FUNCTION_BYTES);
        let takes_arguments = record.action == Action::EntryArgs;
        state.progress = if takes_arguments { Progress::Arguments } else { Progress::Body };
        state.buffer.tsc = state.buffer.tsc.wrapping_add(record.delta.into());
        state.stats.records += 1;
        Some(record)
    }

    #[inline]
    pub(super) fn function_item(&self, record: FunctionRecord) -> Item<'_> {
        let offset = self.window.offset() - FUNCTION_BYTES as u64;
        let State { buffer, header, .. } = &self.state;
        Item { offset, record: Record::Function(record), buffer, header }
    }

    /// Finds the next record.
    pub(super) fn poll(&mut self) -> Result<Poll, ReadError> {
        self.poll_while(|_| true)
    }

    /// Finds the next record while a condition is true. Returns the end otherwise.
    fn poll_while(&mut self, is_within: impl Fn(&State) -> bool) -> Result<Poll, ReadError> {
        while is_within(&self.state) {
            if self.window.is_passing() {
                return self.passing();
            }
            match self.state.step(&mut self.window) {
                Ok(Some(Step::Again)) => {}
                Ok(Some(Step::More)) => return Ok(Poll::More),
                Ok(Some(Step::Record(size))) => return Ok(Poll::Record(size)),
                Ok(None) => return Ok(Poll::End),
                Err(error) => return Err(self.failed(error)),
            }
        }
        Ok(Poll::End)
    }

    /// Waits for bytes to skip. At the end of the log, padding must not be missing.
    #[cold]
    fn passing(&mut self) -> Result<Poll, ReadError> {
        if !self.state.finished {
            return Ok(Poll::More);
        }
        match self.state.cut_padding(&self.window) {
            Some(error) => Err(self.failed(error)),
            None => Ok(Poll::End),
        }
    }

    /// Returns the record of `size` bytes that [`poll`](Self::poll) found.
    pub(super) fn item(&mut self, size: usize) -> Result<Item<'_>, ReadError> {
        let offset = self.window.offset();
        self.window.take(size);
        let record = decode::record(self.window.taken(size), self.state.header.format)
            .map_err(|error| ReadError::Record { offset, error })?;
        let State { buffer, header, .. } = &self.state;
        Ok(Item { offset, record, buffer, header })
    }

    /// Reads a block of bytes.
    pub(super) fn read(&mut self, input: &mut impl Read) -> Result<(), ReadError> {
        let offset = self.window.offset() + self.window.rest().len() as u64;
        match self.window.read(input) {
            Ok(true) => {}
            Ok(false) => self.finish(),
            Err(error) => return Err(self.failed(ReadError::Io { offset, error })),
        }
        Ok(())
    }

    #[cold]
    fn failed(&mut self, error: ReadError) -> ReadError {
        self.state.stats.errors += 1;
        if error.is_fatal() {
            self.state.place = Place::End;
        }
        error
    }
}
