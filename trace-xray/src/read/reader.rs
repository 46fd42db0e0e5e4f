//! Reading from a file or any other input.

use std::io::Read;

use super::decoder::Poll;
use super::{Decoder, Item, Limits, ReadError, Stats};
use crate::record::Header;

/// Reads a log from `R`.
///
/// It reads in big blocks: `R` needs no buffer of its own.
///
/// # Examples
///
/// ```
/// use trace_xray::read::Reader;
/// use trace_xray::Record;
///
/// # fn open() -> &'static [u8] { b"\x05\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" }
/// let mut reader = Reader::new(open());
/// while let Some(item) = reader.next()? {
///     if let Record::Function(function) = item.record {
///         println!("{} {} {:?}", item.tsc(), function.function, function.action);
///     }
/// }
/// # Ok::<(), trace_xray::read::ReadError>(())
/// ```
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    decoder: Decoder,
}

impl<R: Read> Reader<R> {
    /// Starts reading a log from its first byte.
    #[must_use]
    pub fn new(input: R) -> Self {
        Self::with_limits(input, Limits::default())
    }

    /// Starts reading a log with limits other than the default ones.
    #[must_use]
    pub fn with_limits(input: R, limits: Limits) -> Self {
        Self { input, decoder: Decoder::with_limits(limits) }
    }

    /// Returns the next record, `None` at the end of the log.
    ///
    /// # Errors
    ///
    /// See the [module's documentation](super). After an error that
    /// [is fatal](ReadError::is_fatal) the next call returns `None`.
    // It borrows from the reader, which an iterator cannot.
    #[allow(clippy::should_implement_trait)]
    #[inline]
    pub fn next(&mut self) -> Result<Option<Item<'_>>, ReadError> {
        if let Some(record) = self.decoder.next_function() {
            return Ok(Some(self.decoder.function_item(record)));
        }
        self.next_slow()
    }

    #[inline(never)]
    fn next_slow(&mut self) -> Result<Option<Item<'_>>, ReadError> {
        loop {
            match self.decoder.poll()? {
                Poll::Record(size) => return self.decoder.item(size).map(Some),
                Poll::End => return Ok(None),
                Poll::More => self.decoder.read(&mut self.input)?,
            }
        }
    }

    /// Returns the last header that was read, `None` before the first call of [`next`](Self::next).
    #[must_use]
    pub fn header(&self) -> Option<&Header> {
        self.decoder.header()
    }

    /// Returns where the last thread buffer starts.
    pub(super) fn buffer_offset(&self) -> u64 {
        self.decoder.buffer_offset()
    }

    /// Returns the statistics so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.decoder.stats()
    }
}
