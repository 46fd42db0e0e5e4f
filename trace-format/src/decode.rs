//! Decoding of single records.
//!
//! Bytes are not trusted: every length is checked against what is there, a
//! wrong one gives an error, and nothing is allocated. Words appended to a
//! record or an argument by a later version of the format are passed over;
//! types that are not known come as [`Record::Unknown`].

mod argument;
mod body;
mod cursor;
mod error;
mod object;

pub(crate) use argument::ArgumentCursor;
pub use error::DecodeError;

use crate::layout::{large, record, RecordType, WORD_BYTES};
use crate::record::{Record, UnknownRecord};
use cursor::Cursor;

/// Returns the size in bytes of the record with this header word.
///
/// # Errors
///
/// [`DecodeError::SizeZero`]: there is no telling where the next record is.
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

/// Decodes the record that `bytes` start with; bytes behind it are not looked
/// at.
///
/// # Errors
///
/// The record is not all there, or it is shorter than what it says to contain.
/// In the second case [`record_bytes`] tells where the next record is.
#[inline]
pub fn record(bytes: &[u8]) -> Result<Record<'_>, DecodeError> {
    let (header, start) = whole(bytes)?;
    let decoded = content(header, &mut { start })?;
    Ok(decoded.unwrap_or_else(|| {
        let payload = start.rest();
        Record::Unknown(UnknownRecord { header, payload })
    }))
}

/// Decodes the record that `bytes` start with as [`record()`] does, and fails
/// where that passes over something. A writer that takes records from others
/// writes none that fails here. Returns also the number of words behind the
/// record's last field: appended ones, which are allowed.
///
/// # Errors
///
/// Those of [`record()`]; text that is not UTF-8, types that are not known, and
/// words behind the content of an argument.
#[inline]
pub fn strict(bytes: &[u8]) -> Result<(Record<'_>, usize), DecodeError> {
    let (header, start) = whole(bytes)?;
    let mut cursor = start.strictly(true);
    let decoded = content(header, &mut cursor)?;
    let decoded = decoded.ok_or(DecodeError::UnknownType { what: "record" })?;
    Ok((decoded, cursor.words_left()))
}

/// Tells whether `bytes` start with a well-formed record without appended words. Hardly any file of
/// another format does, so an archive may start so instead of with the magic number record.
#[must_use]
pub fn is_first_record(bytes: &[u8]) -> bool {
    matches!(strict(bytes), Ok((_, 0)))
}

/// Returns the header of the record that `bytes` start with, and a cursor
/// behind it that ends with the record.
#[inline]
fn whole(bytes: &[u8]) -> Result<(u64, Cursor<'_>), DecodeError> {
    let header = Cursor::new(bytes).word("record header")?;
    let expected = record_bytes(header)?;
    let whole = usize::try_from(expected).ok().and_then(|n| bytes.get(..n));
    let found = bytes.len();
    let whole = whole.ok_or(DecodeError::Truncated { expected, found })?;
    let mut cursor = Cursor::new(whole);
    cursor.word("record header")?;
    Ok((header, cursor))
}

/// Decodes what follows the header; `None` if a type is not known.
#[inline]
fn content<'a>(header: u64, cursor: &mut Cursor<'a>) -> Result<Option<Record<'a>>, DecodeError> {
    let Some(record_type) = RecordType::from_bits(record::Type::get(header)) else {
        return Ok(None);
    };
    match record_type {
        RecordType::Event => body::event(header, cursor),
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

/// The records of a piece of a trace that is all in memory.
///
/// After an error about one record's content it goes on with the next record;
/// after [`DecodeError::SizeZero`] or [`DecodeError::Truncated`] it ends.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    bytes: &'a [u8],
}

impl<'a> Records<'a> {
    /// Starts at the beginning of `bytes`, which must be that of a record.
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
