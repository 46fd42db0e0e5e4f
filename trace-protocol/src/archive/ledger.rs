//! Numbers that one process keeps for another, which reads them when the first is dead.

use crate::buffer::memory::{ReadMapping, WriteMapping};
use crate::sync::Ordering;

/// The writer's end: words, each of which is at any time the old number or the new one, and which
/// change in the order of the calls.
#[derive(Debug, Clone)]
pub struct Ledger(WriteMapping);

/// The reader's end.
#[derive(Debug)]
pub struct LedgerReader(ReadMapping);

impl Ledger {
    /// Bytes of the memory behind a ledger.
    pub const SIZE: usize = 4096;

    /// Keeps numbers in this memory.
    pub fn new(mapping: WriteMapping) -> Self {
        Self(mapping)
    }

    /// Stores a number, which is visible after all that was stored before. Does nothing beyond the
    /// memory's end.
    pub fn set(&self, index: usize, number: u64) {
        if let Some(word) = self.0.words().get(index) {
            word.store(number, Ordering::Release);
        }
    }

    /// The number at this index; 0 beyond the memory's end.
    pub fn get(&self, index: usize) -> u64 {
        self.0.words().get(index).map_or(0, |word| word.load(Ordering::Acquire))
    }
}

impl LedgerReader {
    /// Reads numbers from this memory.
    pub fn new(mapping: ReadMapping) -> Self {
        Self(mapping)
    }

    /// The number at this index; 0 beyond the memory's end.
    pub fn get(&self, index: usize) -> u64 {
        self.0.words().get(index).map_or(0, |word| word.load(Ordering::Acquire))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_reader_sees_what_was_stored() {
        let mapping = WriteMapping::anonymous(Ledger::SIZE);
        let (ledger, reader) = (Ledger::new(mapping.clone()), LedgerReader::new(mapping.reader()));
        ledger.set(3, 17);
        ledger.set(Ledger::SIZE / 8, 1);
        assert_eq!((ledger.get(3), reader.get(3), reader.get(4)), (17, 17, 0));
        assert_eq!((ledger.get(Ledger::SIZE / 8), reader.get(usize::MAX)), (0, 0));
    }
}
