//! The records that a session passes from a provider to its sinks.

use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use trace_protocol::archive;
use trace_protocol::buffer::consumer::SaveSlot;

/// The number of spare vectors. Their pages are present already.
const SPARE: usize = 4;

/// Spare vectors for new records. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spares(Arc<Mutex<Vec<Vec<u64>>>>);

impl Spares {
    /// Returns an empty vector.
    pub(crate) fn take(&self) -> Vec<u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    fn keep(&self, mut words: Vec<u64>) {
        let mut spares = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if spares.len() < SPARE {
            words.clear();
            spares.push(words);
        }
    }

    /// Returns shared words, whose vector becomes spare with their last user.
    pub(crate) fn share(&self, words: Vec<u64>) -> Words {
        Words(Arc::new(Pooled { words, spares: self.clone() }))
    }
}

/// Words that sinks share without a copy.
#[derive(Debug, Clone)]
pub(crate) struct Words(Arc<Pooled>);

#[derive(Debug)]
struct Pooled {
    words: Vec<u64>,
    spares: Spares,
}

impl Drop for Pooled {
    fn drop(&mut self) {
        self.spares.keep(std::mem::take(&mut self.words));
    }
}

impl Deref for Words {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        &self.0.words
    }
}

/// Well-formed records of one provider, in the order in which it wrote them.
#[derive(Debug, Clone)]
pub struct Records {
    /// The provider's archive id.
    pub(crate) provider: u32,
    /// The provider section record, and then the records.
    pub(crate) words: Words,
    /// The slots of the copies that they come from, if the guard shares them.
    pub(crate) slots: Vec<SaveSlot>,
    /// The losses that the provider's own records report, up to these.
    pub(crate) reported: u64,
    /// Whether they come from a copy of a rolling buffer.
    pub(crate) is_copy: bool,
    /// The provider has left, and these are its last records.
    pub(crate) is_last: bool,
}

/// The size of a provider section record in words.
pub(crate) const SECTION: usize = 1;

impl Records {
    /// Returns a vector that starts with a provider's section record.
    pub(crate) fn begin(spares: &Spares, provider: u32) -> Vec<u64> {
        let mut words = spares.take();
        archive::section(&mut words, provider);
        debug_assert_eq!(words.len(), SECTION, "the record is one word");
        words
    }

    /// Returns the provider's id, as in [`Opening::identity`](crate::Opening::identity) and in
    /// archives.
    pub fn provider(&self) -> u32 {
        self.provider
    }

    /// Returns the records.
    pub fn words(&self) -> &[u64] {
        self.words.get(SECTION..).unwrap_or_default()
    }

    /// Returns whether the provider has left, and these are its last records.
    pub fn is_last(&self) -> bool {
        self.is_last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(spares: &Spares) -> usize {
        spares.0.lock().unwrap().len()
    }

    #[test]
    fn a_vector_becomes_spare_with_its_last_user() {
        let spares = Spares::default();
        let words = spares.share(vec![1, 2, 3]);
        let other = words.clone();
        assert_eq!(&*words, [1, 2, 3]);
        drop(words);
        assert_eq!(kept(&spares), 0);
        drop(other);
        assert_eq!(kept(&spares), 1);
        let again = spares.take();
        assert!(again.is_empty() && again.capacity() >= 3);
        assert_eq!(kept(&spares), 0);
    }

    #[test]
    fn the_number_of_spare_vectors_is_limited() {
        let spares = Spares::default();
        let shared: Vec<_> = (0..10).map(|word| spares.share(vec![word])).collect();
        drop(shared);
        assert_eq!(kept(&spares), SPARE);
    }

    #[test]
    fn the_records_follow_the_section() {
        let spares = Spares::default();
        let mut words = Records::begin(&spares, 9);
        words.extend([7, 8]);
        let words = spares.share(words);
        let records = Records {
            provider: 9,
            words,
            slots: Vec::new(),
            reported: 0,
            is_copy: true,
            is_last: true,
        };
        assert_eq!(
            (records.provider(), records.words(), records.is_last()),
            (9, &[7, 8][..], true)
        );
    }
}
