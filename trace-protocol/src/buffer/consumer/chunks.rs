//! The chunks of a rolling buffer.

use std::ops::Range;

use crate::buffer::header::{directory_entry, Layout};
use crate::buffer::memory::ReadMapping;
use crate::sync::{AtomicU64, Ordering};

use super::copy_memory::CopyMemory;

/// A copy of a rolling buffer as it was when it was copied.
///
/// After the copy, the manager may report to the provider that the buffer is saved.
#[derive(Debug)]
pub struct RawSave {
    /// The contents of its chunks, one after another.
    pub(super) words: Vec<u64>,
    /// The length in words of each chunk.
    pub(super) chunks: Vec<usize>,
    pub(super) wrapped_count: u32,
}

impl RawSave {
    /// Copies the chunks of `wrapped_count`. Reads each word of the buffer once at most.
    pub(super) fn copy(mapping: &ReadMapping, layout: &Layout, wrapped_count: u32) -> Self {
        let runs: Vec<&[AtomicU64]> = live_chunks(mapping, layout, wrapped_count).collect();
        let mut words = Vec::with_capacity(runs.iter().map(|run| run.len()).sum());
        for run in &runs {
            words.extend(run.iter().map(|word| word.load(Ordering::Relaxed)));
        }
        Self { words, chunks: runs.iter().map(|run| run.len()).collect(), wrapped_count }
    }

    /// Bytes copied.
    pub fn size(&self) -> usize {
        self.words.len() * 8
    }
}

/// Copies of chunks that are being written, in one piece of memory.
#[derive(Debug, Default)]
pub(super) struct LiveChunks {
    words: CopyMemory,
    /// The chunks, in the order of their records.
    chunks: Vec<Range<usize>>,
}

impl LiveChunks {
    /// Removes all copies, and makes space for this many words.
    pub(super) fn restart(&mut self, words: usize) {
        self.clear();
        self.words.reserve(words);
    }

    pub(super) fn clear(&mut self) {
        self.words.clear();
        self.chunks.clear();
    }

    /// Appends copies of the chunks of a rolling buffer: of each thread the first so many of its
    /// records.
    ///
    /// A thread's later chunks lie behind its earlier ones. Copied from the last to the first, an
    /// earlier one is complete if there is anything of a later one.
    pub(super) fn add_backwards(&mut self, chunks: &[&[AtomicU64]]) {
        let first = self.chunks.len();
        for chunk in chunks.iter().rev() {
            let start = self.words.len();
            // Acquired: behind a header that is seen, the record is.
            self.words.append(chunk.iter().map(|word| word.load(Ordering::Acquire)));
            self.chunks.push(start..self.words.len());
        }
        self.chunks.get_mut(first..).into_iter().for_each(<[_]>::reverse);
    }

    /// Passes each chunk to `read`.
    pub(super) fn for_each(&mut self, mut read: impl FnMut(&mut [u64])) {
        let words = self.words.as_mut_slice();
        for chunk in &self.chunks {
            words.get_mut(chunk.clone()).into_iter().for_each(&mut read);
        }
    }

    /// Returns the number of words for which there is memory.
    #[cfg(test)]
    pub(super) fn reserved(&self) -> usize {
        self.words.capacity()
    }

    /// Returns the number of words.
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }
}

/// The words of the chunks of `wrapped_count`, in the order of their places.
pub(super) fn live_chunks<'a>(
    mapping: &'a ReadMapping,
    layout: &Layout,
    wrapped_count: u32,
) -> impl Iterator<Item = &'a [AtomicU64]> {
    let directory = layout.rolling_start(wrapped_count);
    let data = directory + layout.directory_words();
    let (units, unit_words) = (layout.units() as usize, layout.unit_words());
    let mut unit = 0;
    std::iter::from_fn(move || {
        while unit < units {
            let at = unit;
            let length = chunk_units(mapping, directory + at, wrapped_count, units - at);
            // Stale, or reserved by a thread that has not come to publish it: nothing is there.
            unit += length.unwrap_or(1);
            if let Some(length) = length {
                let start = data + at * unit_words;
                return mapping.words().get(start..start + length * unit_words);
            }
        }
        None
    })
}

/// The units of the chunk at this directory word, if it is a chunk of this wrap and fits.
fn chunk_units(
    mapping: &ReadMapping,
    entry: usize,
    wrapped_count: u32,
    fit: usize,
) -> Option<usize> {
    // Acquired: with the entry, the zero word that the chunk was begun with is seen, or what
    // replaced it.
    let entry = mapping.words().get(entry)?.load(Ordering::Acquire);
    let units = (entry >> 32) as u32;
    let live = entry == directory_entry(wrapped_count, units);
    (live && units != 0 && units as usize <= fit).then_some(units as usize)
}

/// The wrapped counts that the rolling buffers hold, the oldest first: at most one each, none so
/// old that the newest has overwritten it.
///
/// They are found in the directories, not in the header, which a provider that was killed may not
/// have come to write.
pub(super) fn live_wraps(mapping: &ReadMapping, layout: &Layout) -> Vec<u32> {
    let mut wraps: Vec<u32> = (0..layout.rolling_buffers())
        .filter_map(|index| newest_wrap(mapping, layout, index))
        .collect();
    wraps.sort_unstable();
    if let Some(newest) = wraps.last().copied() {
        wraps.retain(|wrap| ((newest - wrap) as usize) < layout.rolling_buffers());
    }
    wraps
}

fn newest_wrap(mapping: &ReadMapping, layout: &Layout, index: usize) -> Option<u32> {
    let directory = layout.rolling_start(index as u32);
    let entries = mapping.words().get(directory..directory + layout.units() as usize)?;
    entries
        .iter()
        .map(|entry| entry.load(Ordering::Acquire) as u32)
        .filter(|tag| *tag != 0)
        .map(|tag| tag - 1)
        .filter(|wrap| *wrap as usize % layout.rolling_buffers() == index)
        .max()
}
