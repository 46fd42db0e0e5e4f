//! Encoding of single records.
//!
//! [`append`] computes a record's size, reserves that many words of a [`WordSink`], and fills them.
//! It keeps no tables: strings and threads are written as in the [`Record`], inline or as an index.

mod body;
mod header;
mod out;

use alloc::vec::Vec;
use core::fmt;

use crate::layout::{
    blob, MAX_ARGUMENTS, MAX_LARGE_RECORD_WORDS, MAX_RECORD_WORDS, MAX_STRING_INDEX,
};
use crate::record::{Argument, Arguments, Record};
use out::{Count, Fill, Out};

/// The longest payload, in bytes, that the length field of a blob record can express.
const MAX_BLOB_LENGTH: usize = blob::PayloadLength::MAX as usize;

/// A destination of encoded records.
///
/// [`append`] reserves the words of a record with one call, and then fills all of them. A sink that
/// publishes its words can do so at the next call.
pub trait WordSink {
    /// Appends `words` zero words and returns them. If the sink is full, returns `None` and changes
    /// nothing.
    fn reserve(&mut self, words: usize) -> Option<&mut [u64]>;
}

impl WordSink for Vec<u64> {
    fn reserve(&mut self, words: usize) -> Option<&mut [u64]> {
        let start = self.len();
        self.resize(start.checked_add(words)?, 0);
        self.get_mut(start..)
    }
}

/// The reason why a record cannot be encoded. The sink is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// The record has more than [`MAX_ARGUMENTS`] (15) arguments.
    TooManyArguments,
    /// The record, or an argument of a large record, has more words than the format allows.
    RecordTooLong {
        /// The size in words.
        words: usize,
    },
    /// A field is longer than its length field can express.
    PartTooLong {
        /// The field's name.
        what: &'static str,
        /// The largest length allowed, in bytes, or in frames for a backtrace.
        max: usize,
        /// The field's length, in the same unit.
        found: usize,
    },
    /// An index is outside its table, or a [`Writer`](crate::Writer) does not accept indices.
    Index {
        /// The index.
        index: u16,
    },
    /// The sink has no space for the record.
    Full {
        /// The record's size in words.
        words: usize,
    },
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyArguments => {
                write!(f, "a record has more than {MAX_ARGUMENTS} arguments")
            }
            Self::RecordTooLong { words } => write!(f, "a record of {words} words is too long"),
            Self::PartTooLong { what, max, found } => {
                write!(f, "the length of the {what} is {found}, the limit is {max}")
            }
            Self::Index { index } => write!(f, "index {index} is not allowed"),
            Self::Full { words } => write!(f, "no space for a record of {words} words"),
        }
    }
}

impl core::error::Error for EncodeError {}

/// Appends `record` to `sink`.
///
/// # Errors
///
/// Fails if the record cannot be encoded ([`Encoding::new`]), and if the sink is full. The sink is
/// then unchanged.
pub fn append<S: WordSink + ?Sized>(sink: &mut S, record: &Record<'_>) -> Result<(), EncodeError> {
    let encoding = Encoding::new(record)?;
    let words = encoding.words();
    let reserved = sink.reserve(words).ok_or(EncodeError::Full { words })?;
    let (mut places, header) = (reserved.iter_mut(), encoding.header());
    let mut store = |word| {
        let place = places.next();
        debug_assert!(place.is_some(), "more words than counted");
        if let Some(place) = place {
            *place = word;
        }
    };
    store(header);
    encoding.payload(store);
    Ok(())
}

/// A record that can be encoded, with its size. For writers that reserve memory for the words and
/// fill it in place.
#[derive(Debug, Clone, Copy)]
pub struct Encoding<'r, 'a> {
    record: &'r Record<'a>,
    words: usize,
}

impl<'r, 'a> Encoding<'r, 'a> {
    /// Computes the size of a record.
    ///
    /// Strings longer than [`MAX_STRING_BYTES`](crate::layout::MAX_STRING_BYTES), and names of
    /// providers and modules longer than 255 bytes, are cut between two characters. The limit of a
    /// string record is [`MAX_STRING_RECORD_BYTES`](crate::layout::MAX_STRING_RECORD_BYTES).
    ///
    /// # Errors
    ///
    /// Fails if anything else exceeds a limit of the format, and if an index is outside its table.
    pub fn new(record: &'r Record<'a>) -> Result<Self, EncodeError> {
        check(record)?;
        let mut count = Count::default();
        count.word(0);
        body::write(record, &mut count);
        let words = count.words();
        match words as u64 > max_words(record) {
            true => Err(EncodeError::RecordTooLong { words }),
            false => Ok(Self { record, words }),
        }
    }

    /// Returns the size in words, header included.
    #[inline]
    #[must_use]
    pub fn words(&self) -> usize {
        self.words
    }

    /// Returns the header word.
    #[inline]
    #[must_use]
    pub fn header(&self) -> u64 {
        header::of(self.record, self.words as u64)
    }

    /// Calls `store` with each word after the header, in order.
    #[inline]
    pub fn payload(&self, store: impl FnMut(u64)) {
        body::write(self.record, &mut Fill::new(store));
    }
}

fn max_words(record: &Record<'_>) -> u64 {
    match record {
        Record::LargeBlob(_) => MAX_LARGE_RECORD_WORDS,
        Record::Unknown(unknown) => header::max_words(unknown.header),
        _ => MAX_RECORD_WORDS as u64,
    }
}

/// Returns `words` as the little-endian bytes of a trace.
#[must_use]
pub fn to_bytes(words: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    append_bytes(&mut bytes, words);
    bytes
}

/// Appends the little-endian bytes of `words` to `bytes`.
pub fn append_bytes(bytes: &mut Vec<u8>, words: &[u64]) {
    bytes.reserve(size_of_val(words));
    for word in words {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
}

/// Refuses values that their fields would truncate.
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

/// An argument's size field is smaller than that of a large record.
fn check_argument(argument: Argument<'_>) -> Result<(), EncodeError> {
    let mut count = Count::default();
    body::argument(&argument, &mut count);
    let words = count.words();
    if words > MAX_RECORD_WORDS {
        return Err(EncodeError::RecordTooLong { words });
    }
    Ok(())
}
