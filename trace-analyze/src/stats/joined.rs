//! Names without lengths, or names and values.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::GroupValue;

/// The names without lengths, if an archive has too many names to compare. They had the least total
/// time when they were joined.
#[derive(Debug, Clone, Default)]
pub struct JoinedNames {
    /// Hashes of categories, names and values, sorted. A name takes 8 bytes.
    hashes: Vec<u64>,
    nanos: u64,
}

impl JoinedNames {
    /// Returns how many categories and names there are, or values of them.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.hashes.len() as u64
    }

    /// Returns whether all names have lengths.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Returns the total time of their durations, operations and flows, in nanoseconds.
    #[must_use]
    pub fn nanos(&self) -> u64 {
        self.nanos
    }

    /// Returns whether a name is one of them, with a value if rows have values.
    pub(crate) fn contains(&self, category: &str, name: &str, value: Option<&GroupValue>) -> bool {
        self.hashes.binary_search(&hash((category, name, value))).is_ok()
    }

    pub(super) fn add(&mut self, hashes: impl Iterator<Item = u64>, nanos: u64) {
        self.hashes.extend(hashes);
        self.hashes.sort_unstable();
        self.hashes.dedup();
        self.nanos = self.nanos.saturating_add(nanos);
    }
}

/// Returns the same number for the same texts of any archive.
pub(super) fn hash(texts: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    texts.hash(&mut hasher);
    hasher.finish()
}
