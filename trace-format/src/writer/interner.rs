//! A table that assigns indices to repeated values.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

use crate::layout::MAX_ARGUMENTS;

/// The largest number of values of one record: category, name, and two for each argument.
const MAX_OF_RECORD: u16 = 2 + 2 * MAX_ARGUMENTS as u16;

/// A table that assigns indices in `1 ..= max` to values.
#[derive(Debug)]
pub(super) struct Interner<K> {
    indexes: HashMap<K, u16, Keyed>,
    /// The value with index `i + 1` is at `i`.
    values: Vec<K>,
    max: u16,
    /// The oldest index, which is replaced next if the table is full.
    oldest: u16,
}

impl<K: Hash + Eq + Clone> Interner<K> {
    pub(super) fn new(max: u16) -> Self {
        Self { indexes: HashMap::default(), values: Vec::new(), max, oldest: 1 }
    }

    /// Returns the index of `value`, and whether it is new and must be registered.
    pub(super) fn index_of<Q>(&mut self, value: &Q) -> (u16, bool)
    where
        Q: Hash + Eq + ToOwned<Owned: Into<K>> + ?Sized,
        K: Borrow<Q>,
    {
        match self.indexes.get(value) {
            Some(index) if !self.is_near_replacement(*index) => return (*index, false),
            _ => {}
        }
        let index = self.insert(value.to_owned().into());
        (index, true)
    }

    /// Returns whether other values of the same record may replace the index.
    #[inline]
    fn is_near_replacement(&self, index: u16) -> bool {
        let is_full = self.values.len() == usize::from(self.max);
        is_full && (index + self.max - self.oldest) % self.max < MAX_OF_RECORD.min(self.max / 2)
    }

    fn insert(&mut self, value: K) -> u16 {
        let index = match u16::try_from(self.values.len()) {
            Ok(count) if count < self.max => {
                self.values.push(value.clone());
                count + 1
            }
            _ => self.replace_oldest(value.clone()),
        };
        self.indexes.insert(value, index);
        index
    }

    fn replace_oldest(&mut self, value: K) -> u16 {
        let index = self.oldest;
        self.oldest = index % self.max + 1;
        if let Some(place) = self.values.get_mut(usize::from(index) - 1) {
            let old = std::mem::replace(place, value);
            // The old value may have a newer index.
            if self.indexes.get(&old) == Some(&index) {
                self.indexes.remove(&old);
            }
        }
        index
    }
}

/// A hash of eight bytes at a time, which is fast for short values.
///
/// Its key is random, so that no choice of strings causes collisions.
#[derive(Debug, Clone)]
struct Keyed(u64);

impl Default for Keyed {
    fn default() -> Self {
        Self(RandomState::new().hash_one(0))
    }
}

impl BuildHasher for Keyed {
    type Hasher = KeyedHasher;

    #[inline]
    fn build_hasher(&self) -> KeyedHasher {
        KeyedHasher(self.0)
    }
}

#[derive(Debug)]
struct KeyedHasher(u64);

impl Hasher for KeyedHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let mut eights = bytes.chunks_exact(8);
        for eight in &mut eights {
            let mut word = [0; 8];
            word.copy_from_slice(eight);
            self.write_u64(u64::from_le_bytes(word));
        }
        let rest = eights.remainder().iter().fold(0, |rest, byte| rest << 8 | u64::from(*byte));
        self.write_u64(rest);
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        // Both halves of the product with an odd number: each bit of the word affects the
        // whole result.
        let product = u128::from(self.0 ^ word) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product as u64) ^ ((product >> 64) as u64).rotate_left(23);
    }

    #[inline]
    fn write_usize(&mut self, length: usize) {
        self.write_u64(length as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_of_different_values_differ() {
        let keyed = Keyed(7);
        let texts = (0..100_000).map(|number| format!("name {number}").into_bytes());
        let mut hashes: Vec<u64> = texts.map(|text| keyed.hash_one(text)).collect();
        let mut low: Vec<u64> = hashes.iter().map(|hash| hash & 0xffff).collect();
        for (list, least) in [(&mut hashes, 100_000), (&mut low, 45_000)] {
            list.sort_unstable();
            list.dedup();
            assert!(list.len() >= least, "{} are different", list.len());
        }
        assert_ne!(Keyed::default().hash_one(1), Keyed::default().hash_one(1));
    }

    #[test]
    fn hashes_of_zeros_depend_on_the_length() {
        let mut hashes = [0; 33].map(|_| 0);
        for (length, hash) in hashes.iter_mut().enumerate() {
            *hash = Keyed(7).hash_one(&[0u8; 32][..length]);
        }
        hashes.sort_unstable();
        assert!(hashes.windows(2).all(|pair| pair[0] != pair[1]));
    }

    /// Returns a full table of the numbers `1 ..= max`, each with its own index.
    fn full(max: u16) -> Interner<u16> {
        let mut interner = Interner::new(max);
        for number in 1..=max {
            assert_eq!(interner.index_of(&number), (number, true));
        }
        interner
    }

    #[test]
    fn indices_of_the_next_record_are_near_replacement() {
        let near = |interner: &Interner<u16>| {
            (1..=interner.max).filter(|index| interner.is_near_replacement(*index)).count()
        };
        // A record has at most 32 values. Half of a small table stays usable.
        assert_eq!([100, 64, 63, 40].map(|max| near(&full(max))), [32, 32, 31, 20]);
        let mut interner = full(100);
        assert_eq!(interner.index_of(&33), (33, false));
        assert_eq!(interner.index_of(&32), (1, true));
        assert_eq!(interner.index_of(&33), (2, true));
        // The last index precedes the first one.
        interner.oldest = 100;
        let near: Vec<u16> =
            (1..=100).filter(|index| interner.is_near_replacement(*index)).collect();
        assert_eq!((near.len(), near[0], near[30], near[31]), (32, 1, 31, 100));
    }

    #[test]
    fn a_table_that_is_not_full_keeps_its_indices() {
        let mut interner: Interner<u16> = Interner::new(4);
        for (number, expected) in [(1, (1, true)), (1, (1, false)), (2, (2, true)), (1, (1, false))]
        {
            assert_eq!(interner.index_of(&number), expected);
        }
    }

    #[test]
    fn indices_are_replaced_in_turn() {
        let mut interner = full(4);
        let indices: Vec<u16> = (5..15).map(|number| interner.index_of(&number).0).collect();
        assert_eq!(indices, [1, 2, 3, 4, 1, 2, 3, 4, 1, 2]);
        assert_eq!((interner.indexes.len(), interner.values.len()), (4, 4));
    }

    #[test]
    fn a_replaced_index_does_not_remove_a_newer_one() {
        let mut interner = full(4);
        assert_eq!(interner.index_of(&2), (1, true));
        // Replaces the old index of 2.
        assert_eq!(interner.index_of(&5), (2, true));
        assert_eq!(interner.index_of(&2), (1, false));
    }

    #[test]
    fn a_full_table_replaces_the_oldest_entry() {
        let mut interner: Interner<Box<str>> = Interner::new(4);
        for (index, value) in (1..).zip(["a", "b", "c", "d"]) {
            assert_eq!(interner.index_of(value), (index, true));
        }
        assert_eq!(interner.index_of("c"), (3, false));
        assert_eq!(interner.index_of("e"), (1, true));
        assert_eq!(interner.index_of("d"), (4, false));
        assert_eq!(interner.index_of("a"), (2, true));
        assert_eq!(interner.index_of("e"), (1, false));
    }

    #[test]
    fn values_of_one_record_do_not_replace_each_other() {
        let mut interner: Interner<Box<str>> = Interner::new(4);
        for value in ["a", "b", "c", "d"] {
            interner.index_of(value);
        }
        // The index of "a" is replaced next, so "a" gets a new registration.
        assert_eq!(interner.index_of("a"), (1, true));
        assert_eq!(interner.index_of("e"), (2, true));
        assert_eq!(interner.index_of("a"), (1, false));
    }
}
