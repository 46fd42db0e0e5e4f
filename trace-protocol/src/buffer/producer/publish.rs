//! Making records visible to the reader.

use crate::sync::{AtomicU64, Ordering};

/// A word of shared memory.
pub(crate) type Word = AtomicU64;

/// Stores a record so that it is visible whole or not at all. `words` has one word more, which ends
/// what is readable.
pub(super) fn publish_record(words: &[Word], record: &[u64]) {
    for (word, value) in words.iter().zip(record.iter().chain([&0])).skip(1) {
        word.store(*value, Ordering::Relaxed);
    }
    if let (Some(word), Some(header)) = (words.first(), record.first()) {
        word.store(*header, Ordering::Release);
    }
}
