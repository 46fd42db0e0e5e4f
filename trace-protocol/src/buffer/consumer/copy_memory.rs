//! Memory for copies of buffers.

use crate::sys::pages::{Pages, LEAST};

/// Memory for words, of which a copy of several MiB has large pages.
#[derive(Debug)]
pub(super) enum CopyMemory {
    /// Of the allocator, whose pages are often present.
    Heap(Vec<u64>),
    /// A mapping of its own, and the number of words that are in use.
    Pages(Pages, usize),
}

impl CopyMemory {
    /// Reserves memory for this many words in all. Those in use stay.
    pub(super) fn reserve(&mut self, words: usize) {
        if words <= self.capacity() {
            return;
        }
        if self.len() == 0 {
            // Frees the earlier memory first.
            *self = Self::default();
        }
        let mut larger = Self::with_capacity(words);
        larger.append(self.as_slice().iter().copied());
        *self = larger;
    }

    fn with_capacity(words: usize) -> Self {
        let pages = (words >= LEAST && !cfg!(miri)).then(|| Pages::new(words));
        match pages {
            Some(Ok(pages)) => Self::Pages(pages, 0),
            Some(Err(_)) | None => Self::Heap(Vec::with_capacity(words)),
        }
    }

    /// Appends words, which [`reserve`](Self::reserve) has made space for.
    pub(super) fn append(&mut self, words: impl ExactSizeIterator<Item = u64>) {
        self.reserve(self.len().saturating_add(words.len()));
        match self {
            Self::Heap(memory) => memory.extend(words),
            Self::Pages(pages, used) => {
                let unused = pages.words_mut().get_mut(*used..).unwrap_or_default();
                *used += unused.len().min(words.len());
                unused.iter_mut().zip(words).for_each(|(to, from)| *to = from);
            }
        }
    }

    pub(super) fn clear(&mut self) {
        match self {
            Self::Heap(memory) => memory.clear(),
            Self::Pages(_, used) => *used = 0,
        }
    }

    /// Returns the number of words in use.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Heap(memory) => memory.len(),
            Self::Pages(_, used) => *used,
        }
    }

    pub(super) fn capacity(&self) -> usize {
        match self {
            Self::Heap(memory) => memory.capacity(),
            Self::Pages(pages, _) => pages.words().len(),
        }
    }

    pub(super) fn as_slice(&self) -> &[u64] {
        match self {
            Self::Heap(memory) => memory,
            Self::Pages(pages, used) => pages.words().get(..*used).unwrap_or_default(),
        }
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [u64] {
        match self {
            Self::Heap(memory) => memory,
            Self::Pages(pages, used) => pages.words_mut().get_mut(..*used).unwrap_or_default(),
        }
    }
}

impl Default for CopyMemory {
    fn default() -> Self {
        Self::Heap(Vec::new())
    }
}

#[cfg(all(test, not(miri), not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn words_stay_while_memory_grows_and_changes_its_kind() {
        let mut memory = CopyMemory::default();
        for end in [0, 10, LEAST - 1, LEAST, LEAST + 7, 3 * LEAST] {
            let begin = memory.len();
            memory.append((begin..end).map(|word| word as u64));
            assert_eq!(memory.len(), end);
            assert_eq!(memory.as_slice(), (0..end as u64).collect::<Vec<_>>());
            assert_eq!(matches!(memory, CopyMemory::Pages(..)), end >= LEAST);
        }
        memory.as_mut_slice().fill(1);
        assert_eq!(memory.as_slice(), [1].repeat(3 * LEAST));
        memory.clear();
        assert_eq!((memory.len(), memory.as_slice()), (0, &[][..]));
        assert_eq!(memory.capacity(), 3 * LEAST);
    }
}
