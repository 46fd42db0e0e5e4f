//! The strings of a provider that conditions compare.

use std::collections::{BTreeMap, BTreeSet};

use trace_format::Text;

/// The strings of a provider's table that occur in conditions, by index.
#[derive(Debug, Default)]
pub(super) struct Names(BTreeMap<u16, Box<[u8]>>);

impl Names {
    /// Registers a string, if it is one of `wanted`.
    pub(super) fn register(&mut self, index: u16, text: &[u8], wanted: &BTreeSet<Box<[u8]>>) {
        match wanted.get(text) {
            Some(text) => drop(self.0.insert(index, text.clone())),
            None => drop(self.0.remove(&index)),
        }
    }

    /// Returns a string of a record; an empty one if no condition has it.
    pub(super) fn text<'a>(&'a self, text: Text<'a>) -> &'a [u8] {
        match text {
            Text::Inline(bytes) => bytes,
            Text::Indexed(index) => self.0.get(&index).map_or(&[], |text| text),
        }
    }

    /// Returns whether all of these strings are registered.
    pub(super) fn has_all(&self, texts: &[&str]) -> bool {
        texts.iter().all(|text| self.0.values().any(|name| **name == *text.as_bytes()))
    }
}
