//! Hashing of numbers that this crate assigns.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map whose keys consist of small numbers, counted from 0. A file cannot choose them to collide.
pub type DenseMap<V> = HashMap<u64, V, BuildHasherDefault<DenseHasher>>;

/// Distributes a number over all bits.
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
        // The golden ratio, odd. Folded, because the table uses high and low bits, and both have
        // parts of the key.
        let product = u128::from(self.0 ^ number) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}
