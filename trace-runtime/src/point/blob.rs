//! Bulk data: blob records, and large records.
//!
//! Larger data are split into records of at most 4,095 words: the format allows more, but some
//! readers fail after a larger record.

use std::borrow::Cow;
use std::sync::atomic::AtomicU64;

use trace_format::layout::{
    blob, event, large, large_blob, record, BlobType, LargeBlobFormat, LargeType, RecordType,
    MAX_BLOB_BYTES, MAX_RECORD_WORDS,
};
use trace_protocol::buffer::producer::CHUNK_THREAD;
use trace_protocol::clock::ticks;

use super::arguments::Arguments;
use super::record::{write, Fill, Inline, Texts};
use super::site::{Key, Name, Switch};
use crate::value::formatted::Formatted;
use crate::value::sealed::Encode;
use crate::value::Limit;

/// The most words for names and arguments, so that at least half of a record is data.
const MOST_BESIDE_DATA: usize = MAX_RECORD_WORDS / 2;

/// The number of extra arguments of a part: its number, and the number of parts.
const PART_NUMBERS: usize = 2;

/// Writes data as blob records. Readers concatenate the records of one name, up to the first that
/// is not full: data of full parts only are followed by an empty part.
#[inline(never)]
pub fn blob(site: &impl Switch, blob_type: BlobType, names: impl Texts, bytes: &[u8]) {
    let [_, name] = names.texts().map(Inline::new);
    let capacity = capacity_beside(1 + name.words()).min(MAX_BLOB_BYTES);
    let end = (bytes.len() % capacity == 0).then_some(&[][..]);
    for part in bytes.chunks(capacity).chain(end) {
        let words = 1 + name.words() + part.len().div_ceil(8);
        write(site, words, |header, fill| {
            name.encode(fill);
            fill.bytes(part);
            record::Type::make(RecordType::Blob.bits())
                | record::Size::make(words as u64)
                | blob::NameRef::make(name.bits(event::NameRef::get(header)))
                | blob::PayloadLength::make(part.len() as u64)
                | blob::Type::make(blob_type.bits())
        });
    }
}

/// Writes a blob event, split into as many large records as needed. The last two keys are those of
/// the part's number and the number of parts.
#[inline(never)]
pub fn blob_event<A: Arguments>(
    site: &impl Switch,
    keys: &'static [Key],
    names: impl Texts,
    arguments: A,
    bytes: &[u8],
) {
    let part_keys = || match keys {
        [.., part, parts] => [part.bits(), parts.bits()],
        _ => [0; PART_NUMBERS],
    };
    blob_event_in_parts(site, keys, part_keys, names, arguments, bytes);
}

/// Writes a blob event. `part_keys` returns the keys of the part's number and the number of parts.
/// It is called only while the site is on.
pub(crate) fn blob_event_in_parts<A: Arguments>(
    site: &impl Switch,
    keys: &[Key],
    part_keys: impl Fn() -> [u64; PART_NUMBERS],
    names: impl Texts,
    arguments: A,
    bytes: &[u8],
) {
    const FIXED: usize = 4;
    let [category, name] = names.texts().map(Inline::new);
    let beside = |limit| FIXED + category.words() + name.words() + arguments.words(limit);
    let limit = if beside(Limit::LONG) <= MOST_BESIDE_DATA { Limit::LONG } else { Limit::SHORT };
    let split = bytes.len() > capacity_beside(beside(limit));
    let beside = beside(limit) + if split { PART_NUMBERS } else { 0 };
    let number = bytes.len().div_ceil(capacity_beside(beside));
    let now = ticks();
    for (index, part) in parts(bytes, capacity_beside(beside)).enumerate() {
        let words = beside + part.len().div_ceil(8);
        let count = arguments.count() + if split { PART_NUMBERS } else { 0 };
        write(site, words, |header, fill| {
            fill.word(
                large_refs(header, category, name)
                    | large_blob::ArgumentCount::make(count as u64)
                    | large_blob::ThreadRef::make(u64::from(CHUNK_THREAD.bits())),
            );
            category.encode(fill);
            name.encode(fill);
            fill.word(now);
            arguments.encode(keys, fill.take(arguments.words(limit)), limit);
            if split {
                part_numbers(part_keys(), fill.take(PART_NUMBERS), [index + 1, number]);
            }
            payload(fill, part);
            large_header(words, LargeBlobFormat::Event)
        });
    }
}

/// Writes a blob attachment, split into as many large records as needed. The part's number is
/// appended to its name.
#[inline(never)]
pub fn blob_attachment(site: &impl Switch, literal: Name, names: impl Texts, bytes: &[u8]) {
    blob_attachment_named(site, || literal.text(), names, bytes);
}

/// Writes a blob attachment. `literal` returns the name in the string table.
pub(crate) fn blob_attachment_named<'a>(
    site: &impl Switch,
    literal: impl FnOnce() -> Cow<'a, str>,
    names: impl Texts,
    bytes: &[u8],
) {
    const FIXED: usize = 3;
    /// The longest suffix of a part's name, in bytes: `" (9999999999/9999999999)"`, padded.
    const NUMBERS: usize = 32;
    let [category, name] = names.texts();
    let [category, inline] = [category, name].map(Inline::new);
    let words_of_names = category.words() + inline.words();
    if bytes.len() <= capacity_beside(FIXED + words_of_names) {
        return attachment(site, category, inline, bytes);
    }
    let literal = literal();
    let name = Limit::SHORT.cut(if name.is_empty() { &literal } else { name });
    let capacity = capacity_beside(FIXED + category.words() + (name.len() + NUMBERS).div_ceil(8));
    let number = bytes.len().div_ceil(capacity);
    for (index, part) in bytes.chunks(capacity).enumerate() {
        let name = Formatted::new(format_args!("{name} ({}/{number})", index + 1));
        attachment(site, category, Inline::whole(name.as_str()), part);
    }
}

fn attachment(site: &impl Switch, category: Inline<'_>, name: Inline<'_>, bytes: &[u8]) {
    let words = 3 + category.words() + name.words() + bytes.len().div_ceil(8);
    write(site, words, |header, fill| {
        fill.word(large_refs(header, category, name));
        category.encode(fill);
        name.encode(fill);
        payload(fill, bytes);
        large_header(words, LargeBlobFormat::Attachment)
    });
}

/// Returns the bytes of data that fit into a record with `words` other words.
fn capacity_beside(words: usize) -> usize {
    (MAX_RECORD_WORDS - words) * 8
}

/// Splits data into parts, at least one.
fn parts(bytes: &[u8], capacity: usize) -> impl Iterator<Item = &[u8]> {
    bytes.chunks(capacity).chain(bytes.is_empty().then_some(bytes))
}

fn part_numbers(keys: [u64; PART_NUMBERS], words: &[AtomicU64], numbers: [usize; PART_NUMBERS]) {
    for ((key, word), number) in keys.into_iter().zip(words.chunks(1)).zip(numbers) {
        u32::try_from(number).unwrap_or(u32::MAX).encode(key, word, Limit::LONG);
    }
}

fn payload(fill: &mut Fill<'_>, bytes: &[u8]) {
    fill.word(bytes.len() as u64);
    fill.bytes(bytes);
}

fn large_refs(header: u64, category: Inline<'_>, name: Inline<'_>) -> u64 {
    large_blob::CategoryRef::make(category.bits(event::CategoryRef::get(header)))
        | large_blob::NameRef::make(name.bits(event::NameRef::get(header)))
}

fn large_header(words: usize, format: LargeBlobFormat) -> u64 {
    record::Type::make(RecordType::Large.bits())
        | large::Size::make(words as u64)
        | large::Type::make(LargeType::Blob.bits())
        | large::BlobFormat::make(format.bits())
}
