//! Encoding of single records.
//!
//! [`append`] works out a record's size, takes that many words from a
//! [`WordSink`] and fills them. It keeps no tables: strings and threads are
//! written as the [`Record`] has them.

mod body;
mod header;
mod out;

use alloc::vec::Vec;
use core::fmt;

use crate::layout::{
    blob, MAX_ARGUMENTS, MAX_LARGE_RECORD_WORDS, MAX_RECORD_WORDS, MAX_STRING_INDEX, WORD_BYTES,
};
use crate::record::{Argument, Arguments, Record};
use out::{Count, Fill, Out};

/// The longest payload that the length field of a blob record can express.
const MAX_BLOB_LENGTH: usize = blob::PayloadLength::MAX as usize;

/// Something that records can be appended to.
///
/// [`append`] reserves the whole record once and then fills all of it; a sink
/// that shows its words to others does so when it is next called.
pub trait WordSink {
    /// Returns `words` zero words behind those already there, or `None` if
    /// there is no room, in which case nothing changes.
    fn reserve(&mut self, words: usize) -> Option<&mut [u64]>;
}

impl WordSink for Vec<u64> {
    fn reserve(&mut self, words: usize) -> Option<&mut [u64]> {
        let start = self.len();
        self.resize(start.checked_add(words)?, 0);
        self.get_mut(start..)
    }
}

/// Why a record could not be encoded. The sink is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// There are more than 15 arguments.
    TooManyArguments,
    /// The record has more words than the format allows.
    RecordTooLong {
        /// The size it would have.
        words: usize,
    },
    /// A part of the record is longer than its length field can say.
    PartTooLong {
        /// The part.
        what: &'static str,
        /// The longest allowed, in bytes or entries.
        max: usize,
        /// The length it has.
        found: usize,
    },
    /// An index is outside of its table, or one where none is allowed.
    Index {
        /// The index.
        index: u16,
    },
    /// The sink has no room for the record.
    Full {
        /// The record's size.
        words: usize,
    },
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyArguments => {
                write!(f, "a record has more than {MAX_ARGUMENTS} arguments")
            }
            Self::RecordTooLong { words } => write!(f, "a record has {words} words, too many"),
            Self::PartTooLong { what, max, found } => {
                write!(f, "the {what} can have at most {max}, found {found}")
            }
            Self::Index { index } => write!(f, "index {index} cannot be written"),
            Self::Full { words } => write!(f, "no room for a record of {words} words"),
        }
    }
}

impl core::error::Error for EncodeError {}

/// Appends `record` to `sink`.
///
/// Strings longer than [`MAX_STRING_BYTES`](crate::layout::MAX_STRING_BYTES),
/// and names longer than their own limit, are cut between two characters. A
/// string record can hold longer ones.
///
/// # Errors
///
/// Anything else that does not fit the format, and a sink without room; then
/// the sink is unchanged.
pub fn append<S: WordSink + ?Sized>(sink: &mut S, record: &Record<'_>) -> Result<(), EncodeError> {
    check(record)?;
    let mut count = Count::default();
    count.word(0);
    body::write(record, &mut count);
    let words = count.words();
    if words as u64 > max_words(record) {
        return Err(EncodeError::RecordTooLong { words });
    }
    let room = sink.reserve(words).ok_or(EncodeError::Full { words })?;
    let mut fill = Fill::new(room);
    fill.word(header::of(record, words as u64));
    body::write(record, &mut fill);
    Ok(())
}

fn max_words(record: &Record<'_>) -> u64 {
    match record {
        Record::LargeBlob(_) => MAX_LARGE_RECORD_WORDS,
        Record::Unknown(unknown) => header::max_words(unknown.header),
        _ => MAX_RECORD_WORDS as u64,
    }
}

/// Returns `words` as the bytes of a trace, little endian.
#[must_use]
pub fn to_bytes(words: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    append_bytes(&mut bytes, words);
    bytes
}

/// Appends `words` to `bytes`, little endian.
pub fn append_bytes(bytes: &mut Vec<u8>, words: &[u64]) {
    bytes.reserve(words.len() * WORD_BYTES);
    for word in words {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
}

/// Refuses what would be stored as something else.
fn check(record: &Record<'_>) -> Result<(), EncodeError> {
    match record {
        Record::String { index, .. } => check_index(*index),
        Record::Thread { index: 0, .. } => Err(EncodeError::Index { index: 0 }),
        Record::Blob(blob) => check_length("blob", MAX_BLOB_LENGTH, blob.payload.len()),
        Record::Module(module) => check_length("build id", 255, module.build_id.len()),
        Record::Backtrace(backtrace) => check_length("backtrace", 255, backtrace.frames.len()),
        Record::LargeBlob(_) => {
            check_count(record.arguments())?;
            record.arguments().iter().try_for_each(check_argument)
        }
        _ => check_count(record.arguments()),
    }
}

fn check_index(index: u16) -> Result<(), EncodeError> {
    if index == 0 || index > MAX_STRING_INDEX {
        return Err(EncodeError::Index { index });
    }
    Ok(())
}

fn check_length(what: &'static str, max: usize, found: usize) -> Result<(), EncodeError> {
    if found > max {
        return Err(EncodeError::PartTooLong { what, max, found });
    }
    Ok(())
}

fn check_count(arguments: Arguments<'_>) -> Result<(), EncodeError> {
    if arguments.iter().count() > MAX_ARGUMENTS {
        return Err(EncodeError::TooManyArguments);
    }
    Ok(())
}

/// In a large record an argument could be too long although the record is not.
fn check_argument(argument: Argument<'_>) -> Result<(), EncodeError> {
    let mut count = Count::default();
    body::argument(&argument, &mut count);
    let words = count.words();
    if words > MAX_RECORD_WORDS {
        return Err(EncodeError::RecordTooLong { words });
    }
    Ok(())
}
