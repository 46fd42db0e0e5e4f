//! Strings that many frames share.

use std::collections::HashSet;
use std::sync::Arc;

/// The most bytes of strings.
const MAX_BYTES: usize = if cfg!(test) { 1 << 16 } else { 64 << 20 };

/// Strings, each of which is in memory once.
#[derive(Debug, Default)]
pub(super) struct Texts {
    texts: HashSet<Arc<str>>,
    bytes: usize,
}

impl Texts {
    /// Returns a string, or `None` if there is no room for it.
    pub(super) fn intern(&mut self, text: &str) -> Option<Arc<str>> {
        /// The bytes of a string besides its text.
        const OVERHEAD: usize = 64;
        if let Some(text) = self.texts.get(text) {
            return Some(Arc::clone(text));
        }
        self.bytes = Some(self.bytes + text.len() + OVERHEAD).filter(|sum| *sum <= MAX_BYTES)?;
        let text: Arc<str> = text.into();
        self.texts.insert(Arc::clone(&text));
        Some(text)
    }
}
