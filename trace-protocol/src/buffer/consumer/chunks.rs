//! The chunks of a rolling buffer.

use crate::buffer::header::{directory_entry, Layout};
use crate::buffer::memory::ReadMapping;
use crate::sync::Ordering;

/// A copy of a rolling buffer as it was when it was copied.
///
/// Once it is made, the provider may be told that its buffer is saved.
#[derive(Debug)]
pub struct RawSave {
    /// The contents of its chunks, one after another.
    pub(super) words: Vec<u64>,
    /// The length in words of each chunk.
    pub(super) chunks: Vec<usize>,
}

impl RawSave {
    /// Copies the chunks of `wrapped_count`. Reads each word of the buffer once at most.
    pub(super) fn copy(mapping: &ReadMapping, layout: &Layout, wrapped_count: u32) -> Self {
        let mut save = Self { words: Vec::new(), chunks: Vec::new() };
        let directory = layout.rolling_start(wrapped_count);
        let data = directory + layout.directory_words();
        let units = layout.units() as usize;
        let mut unit = 0;
        while unit < units {
            match chunk_units(mapping, directory + unit, wrapped_count, units - unit) {
                Some(length) => {
                    save.copy_chunk(
                        mapping,
                        data + unit * layout.unit_words(),
                        length * layout.unit_words(),
                    );
                    unit += length;
                }
                // Stale, or reserved by a thread that has not come to publish it: nothing is there.
                None => unit += 1,
            }
        }
        save
    }

    fn copy_chunk(&mut self, mapping: &ReadMapping, start: usize, length: usize) {
        let Some(words) = mapping.words().get(start..start + length) else { return };
        self.chunks.push(length);
        self.words.extend(words.iter().map(|word| word.load(Ordering::Relaxed)));
    }

    /// Bytes copied.
    pub fn size(&self) -> usize {
        self.words.len() * 8
    }
}

/// The units of the chunk at this directory word, if it is a chunk of this wrap and fits.
fn chunk_units(
    mapping: &ReadMapping,
    entry: usize,
    wrapped_count: u32,
    fit: usize,
) -> Option<usize> {
    // Acquired: with the entry, the zero word that the chunk was begun with is seen, or what replaced it.
    let entry = mapping.words().get(entry)?.load(Ordering::Acquire);
    let units = (entry >> 32) as u32;
    let live = entry == directory_entry(wrapped_count, units);
    (live && units != 0 && units as usize <= fit).then_some(units as usize)
}

/// The wrapped counts that the rolling buffers hold, the older one first: at most two, and at most one apart.
///
/// They are found in the directories, not in the header, which a provider that was killed may not have come to write.
pub(super) fn live_wraps(mapping: &ReadMapping, layout: &Layout) -> Vec<u32> {
    let mut wraps: Vec<u32> = (0..layout.mode().rolling_buffers())
        .filter_map(|index| newest_wrap(mapping, layout, index))
        .collect();
    wraps.sort_unstable();
    if let [older, newer] = wraps[..] {
        if newer - older != 1 {
            wraps.remove(0);
        }
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
        .filter(|wrap| *wrap as usize % layout.mode().rolling_buffers() == index)
        .max()
}
