//! Indexes for values that come again.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

/// A table that gives values an index in `1 ..= max`.
#[derive(Debug)]
pub(super) struct Interner<K> {
    indexes: HashMap<K, u16>,
    /// The value with index `i + 1` is at `i`.
    values: Vec<K>,
    max: u16,
    /// The index to be replaced next once the table is full: the oldest.
    oldest: u16,
}

impl<K: Hash + Eq + Clone> Interner<K> {
    pub(super) fn new(max: u16) -> Self {
        Self { indexes: HashMap::new(), values: Vec::new(), max, oldest: 1 }
    }

    /// Returns the index of `value`, and whether it is a new one that has to
    /// be registered.
    pub(super) fn index_of<Q>(&mut self, value: &Q) -> (u16, bool)
    where
        Q: Hash + Eq + ToOwned<Owned: Into<K>> + ?Sized,
        K: Borrow<Q>,
    {
        if let Some(index) = self.indexes.get(value) {
            return (*index, false);
        }
        let index = self.place(value.to_owned().into());
        (index, true)
    }

    fn place(&mut self, value: K) -> u16 {
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
            self.indexes.remove(&old);
        }
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_replaced_when_full() {
        let mut interner: Interner<Box<str>> = Interner::new(2);
        assert_eq!(interner.index_of("a"), (1, true));
        assert_eq!(interner.index_of("b"), (2, true));
        assert_eq!(interner.index_of("a"), (1, false));
        assert_eq!(interner.index_of("c"), (1, true));
        assert_eq!(interner.index_of("b"), (2, false));
        assert_eq!(interner.index_of("a"), (2, true));
        assert_eq!(interner.index_of("b"), (1, true));
    }
}
