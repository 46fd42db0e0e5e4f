//! The strings of a provider that conditions compare.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use trace_format::Text;

/// The strings of a provider's table, by index.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Those that occur in conditions.
    texts: BTreeMap<u16, Box<[u8]>>,
    /// The hashes of all.
    hashes: BTreeMap<u16, u64>,
}

impl Names {
    /// Registers a string. Its text is kept if it is one of `compared`.
    pub(super) fn register(&mut self, index: u16, text: &[u8], compared: &BTreeSet<Box<[u8]>>) {
        self.hashes.insert(index, hash(text));
        match compared.get(text) {
            Some(text) => drop(self.texts.insert(index, text.clone())),
            None => drop(self.texts.remove(&index)),
        }
    }

    /// Returns a number that distinguishes a string from others of the provider, also if its index
    /// changes.
    pub(super) fn hash(&self, text: Text<'_>) -> u64 {
        match text {
            Text::Inline(bytes) => hash(bytes),
            Text::Indexed(index) => self.hashes.get(&index).copied().unwrap_or_default(),
        }
    }

    /// Returns a string of a record; an empty one if no condition has it.
    pub(super) fn text<'a>(&'a self, text: Text<'a>) -> &'a [u8] {
        match text {
            Text::Inline(bytes) => bytes,
            Text::Indexed(index) => self.texts.get(&index).map_or(&[], |text| text),
        }
    }

    /// Returns whether all of these strings are registered.
    pub(super) fn has_all(&self, texts: &[&str]) -> bool {
        texts.iter().all(|text| self.texts.values().any(|name| **name == *text.as_bytes()))
    }
}

fn hash(text: &[u8]) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(text)
}
