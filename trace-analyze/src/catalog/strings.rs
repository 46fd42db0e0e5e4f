//! Numbers of strings.

use std::hash::{BuildHasher, RandomState};

use super::DenseMap;

/// The memory of a string beside its bytes.
const OVERHEAD_BYTES: usize = 40;

/// Different strings, numbered from 0 in the order of appearance. They share one allocation,
/// because an archive can have millions of short ones.
#[derive(Debug, Default)]
pub(super) struct Strings {
    text: String,
    /// The end of each string in `text`.
    ends: Vec<usize>,
    /// Numbers by hash. If two strings have one hash, the second has the next key.
    ids: DenseMap<u32>,
    /// Its key is random, so that a file cannot choose strings that collide.
    hasher: RandomState,
}

impl Strings {
    /// Returns the number of a string.
    pub(super) fn intern(&mut self, string: &str) -> u32 {
        let mut key = self.hasher.hash_one(string);
        while let Some(id) = self.ids.get(&key).copied() {
            if self.get(id) == Some(string) {
                return id;
            }
            key = key.wrapping_add(1);
        }
        let id = self.ends.len() as u32;
        self.text.push_str(string);
        self.ends.push(self.text.len());
        self.ids.insert(key, id);
        id
    }

    /// Returns the string with a number.
    pub(super) fn get(&self, id: u32) -> Option<&str> {
        let id = id as usize;
        let end = *self.ends.get(id)?;
        let start = id.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        self.text.get(start.unwrap_or(0)..end)
    }

    /// Returns all strings in the order of their numbers.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.ends.len()).map(|id| self.get(id as u32).unwrap_or_default())
    }

    /// Returns the approximate memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.text.len() + self.ends.len() * OVERHEAD_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_have_one_number() {
        let mut strings = Strings::default();
        let ids = ["a", "", "bc", "a", "b", "c", ""].map(|string| strings.intern(string));
        assert_eq!(ids, [0, 1, 2, 0, 3, 4, 1]);
        assert_eq!(strings.iter().collect::<Vec<_>>(), ["a", "", "bc", "b", "c"]);
        assert_eq!(strings.get(5), None);
    }

    #[test]
    fn strings_of_one_hash_have_different_numbers() {
        let mut strings = Strings::default();
        strings.intern("a");
        let key = strings.hasher.hash_one("b");
        // As if "a" had the hash of "b".
        strings.ids.insert(key, 0);
        assert_eq!((strings.intern("b"), strings.intern("b"), strings.intern("a")), (1, 1, 0));
    }
}
