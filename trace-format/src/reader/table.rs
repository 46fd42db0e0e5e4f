//! A table of strings or threads.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A table with indices from 1.
///
/// Consecutive indices are in a list. Other indices are in a hash map, so that a high index alone
/// does not allocate a large table.
#[derive(Debug)]
pub(super) struct Table<V> {
    list: Vec<V>,
    rest: HashMap<u16, V, BuildHasherDefault<IndexHasher>>,
}

impl<V> Default for Table<V> {
    fn default() -> Self {
        Self { list: Vec::new(), rest: HashMap::default() }
    }
}

impl<V> Table<V> {
    #[inline]
    pub(super) fn get(&self, index: u16) -> Option<&V> {
        match self.list.get(usize::from(index).wrapping_sub(1)) {
            Some(value) => Some(value),
            None => self.rest.get(&index),
        }
    }

    /// Registers `value` at an index other than 0.
    pub(super) fn insert(&mut self, index: u16, value: V) {
        let place = usize::from(index).wrapping_sub(1);
        if let Some(entry) = self.list.get_mut(place) {
            *entry = value;
        } else if place == self.list.len() {
            self.rest.remove(&index);
            self.list.push(value);
        } else {
            self.rest.insert(index, value);
        }
    }
}

/// A hash that spreads an index over all bits. It needs no random key, because there are few
/// indices.
#[derive(Debug, Default)]
struct IndexHasher(u64);

impl Hasher for IndexHasher {
    #[inline]
    fn write(&mut self, index: &[u8]) {
        // Little endian: consecutive indices differ in the low bits, which select the bucket.
        self.0 = index.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    }

    #[inline]
    fn finish(&self) -> u64 {
        // The multiplier is odd, so different indices have different hashes.
        self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher;

    use super::*;

    #[test]
    fn the_last_registration_of_an_index_is_valid() {
        let mut table = Table::default();
        let order = [7, 1, 3, 2, 3, 1, 4, 7, u16::MAX];
        for (value, index) in order.into_iter().enumerate() {
            table.insert(index, value);
        }
        for index in 0..=u16::MAX {
            let last = order.iter().rposition(|registered| *registered == index);
            assert_eq!(table.get(index).copied(), last, "{index}");
        }
        assert_eq!((table.list.len(), table.rest.len()), (4, 2));
    }
    /// The map uses the low bits and the highest bits of a hash.
    #[test]
    fn hashes_of_indices_differ() {
        let hasher = BuildHasherDefault::<IndexHasher>::default();
        let hashes: Vec<u64> = (0..=u16::MAX).map(|index| hasher.hash_one(index)).collect();
        let different = |mut hashes: Vec<u64>| {
            hashes.sort_unstable();
            hashes.dedup();
            hashes.len()
        };
        assert_eq!(different(hashes.iter().map(|hash| hash & 0xffff).collect()), 65_536);
        assert_eq!(different(hashes[..256].iter().map(|hash| hash & 0xff).collect()), 256);
        assert!(different(hashes.iter().map(|hash| hash >> 48).collect()) > 50_000);
    }
}
