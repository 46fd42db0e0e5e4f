//! Whether one record from a provider is well-formed.
//!
//! What a record is made of is known to `trace_format::decode` alone, which readers use too. Here
//! stands which of them a provider may write, and that what it refers to is registered.

use trace_format::decode;
use trace_format::layout::{record, RecordType, MAX_READ_BYTES, MAX_STRING_INDEX};
use trace_format::record::{Process, Record, Reference, Text, Thread};
use trace_format::DecodeError;

use crate::words::as_bytes;

use super::frame::record_words;
use super::ownership::IdentityPolicy;
use super::stats::Rejection;

/// Which strings and threads records may refer to.
pub trait Registered {
    /// Whether there is a string with this index.
    fn has_string(&self, index: u16) -> bool;

    /// Whether there is a thread with this index.
    fn has_thread(&self, index: u8) -> bool;
}

/// What a provider has registered, over the whole session.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    strings: Box<[u64; 512]>,
    threads: [u64; 4],
}

/// Words behind what the format defines for a record: how the format is extended, and how scopes
/// are marked.
pub(super) type Appended = usize;

/// Words of the largest record that readers take.
const MAX_WORDS: usize = MAX_READ_BYTES as usize / 8;

type Checked<T = ()> = Result<T, Rejection>;

impl Tables {
    pub(super) fn new() -> Self {
        Self { strings: Box::new([0; 512]), threads: [0; 4] }
    }

    fn set_string(&mut self, index: u16) {
        self.strings[usize::from(index & MAX_STRING_INDEX) / 64] |= 1 << (index % 64);
    }

    fn set_thread(&mut self, index: u8) {
        self.threads[usize::from(index) / 64] |= 1 << (index % 64);
    }
}

impl Registered for Tables {
    fn has_string(&self, index: u16) -> bool {
        self.strings[usize::from(index & MAX_STRING_INDEX) / 64] >> (index % 64) & 1 != 0
    }

    fn has_thread(&self, index: u8) -> bool {
        self.threads[usize::from(index) / 64] >> (index % 64) & 1 != 0
    }
}

/// Checks a record that a provider is about to write: whether it would reach the archive, and as it
/// is, but for the process that it says it is of.
///
/// Records that register something are refused, since that is for who keeps the tables. So are
/// those that the policy forbids this provider.
///
/// # Errors
/// What the reader would refuse it for.
pub fn check_record(
    registered: &impl Registered,
    record: &[u64],
    policy: IdentityPolicy,
) -> Result<(), Rejection> {
    let header = record.first().copied().ok_or(Rejection::Framing)?;
    if record_words(header) != Some(record.len()) {
        return Err(Rejection::Framing);
    }
    let kind = RecordType::from_bits(record::Type::get(header)).ok_or(Rejection::UnknownType)?;
    match kind {
        RecordType::Initialization | RecordType::String | RecordType::Thread => {
            return Err(Rejection::Metadata)
        }
        RecordType::Scheduling if policy != IdentityPolicy::Machine => {
            return Err(Rejection::Foreign)
        }
        _ => {}
    }
    match check_content(registered, record)? {
        (_, 0) => Ok(()),
        _ => Err(Rejection::Content),
    }
}

/// Checks a record whose size is that of the slice, and registers what it registers.
pub(super) fn check(tables: &mut Tables, words: &[u64]) -> Checked<Appended> {
    let (record, appended) = check_content(tables, words)?;
    match record {
        Record::String { index, .. } => tables.set_string(index),
        Record::Thread { index, .. } => tables.set_thread(index),
        _ => {}
    }
    Ok(appended)
}

fn check_content<'a>(
    tables: &impl Registered,
    words: &'a [u64],
) -> Checked<(Record<'a>, Appended)> {
    let header = words.first().copied().ok_or(Rejection::Content)?;
    match RecordType::from_bits(record::Type::get(header)) {
        None => return Err(Rejection::UnknownType),
        Some(RecordType::Metadata) => return Err(Rejection::Metadata),
        Some(_) if words.len() > MAX_WORDS => return Err(Rejection::Content),
        Some(_) => {}
    }
    let (record, appended) = decode::strict(as_bytes(words)).map_err(reason)?;
    if let Record::String { index: 0, .. } | Record::Thread { index: 0, .. } = record {
        return Err(Rejection::Content);
    }
    let mut checked = Ok(());
    record.references(|reference| {
        checked = checked.and_then(|()| check_reference(tables, reference));
    });
    checked.map(|()| (record, appended))
}

fn reason(error: DecodeError) -> Rejection {
    match error {
        DecodeError::Utf8 { .. } => Rejection::Utf8,
        _ => Rejection::Content,
    }
}

fn check_reference(tables: &impl Registered, reference: Reference<'_>) -> Checked {
    match reference {
        Reference::Text(Text::Indexed(index)) if !tables.has_string(index) => {
            Err(Rejection::StringRef)
        }
        Reference::Thread(Thread::Indexed(index)) | Reference::Process(Process::Indexed(index))
            if !tables.has_thread(index) =>
        {
            Err(Rejection::ThreadRef)
        }
        _ => Ok(()),
    }
}
