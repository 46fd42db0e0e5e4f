//! A hash of addresses that is faster than the standard one.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

/// A map by address.
pub(super) type AddressMap<T> = HashMap<u64, T, Seed>;

/// A random multiplier for each map, so that a trace cannot be crafted to cause collisions.
#[derive(Debug, Clone)]
pub(super) struct Seed(u64);

impl Default for Seed {
    fn default() -> Self {
        Self(RandomState::new().hash_one(0) | 1)
    }
}

impl BuildHasher for Seed {
    type Hasher = Product;

    #[inline]
    fn build_hasher(&self) -> Product {
        Product(self.0)
    }
}

/// The seed, then its product with the address.
#[derive(Debug)]
pub(super) struct Product(u64);

impl Hasher for Product {
    #[inline]
    fn write_u64(&mut self, address: u64) {
        let product = u128::from(self.0) * u128::from(address ^ self.0);
        self.0 = (product >> 64) as u64 ^ product as u64;
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}
