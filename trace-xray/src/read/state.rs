//! The state of a decoder in a log.

use super::boundary::{self, Boundary, LOOK_BYTES};
use super::grammar::Progress;
use super::window::Window;
use super::{decode, DecodeError, ReadError, ThreadBuffer};
use crate::layout::{MetadataKind, FUNCTION_BYTES, HEADER_BYTES, METADATA_BYTES};
use crate::record::{Format, Header, Record};
use crate::write::encode;

/// The limits of a decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The longest payload of an event in bytes; 16 MiB by default.
    pub payload_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { payload_bytes: 16 << 20 }
    }
}

/// The statistics of a decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Records that were returned.
    pub records: u64,
    /// Thread buffers.
    pub buffers: u64,
    /// Errors that were returned.
    pub errors: u64,
    /// Bytes of padding between thread buffers, and behind the end of those of version 1.
    pub padding_bytes: u64,
    /// Bytes that were skipped because of an error.
    pub lost_bytes: u64,
}

/// The part of the log that is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The first header.
    Start,
    /// A thread buffer, a header, padding or the end.
    Boundary,
    /// Unknown bytes: the next thread buffer is searched.
    Lost,
    /// A record of a thread buffer.
    Buffer,
    /// The end of the log.
    End,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Make another step.
    Again,
    /// Wait for more bytes.
    More,
    /// Return the record of this size.
    Record(usize),
}

/// The state of a decoder, without the bytes.
#[derive(Debug)]
pub(super) struct State {
    pub(super) place: Place,
    pub(super) header: Header,
    /// The number of the log in the file, from 1 on; 0 before the first header.
    pub(super) log: u32,
    pub(super) buffer: ThreadBuffer,
    pub(super) progress: Progress,
    /// The end of the thread buffer, from version 2 on.
    pub(super) end: Option<u64>,
    /// The end of the padding behind a thread buffer of version 1.
    padding_end: u64,
    /// The start and size of the padding that is skipped.
    padding: Option<(u64, u64)>,
    /// Whether no more bytes will arrive.
    pub(super) finished: bool,
    pub(super) limits: Limits,
    pub(super) stats: Stats,
}

impl State {
    pub(super) fn new(limits: Limits) -> Self {
        let format = Format::little(crate::layout::Version::V5);
        Self {
            place: Place::Start,
            header: Header {
                format,
                constant_tsc: false,
                nonstop_tsc: false,
                cycle_frequency: 0,
                buffer_size: 0,
                map_id: 0,
            },
            log: 0,
            buffer: ThreadBuffer::default(),
            progress: Progress::Empty,
            end: None,
            padding_end: 0,
            padding: None,
            finished: false,
            limits,
            stats: Stats::default(),
        }
    }

    /// Starts before a thread buffer of a log.
    pub(super) fn at_buffer(log: u32, header: Header, limits: Limits) -> Self {
        Self { place: Place::Boundary, log, header, ..Self::new(limits) }
    }

    /// Makes one step. Returns `None` at the end of the log.
    pub(super) fn step(&mut self, window: &mut Window) -> Result<Option<Step>, ReadError> {
        match self.place {
            Place::Start => self.start(window).map(Some),
            Place::Boundary => self.boundary(window),
            Place::Lost => Ok(self.search(window)),
            Place::Buffer => self.record(window).map(Some),
            Place::End => Ok(None),
        }
    }

    fn format(&self) -> Format {
        self.header.format
    }

    fn start(&mut self, window: &mut Window) -> Result<Step, ReadError> {
        if window.rest().len() < HEADER_BYTES && !self.finished {
            return Ok(Step::More);
        }
        let offset = window.offset();
        self.header =
            decode::header(window.rest()).map_err(|error| ReadError::Header { offset, error })?;
        window.take(HEADER_BYTES);
        self.log = self.log.saturating_add(1);
        self.place = Place::Boundary;
        Ok(Step::Again)
    }

    fn boundary(&mut self, window: &mut Window) -> Result<Option<Step>, ReadError> {
        let bytes = window.rest();
        if bytes.len() < LOOK_BYTES && !self.finished {
            return Ok(Some(Step::More));
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        let padding = self.padding_end.saturating_sub(window.offset());
        (self.padding_end, self.padding) = (0, None);
        if padding > 0 && !boundary::has_no_padding(bytes, self.format()) {
            self.padding = Some((window.offset(), padding));
            self.stats.padding_bytes += window.pass(padding) as u64;
            return Ok(Some(Step::Again));
        }
        match boundary::at(bytes, self.format(), self.finished) {
            Boundary::Buffer => self.enter(window.offset()),
            Boundary::Header => self.place = Place::Start,
            Boundary::Zeros(count) => {
                self.stats.padding_bytes += count as u64;
                window.take(count);
            }
            Boundary::Unknown => {
                self.place = Place::Lost;
                return Err(ReadError::NotABuffer { offset: window.offset() });
            }
        }
        Ok(Some(Step::Again))
    }

    /// Returns the error of padding that the file does not have, once.
    pub(super) fn cut_padding(&mut self, window: &Window) -> Option<ReadError> {
        let (offset, expected) = self.padding.take()?;
        let found = expected - window.pending();
        Some(ReadError::PaddingTruncated { offset, expected, found })
    }

    fn enter(&mut self, offset: u64) {
        self.place = Place::Buffer;
        self.buffer = ThreadBuffer { offset, log: self.log, ..ThreadBuffer::default() };
        self.progress = Progress::Empty;
        self.end = None;
        self.stats.buffers += 1;
    }

    /// Searches the next thread buffer.
    fn search(&mut self, window: &mut Window) -> Option<Step> {
        let bytes = window.rest();
        let found = boundary::find_buffer(bytes, self.format());
        let passed = match found {
            Some(at) => at,
            None if self.finished => bytes.len(),
            None => boundary::searched(bytes),
        };
        self.stats.lost_bytes += passed as u64;
        window.take(passed);
        match found {
            Some(_) => self.place = Place::Boundary,
            None if self.finished => return None,
            None => return Some(Step::More),
        }
        Some(Step::Again)
    }

    /// Finds the end of the next record, or the end of the thread buffer.
    fn record(&mut self, window: &mut Window) -> Result<Step, ReadError> {
        let offset = window.offset();
        let left = self.end.map(|end| end.saturating_sub(offset));
        if left == Some(0) {
            return self.leave(offset);
        }
        let bytes = window.rest();
        // Without its first byte, a record may be of another thread buffer.
        if bytes.is_empty() && !self.finished {
            return Ok(Step::More);
        }
        if self.may_start_another(bytes) {
            if bytes.len() < boundary::START_BYTES && !self.finished {
                return Ok(Step::More);
            }
            if let Some(error) = self.starts_another(bytes, offset) {
                self.place = Place::Boundary;
                return Err(error);
            }
        }
        let size = match decode::record_bytes(bytes, self.format()) {
            Ok(size) => size,
            Err(error) => return Err(self.bad_record(window, error)),
        };
        if let Some(left) = left.filter(|left| *left < size) {
            self.abandon(window);
            return Err(ReadError::Overrun { offset, size, left });
        }
        self.complete(window, size)
    }

    /// Waits for the whole record, unless it is too large or cut off.
    fn complete(&mut self, window: &mut Window, size: u64) -> Result<Step, ReadError> {
        let (offset, found) = (window.offset(), window.rest().len() as u64);
        let limit = self.limits.payload_bytes;
        if size.saturating_sub(METADATA_BYTES as u64) > limit as u64 {
            self.too_large(window, size)?;
            return Err(ReadError::PayloadTooLarge { offset, size, limit });
        }
        if found >= size {
            return self.whole(window, size as usize);
        }
        if !self.finished {
            return Ok(Step::More);
        }
        let at_end = found == 0 && self.end.is_none() && self.progress.is_in_body();
        if at_end {
            self.place = Place::End;
            return Err(ReadError::NoEndOfBuffer { offset });
        }
        let left = self.end.map(|end| end - offset).filter(|_| found == 0);
        Err(ReadError::Truncated { offset, expected: left.unwrap_or(size), found })
    }

    /// Skips an event, but applies its time.
    fn too_large(&mut self, window: &mut Window, size: u64) -> Result<(), ReadError> {
        let offset = window.offset();
        let event = decode::without_payload(window.rest(), self.format());
        let event = event.map_err(|error| ReadError::Record { offset, error });
        let applied = event.and_then(|event| self.apply(&event, offset));
        self.stats.records -= u64::from(applied.is_ok());
        self.stats.lost_bytes += window.pass(size) as u64;
        applied
    }

    /// Applies the record, which is complete.
    fn whole(&mut self, window: &mut Window, size: usize) -> Result<Step, ReadError> {
        let offset = window.offset();
        if size == FUNCTION_BYTES && window.word() == Some(&[0; FUNCTION_BYTES]) {
            let left = self.end.map(|end| end - offset);
            self.abandon(window);
            return Err(ReadError::Zeros { offset, left });
        }
        let record = match decode::record(window.rest(), self.format()) {
            Ok(record) => record,
            Err(error) => return Err(self.bad_record(window, error)),
        };
        let error = match self.apply(&record, offset) {
            Ok(()) if is_function_0(&record) => self.no_function(offset),
            Ok(()) => return Ok(Step::Record(size)),
            Err(error) => error,
        };
        if self.progress.is_in_body() {
            self.stats.lost_bytes += window.pass(size as u64) as u64;
        } else {
            self.abandon(window);
        }
        Err(error)
    }

    /// Returns the error of a record of function 0, which was applied for its time.
    fn no_function(&mut self, offset: u64) -> ReadError {
        self.stats.records -= 1;
        self.progress = Progress::Body;
        ReadError::NoFunction { offset }
    }

    /// Returns whether the next record may be the first one of another thread buffer.
    #[inline]
    fn may_start_another(&self, bytes: &[u8]) -> bool {
        let Format { version, order } = self.format();
        let first = match version.has_extents() {
            true => MetadataKind::BufferExtents,
            false => MetadataKind::NewBuffer,
        };
        self.progress.is_in_body() && bytes.first() == Some(&encode::metadata_byte(first, order))
    }

    /// Returns the error of this thread buffer if another one starts within it.
    fn starts_another(&self, bytes: &[u8], offset: u64) -> Option<ReadError> {
        let Some(end) = self.end else { return Some(ReadError::NoEndOfBuffer { offset }) };
        let is_other = boundary::starts_buffer(bytes, self.format());
        is_other.then(|| ReadError::WrongExtents { offset, left: end.saturating_sub(offset) })
    }

    fn leave(&mut self, offset: u64) -> Result<Step, ReadError> {
        self.place = Place::Boundary;
        if self.progress.may_end() {
            return Ok(Step::Again);
        }
        Err(ReadError::NoStart { offset })
    }

    /// Skips the rest of the thread buffer, and returns the error.
    fn bad_record(&mut self, window: &mut Window, error: DecodeError) -> ReadError {
        let offset = window.offset();
        self.abandon(window);
        ReadError::Record { offset, error }
    }

    /// Skips the rest of the thread buffer, if its end is known.
    fn abandon(&mut self, window: &mut Window) {
        let start = self.buffer.offset;
        let end = self.end.unwrap_or_else(|| start.saturating_add(self.header.buffer_size));
        match end.checked_sub(window.offset()) {
            Some(left) if left > 0 => {
                self.stats.lost_bytes += window.pass(left) as u64;
                self.place = Place::Boundary;
            }
            _ => self.place = Place::Lost,
        }
    }

    fn apply(&mut self, record: &Record<'_>, offset: u64) -> Result<(), ReadError> {
        let Some(progress) = self.progress.with(record, self.format().version) else {
            return Err(ReadError::Unexpected { offset, kind: record.kind() });
        };
        self.progress = progress;
        self.buffer.apply(record);
        let behind = offset.saturating_add(METADATA_BYTES as u64);
        match record {
            Record::BufferExtents { size } => self.end = Some(behind.saturating_add(*size)),
            Record::EndOfBuffer => {
                self.place = Place::Boundary;
                self.padding_end = self.buffer.offset.saturating_add(self.header.buffer_size);
            }
            _ => {}
        }
        self.stats.records += 1;
        Ok(())
    }
}

fn is_function_0(record: &Record<'_>) -> bool {
    matches!(record, Record::Function(record) if record.function.number() == 0)
}
