//! Texts that end with a zero, for one record.
#![forbid(unsafe_code)]

use crate::abi::Text;

/// The size of an allocation.
const BLOCK: usize = 4096;

/// Texts that keep their addresses until they are cleared.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    /// Never grows beyond its capacity, so that it keeps its address.
    block: Vec<u8>,
    full: Vec<Vec<u8>>,
}

impl Texts {
    /// Stores a text.
    pub(crate) fn keep(&mut self, text: &str) -> Text {
        let needed = text.len() + 1;
        if self.block.capacity() - self.block.len() < needed {
            let new = Vec::with_capacity(needed.max(BLOCK));
            self.full.push(std::mem::replace(&mut self.block, new));
        }
        let start = self.block.len();
        self.block.extend_from_slice(text.as_bytes());
        self.block.push(0);
        Text { data: self.block.as_ptr().wrapping_add(start).cast(), size: text.len() }
    }

    /// Removes all texts.
    pub(crate) fn clear(&mut self) {
        self.full.clear();
        self.block.clear();
    }
}
