//! Maps of small keys, such as the ids of threads: each event looks for a few.

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher};

/// A map whose keys are a few numbers.
pub(crate) type IdMap<K, V> = HashMap<K, V, Keyed>;

/// A set of numbers.
pub(crate) type IdSet<K> = HashSet<K, Keyed>;

/// Makes hashes with a random key, so that no choice of ids in a file makes them collide.
#[derive(Clone, Debug)]
pub(crate) struct Keyed(u64);

/// Mixes numbers by a multiplication each.
#[derive(Debug)]
pub(crate) struct IdHasher(u64);

impl Default for Keyed {
    fn default() -> Self {
        Self(RandomState::new().hash_one(0))
    }
}

impl BuildHasher for Keyed {
    type Hasher = IdHasher;

    #[inline]
    fn build_hasher(&self) -> IdHasher {
        IdHasher(self.0)
    }
}

impl Hasher for IdHasher {
    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    #[inline]
    fn write_u16(&mut self, number: u16) {
        self.write_u64(u64::from(number));
    }

    #[inline]
    fn write_i64(&mut self, number: i64) {
        self.write_u64(number as u64);
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        // The golden ratio, odd. Folded, because a map uses the high and the low bits.
        let product = u128::from(self.0 ^ number) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A map uses the low bits for the place, and the highest 7 to compare.
    #[test]
    fn hashes_of_near_ids_differ() {
        let keyed = Keyed::default();
        let hashes: Vec<u64> = (0..4096_u64).map(|id| keyed.hash_one(id)).collect();
        let different = |part: fn(u64) -> u64| {
            hashes.iter().map(|hash| part(*hash)).collect::<HashSet<u64>>().len()
        };
        assert_eq!(different(|hash| hash), 4096);
        assert!(different(|hash| hash & 0xfff) > 2048, "as many as of random numbers");
        assert!(different(|hash| hash >> 57) > 64);
        assert_ne!(Keyed::default().hash_one(7_u64), keyed.hash_one(7_u64), "the key is random");
    }
}
