//! Decoding of single records.
//!
//! Bytes are not trusted: every length is checked against the available bytes, and decoding does
//! not allocate. Words that a later version of the format appends to a record or an argument are
//! skipped ("Extending the Format"). A record of an unknown type decodes to [`Record::Unknown`].

mod body;
mod object;

pub use crate::decode_error::DecodeError;
use crate::layout::{event, large, record, EventType, RecordType, WORD_BYTES};
use crate::record::cursor::Cursor;
use crate::record::{Event, Record, UnknownRecord};

/// Returns the size in bytes, header included, of the record with this header word.
///
/// # Errors
///
/// [`DecodeError::SizeZero`]: the next record cannot be found.
#[inline]
pub fn record_bytes(header: u64) -> Result<u64, DecodeError> {
    let words = if record::Type::get(header) == RecordType::Large.bits() {
        large::Size::get(header)
    } else {
        record::Size::get(header)
    };
    if words == 0 {
        return Err(DecodeError::SizeZero);
    }
    Ok(words * WORD_BYTES as u64)
}

/// Decodes the record at the start of `bytes`. The bytes after the record are ignored.
///
/// # Errors
///
/// Fails if the record is truncated or malformed. The record after a malformed one starts
/// [`record_bytes`] later.
#[inline]
pub fn record(bytes: &[u8]) -> Result<Record<'_>, DecodeError> {
    let (header, start) = split_header(bytes)?;
    record_with(header, start)
}

/// Decodes a record whose bytes are exactly `bytes`.
// A record is large: returning it from a call takes as long as decoding it.
#[cfg_attr(not(feature = "std"), expect(dead_code, reason = "only `reader` uses it"))]
#[inline(always)]
pub(crate) fn whole_record(bytes: &[u8]) -> Result<Record<'_>, DecodeError> {
    let mut start = Cursor::new(bytes);
    let header = start.word("record header")?;
    record_with(header, start)
}

/// Decodes an event whose bytes are exactly `bytes`. Returns `None` for other records.
#[cfg_attr(not(feature = "std"), expect(dead_code, reason = "only `reader` uses it"))]
#[inline(always)]
pub(crate) fn whole_event(bytes: &[u8]) -> Option<Result<Event<'_>, DecodeError>> {
    let mut cursor = Cursor::new(bytes);
    let header = cursor.word("record header").ok()?;
    let event_type = event_type(header)?;
    Some(body::event(event_type, header, &mut cursor))
}

#[inline(always)]
fn record_with(header: u64, start: Cursor<'_>) -> Result<Record<'_>, DecodeError> {
    match event_type(header) {
        Some(event_type) => body::event(event_type, header, &mut { start }).map(Record::Event),
        None => other_record(header, start),
    }
}

/// Decodes a record other than an event. Out of line, so that readers inline the decoding of
/// events.
#[inline(never)]
fn other_record(header: u64, start: Cursor<'_>) -> Result<Record<'_>, DecodeError> {
    let decoded = decode_body(header, &mut { start })?;
    Ok(decoded.unwrap_or_else(|| {
        let payload = start.rest();
        Record::Unknown(UnknownRecord { header, payload })
    }))
}

/// Returns the type of an event, or `None` for other records and unknown types.
#[inline]
fn event_type(header: u64) -> Option<EventType> {
    match RecordType::from_bits(record::Type::get(header)) {
        Some(RecordType::Event) => EventType::from_bits(event::EventType::get(header)),
        _ => None,
    }
}

/// Decodes a record like [`record()`], but fails on data that readers skip or replace.
///
/// Returns also the number of words after the record's last field: appended words are allowed. A
/// collector checks foreign records with this function before it writes them to an archive.
///
/// # Errors
///
/// Fails if [`record()`] fails, on strings that are not UTF-8, on unknown types, and on words after
/// the value of an argument.
#[inline]
pub fn strict(bytes: &[u8]) -> Result<(Record<'_>, usize), DecodeError> {
    let (header, start) = split_header(bytes)?;
    let mut cursor = start.with_strict(true);
    let decoded = decode_body(header, &mut cursor)?;
    let decoded = decoded.ok_or(DecodeError::UnknownType { what: "record" })?;
    Ok((decoded, cursor.words_left()))
}

/// Returns whether `bytes` start with a well-formed record without appended words.
///
/// Files of other formats hardly ever do. An archive without the magic number record is recognized
/// by this.
#[must_use]
pub fn is_first_record(bytes: &[u8]) -> bool {
    matches!(strict(bytes), Ok((_, 0)))
}

/// Returns the header of the record at the start of `bytes`, and a cursor over the rest of the
/// record.
#[inline]
fn split_header(bytes: &[u8]) -> Result<(u64, Cursor<'_>), DecodeError> {
    let header = Cursor::new(bytes).word("record header")?;
    let expected = record_bytes(header)?;
    let record = usize::try_from(expected).ok().and_then(|n| bytes.get(..n));
    let found = bytes.len();
    let record = record.ok_or(DecodeError::Truncated { expected, found })?;
    let mut cursor = Cursor::new(record);
    cursor.word("record header")?;
    Ok((header, cursor))
}

/// Decodes the record after its header, or returns `None` if a type is unknown.
fn decode_body<'a>(
    header: u64,
    cursor: &mut Cursor<'a>,
) -> Result<Option<Record<'a>>, DecodeError> {
    let Some(record_type) = RecordType::from_bits(record::Type::get(header)) else {
        return Ok(None);
    };
    match record_type {
        RecordType::Event => event_type(header)
            .map(|event_type| body::event(event_type, header, cursor).map(Record::Event))
            .transpose(),
        RecordType::Metadata => body::metadata(header, cursor),
        RecordType::Initialization => body::initialization(cursor).map(Some),
        RecordType::String => body::string(header, cursor).map(Some),
        RecordType::Thread => body::thread(header, cursor).map(Some),
        RecordType::Blob => object::blob(header, cursor).map(Some),
        RecordType::UserspaceObject => object::userspace_object(header, cursor).map(Some),
        RecordType::KernelObject => object::kernel_object(header, cursor).map(Some),
        RecordType::Scheduling => body::scheduling(header, cursor),
        RecordType::Log => object::log(header, cursor).map(Some),
        RecordType::Profiler => object::profiler(header, cursor),
        RecordType::Large => object::large(header, cursor),
    }
}

/// An iterator over the records of a trace in memory.
///
/// It continues after a malformed record, and ends after [`DecodeError::SizeZero`] or
/// [`DecodeError::Truncated`].
#[derive(Debug, Clone)]
pub struct Records<'a> {
    bytes: &'a [u8],
}

impl<'a> Records<'a> {
    /// Returns an iterator over `bytes`, which must start with a record.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.bytes.is_empty() {
            return None;
        }
        let bytes = self.bytes;
        let size = Cursor::new(bytes).word("record header").and_then(record_bytes);
        let size = size.ok().and_then(|size| usize::try_from(size).ok());
        self.bytes = size.and_then(|size| bytes.get(size..)).unwrap_or_default();
        Some(record(bytes))
    }
}
