//! Records on their way from a provider to the sinks of a session.

use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use trace_protocol::archive;
use trace_protocol::buffer::consumer::SaveSlot;

/// Vectors that are kept for new records, so that their pages need not be made again.
const SPARE: usize = 4;

/// Vectors to be used again. Clones are the same.
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

    /// Makes words of which the vector comes back here with their last user.
    pub(crate) fn share(&self, words: Vec<u64>) -> Words {
        Words(Arc::new(Pooled { words, spares: self.clone() }))
    }
}

/// Words that sinks share. They are copied for none of them.
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
    /// The provider's id in archives.
    pub(crate) provider: u32,
    /// The provider section record, and the records behind it.
    pub(crate) words: Words,
    /// The copies that they are from, those that are where the guard sees them.
    pub(crate) slots: Vec<SaveSlot>,
    /// Losses that the provider's own records account for, up to these.
    pub(crate) reported: u64,
    /// The provider has left: nothing more comes of it.
    pub(crate) is_last: bool,
}

/// Words of a provider section record.
pub(crate) const SECTION: usize = 1;

impl Records {
    /// Begins the words of records of a provider.
    pub(crate) fn begin(spares: &Spares, provider: u32) -> Vec<u64> {
        let mut words = spares.take();
        archive::section(&mut words, provider);
        debug_assert_eq!(words.len(), SECTION, "the record is one word");
        words
    }

    /// Returns the provider's id: the same in [`Opening::identity`](crate::Opening::identity) and
    /// in archives.
    pub fn provider(&self) -> u32 {
        self.provider
    }

    /// Returns the records.
    pub fn words(&self) -> &[u64] {
        self.words.get(SECTION..).unwrap_or_default()
    }

    /// Tells whether the provider has left, and these records are its last ones.
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
    fn a_vector_comes_back_empty_with_its_last_user() {
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
    fn few_vectors_are_kept() {
        let spares = Spares::default();
        let shared: Vec<_> = (0..10).map(|word| spares.share(vec![word])).collect();
        drop(shared);
        assert_eq!(kept(&spares), SPARE);
    }

    #[test]
    fn records_are_what_follows_the_section() {
        let spares = Spares::default();
        let mut words = Records::begin(&spares, 9);
        words.extend([7, 8]);
        let words = spares.share(words);
        let records = Records { provider: 9, words, slots: Vec::new(), reported: 0, is_last: true };
        assert_eq!(
            (records.provider(), records.words(), records.is_last()),
            (9, &[7, 8][..], true)
        );
    }
}
