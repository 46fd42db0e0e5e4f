//! Texts and bytes, encoded as words.

use std::sync::atomic::{AtomicU64, Ordering};

use trace_format::layout::StringRef;

/// Returns the string ref of an inline text. An empty text has no bytes in the record.
#[inline(always)]
pub(crate) fn inline_ref(text: &str) -> StringRef {
    if text.is_empty() {
        StringRef::EMPTY
    } else {
        StringRef::inline(text.len())
    }
}

/// Stores a text, padded with zeros to whole words.
#[inline(always)]
pub(crate) fn encode_text(text: &str, words: &[AtomicU64]) {
    encode_bytes(text.as_bytes(), words);
}

/// Stores bytes, padded with zeros to whole words.
#[inline(always)]
pub(crate) fn encode_bytes(bytes: &[u8], words: &[AtomicU64]) {
    let chunks = bytes.chunks_exact(8);
    let rest = chunks.remainder();
    let mut words = words.iter();
    // The chunks come first: a zip that ends has consumed one more item of its first iterator.
    for (chunk, word) in chunks.zip(words.by_ref()) {
        if let Some(chunk) = chunk.first_chunk::<8>() {
            word.store(u64::from_le_bytes(*chunk), Ordering::Relaxed);
        }
    }
    if let (false, Some(word)) = (rest.is_empty(), words.next()) {
        word.store(last_word(bytes, rest), Ordering::Relaxed);
    }
}

/// Returns the last 1 to 7 bytes of a text as a word. Reads a whole word if the text is long
/// enough, else overlapping halves, which is cheaper than a loop over bytes.
#[inline(always)]
fn last_word(bytes: &[u8], rest: &[u8]) -> u64 {
    if let Some(last) = bytes.last_chunk::<8>() {
        return u64::from_le_bytes(*last) >> (8 * (8 - rest.len()));
    }
    let length = rest.len();
    if let (Some(first), Some(last)) = (rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
        return u64::from(u32::from_le_bytes(*first))
            | u64::from(u32::from_le_bytes(*last)) << (8 * (length - 4));
    }
    if let (Some(first), Some(last)) = (rest.first_chunk::<2>(), rest.last_chunk::<2>()) {
        return u64::from(u16::from_le_bytes(*first))
            | u64::from(u16::from_le_bytes(*last)) << (8 * (length - 2));
    }
    rest.first().map_or(0, |byte| u64::from(*byte))
}
