//! Destinations of a record's words: the first pass counts them, the second one stores them.

use crate::layout::{words_for_bytes, ThreadKoids, WORD_BYTES};

/// A destination of words and streams.
pub(super) trait Out {
    /// Writes one word.
    fn word(&mut self, word: u64);

    /// Writes bytes, padded with zeros to a multiple of a word.
    fn stream(&mut self, bytes: &[u8]);

    /// Writes a koid, if it is inline.
    #[inline]
    fn koid(&mut self, koid: Option<u64>) {
        if let Some(koid) = koid {
            self.word(koid);
        }
    }

    /// Writes the two koids of a thread, if they are inline.
    #[inline]
    fn koids(&mut self, koids: Option<ThreadKoids>) {
        self.koid(koids.map(|koids| koids.process));
        self.koid(koids.map(|koids| koids.thread));
    }
}

/// Counts words.
#[derive(Debug, Default)]
pub(super) struct Count(usize);

impl Count {
    pub(super) fn words(&self) -> usize {
        self.0
    }
}

impl Out for Count {
    #[inline]
    fn word(&mut self, _: u64) {
        self.0 += 1;
    }

    #[inline]
    fn stream(&mut self, bytes: &[u8]) {
        self.0 += words_for_bytes(bytes.len());
    }
}

/// Stores words: as many as [`Count`] counted.
pub(super) struct Fill<F> {
    store: F,
}

impl<F: FnMut(u64)> Fill<F> {
    #[inline]
    pub(super) fn new(store: F) -> Self {
        Self { store }
    }
}

impl<F: FnMut(u64)> Out for Fill<F> {
    #[inline]
    fn word(&mut self, word: u64) {
        (self.store)(word);
    }

    #[inline]
    fn stream(&mut self, bytes: &[u8]) {
        // Most strings are in the table.
        if !bytes.is_empty() {
            self.inline_stream(bytes);
        }
    }
}

impl<F: FnMut(u64)> Fill<F> {
    fn inline_stream(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(WORD_BYTES);
        for chunk in &mut chunks {
            self.word(padded(chunk));
        }
        if !chunks.remainder().is_empty() {
            self.word(padded(chunks.remainder()));
        }
    }
}

/// Returns the word of up to 8 bytes, padded with zeros.
fn padded(bytes: &[u8]) -> u64 {
    let mut word = [0; WORD_BYTES];
    for (place, byte) in word.iter_mut().zip(bytes) {
        *place = *byte;
    }
    u64::from_le_bytes(word)
}
