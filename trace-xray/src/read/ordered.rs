//! Reading of thread buffers in the order of time.

use std::io::{Read, Seek, SeekFrom};

use super::decoder::Poll;
use super::{Decoder, Item, ReadError, Reader, ThreadBuffer};
use crate::record::{Header, Record};

/// The most errors of the first pass that are kept. Further ones are counted.
const MAX_ERRORS: usize = 1000;

/// Reads a log whose thread buffers are not in the order of time.
///
/// LLVM's runtime reuses thread buffers, and writes them in the order of their memory. This reader
/// returns them in the order of their first times, so that the records of each thread are in order.
/// Several logs in one file, which may have different clocks, are read one after the other.
/// The log is read twice; memory grows with the number of thread buffers, 32 bytes each.
///
/// Records of a thread buffer without a time are skipped. Damage outside of the thread buffers that
/// have a time is reported first: up to 1000 errors, and the number of further ones.
///
/// # Examples
///
/// ```
/// use trace_xray::calls::CallStacks;
/// use trace_xray::read::Ordered;
///
/// fn calls(log: std::fs::File) -> Result<(), trace_xray::read::ReadError> {
///     let mut reader = Ordered::new(log)?;
///     let mut stacks = CallStacks::default();
///     while let Some(item) = reader.next()? {
///         stacks.step(&item);
///     }
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct Ordered<R> {
    input: R,
    headers: Vec<(u32, Header)>,
    buffers: std::vec::IntoIter<Found>,
    /// The errors of the first pass that the second one does not meet.
    errors: std::vec::IntoIter<ReadError>,
    decoder: Decoder,
    /// The index of the current thread buffer.
    current: Option<u64>,
}

/// A thread buffer that was found.
#[derive(Debug, Clone, Copy)]
struct Found {
    /// Its first time.
    tsc: u64,
    offset: u64,
    /// The bytes up to the next one.
    size: u64,
    /// The index of its header in the list of headers.
    header: usize,
}

impl<R: Read + Seek> Ordered<R> {
    /// Finds the thread buffers of a log, which starts at the first byte of the input.
    ///
    /// # Errors
    ///
    /// The log has no valid header, or reading fails.
    pub fn new(mut input: R) -> Result<Self, ReadError> {
        seek(&mut input, 0)?;
        let Scan { headers, mut buffers, errors } = find(&mut input)?;
        // Stable: buffers of the same time stay in the order of the log.
        buffers.sort_by_key(|buffer| (buffer.header, buffer.tsc));
        let (buffers, errors, decoder) = (buffers.into_iter(), errors.into_iter(), Decoder::new());
        Ok(Self { input, headers, buffers, errors, decoder, current: None })
    }

    /// Returns the next record, `None` at the end.
    ///
    /// # Errors
    ///
    /// See the [module's documentation](super). Reading continues with the next thread buffer, also
    /// after an error that [is fatal](ReadError::is_fatal).
    // It borrows from the reader, which an iterator cannot.
    #[allow(clippy::should_implement_trait)]
    #[inline]
    pub fn next(&mut self) -> Result<Option<Item<'_>>, ReadError> {
        if let Some(record) = self.decoder.next_function() {
            return Ok(Some(self.decoder.function_item(record)));
        }
        self.next_slow()
    }

    /// Returns the header of the log; of several logs in one file, that of the last record.
    #[must_use]
    pub fn header(&self) -> Option<&Header> {
        self.decoder.header().or(self.headers.first().map(|(_, header)| header))
    }

    #[inline(never)]
    fn next_slow(&mut self) -> Result<Option<Item<'_>>, ReadError> {
        if let Some(error) = self.errors.next() {
            return Err(error);
        }
        loop {
            let Some(current) = self.current else {
                match self.buffers.next() {
                    Some(buffer) => self.enter(buffer)?,
                    None => return Ok(None),
                }
                continue;
            };
            match self.decoder.poll_within(current)? {
                Poll::Record(size) => return self.decoder.item(size).map(Some),
                Poll::End => self.current = None,
                Poll::More => self.decoder.read(&mut self.input)?,
            }
        }
    }

    /// Seeks to a thread buffer, unless the decoder is there already.
    fn enter(&mut self, Found { offset, size, header, .. }: Found) -> Result<(), ReadError> {
        self.current = Some(offset);
        let header = self.headers.get(header).copied();
        if let Some(header) = header.filter(|_| !self.decoder.is_at(offset)) {
            seek(&mut self.input, offset)?;
            self.decoder = Decoder::at(header, offset, size);
        }
        Ok(())
    }
}

fn seek(input: &mut impl Seek, offset: u64) -> Result<(), ReadError> {
    let result = input.seek(SeekFrom::Start(offset));
    result.map(|_| ()).map_err(|error| ReadError::Io { offset, error })
}

/// The result of the first pass.
#[derive(Debug, Default)]
struct Scan {
    /// Those of logs with thread buffers, with their numbers.
    headers: Vec<(u32, Header)>,
    buffers: Vec<Found>,
    errors: Vec<ReadError>,
}

/// Reads the log once.
fn find(input: &mut impl Read) -> Result<Scan, ReadError> {
    let mut reader = Reader::new(input);
    let mut scan = Scan::default();
    loop {
        match reader.next() {
            Ok(Some(Item { record: Record::NewCpuId { tsc, .. }, buffer, header, .. })) => {
                scan.add(tsc, buffer, header);
            }
            Ok(Some(_)) => {}
            Ok(None) => {
                // A log without thread buffers has a header, too.
                if scan.headers.is_empty() {
                    scan.headers.extend(reader.header().map(|header| (1, *header)));
                }
                return Ok(scan);
            }
            Err(error @ (ReadError::Header { .. } | ReadError::Io { .. })) => return Err(error),
            Err(error) => scan.keep(error, reader.buffer_offset()),
        }
    }
}

impl Scan {
    /// Adds a thread buffer, unless it is known.
    fn add(&mut self, tsc: u64, buffer: &ThreadBuffer, header: &Header) {
        let offset = buffer.offset;
        if self.is_last(offset) {
            return;
        }
        if self.headers.last().is_none_or(|(log, _)| *log != buffer.log) {
            self.headers.push((buffer.log, *header));
        }
        if let Some(last) = self.buffers.last_mut() {
            last.size = offset - last.offset;
        }
        self.buffers.push(Found { tsc, offset, size: u64::MAX, header: self.headers.len() - 1 });
    }

    fn is_last(&self, offset: u64) -> bool {
        self.buffers.last().is_some_and(|last| last.offset == offset)
    }

    /// Keeps an error after the start of the thread buffer at `buffer`, unless the second pass will
    /// return it.
    fn keep(&mut self, error: ReadError, buffer: u64) {
        // These are behind it.
        let is_behind =
            matches!(error, ReadError::NotABuffer { .. } | ReadError::PaddingTruncated { .. });
        if !is_behind && self.is_last(buffer) {
            return;
        }
        if let Some(ReadError::More { offset, number }) = self.errors.last_mut() {
            (*offset, *number) = (error.offset(), *number + 1);
        } else if self.errors.len() < MAX_ERRORS {
            self.errors.push(error);
        } else {
            self.errors.push(ReadError::More { offset: error.offset(), number: 1 });
        }
    }
}
