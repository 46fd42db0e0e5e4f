//! Hashing of numbers that this crate has given itself.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map whose keys are made of small numbers, counted from 0, which no file
/// can choose so that they collide.
pub type DenseMap<V> = HashMap<u64, V, BuildHasherDefault<DenseHasher>>;

/// Spreads a number over all bits.
#[derive(Debug, Default, Clone, Copy)]
pub struct DenseHasher(u64);

impl Hasher for DenseHasher {
    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        // The golden ratio, odd; folded, because the table looks at high and
        // low bits and a key's parts are in both.
        let product = u128::from(self.0 ^ number) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}
