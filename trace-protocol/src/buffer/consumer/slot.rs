//! Copies of rolling buffers in memory that outlives the process that made them.
//!
//! ```text
//! page of numbers | length of each chunk in words | contents of the chunks, one after another
//! ```

use std::io;
use std::os::fd::BorrowedFd;

use crate::buffer::header::Layout;
use crate::buffer::memory::{ReadMapping, WriteMapping};
use crate::sync::{AtomicU64, Ordering};

use super::chunks::live_chunks;

/// Bytes of the page of numbers.
const PAGE: usize = 4096;

/// The wrapped count of the copy, plus one; 0 as long as there is no whole copy.
const WRAP: usize = 0;
/// How many chunks there are.
const CHUNKS: usize = 1;
/// Where the copy's records end in the archive, in bytes; [`UNKNOWN`] until they have a place
/// there.
const END: usize = 2;
/// Whose rolling buffer it is: a number that the writer chooses.
const OWNER: usize = 3;

const UNKNOWN: u64 = u64::MAX;

/// A place for a copy, for the process that makes it. Clones are the same place.
#[derive(Debug, Clone)]
pub struct SaveSlot {
    mapping: WriteMapping,
}

/// The same place, for who reads it.
#[derive(Debug)]
pub struct SlotReader {
    mapping: ReadMapping,
}

impl SaveSlot {
    /// Bytes of memory for a copy of a rolling buffer of this layout.
    pub fn size(layout: &Layout) -> usize {
        PAGE + layout.rolling_size()
    }

    /// Takes memory of `size` bytes: at least a page, and [`SaveSlot::size`] of the layouts it is
    /// for.
    ///
    /// # Errors
    /// What mapping it says, and `InvalidInput` for less than a page.
    pub fn map(file: BorrowedFd<'_>, size: usize) -> io::Result<Self> {
        if size < PAGE {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(Self { mapping: WriteMapping::map(file, size)? })
    }

    /// Whether there is room for a copy of a rolling buffer of this layout.
    pub fn fits(&self, layout: &Layout) -> bool {
        self.mapping.words().len() * 8 >= Self::size(layout)
    }

    /// Whether nothing in it is needed any more, when the archive has this many bytes.
    pub fn is_free(&self, archived: u64) -> bool {
        let words = self.mapping.words();
        words[WRAP].load(Ordering::Acquire) == 0 || words[END].load(Ordering::Acquire) <= archived
    }

    /// Says where the copy's records are going to end in the archive.
    pub fn set_end(&self, end: u64) {
        self.mapping.words()[END].store(end, Ordering::Release);
    }

    /// The same place, to read.
    pub fn reader(&self) -> SlotReader {
        SlotReader { mapping: self.mapping.reader() }
    }

    /// Copies the chunks of `wrapped_count` of the buffer of `owner`. A reader finds the whole copy
    /// or none.
    pub(super) fn fill(
        &self,
        buffer: &ReadMapping,
        layout: &Layout,
        wrapped_count: u32,
        owner: u32,
    ) {
        let words = self.mapping.words();
        // Acquired, so that nothing of the new copy is stored while the old one counts.
        words[WRAP].swap(0, Ordering::AcqRel);
        let (mut lengths, mut contents) = parts(words, layout);
        let mut chunks = 0;
        for run in live_chunks(buffer, layout, wrapped_count) {
            let (Some((length, other)), Some((place, behind))) =
                (lengths.split_first(), contents.split_at_checked(run.len()))
            else {
                break;
            };
            length.store(run.len() as u64, Ordering::Relaxed);
            for (to, from) in place.iter().zip(run) {
                to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
            }
            (lengths, contents) = (other, behind);
            chunks += 1;
        }
        words[CHUNKS].store(chunks, Ordering::Relaxed);
        words[END].store(UNKNOWN, Ordering::Relaxed);
        words[OWNER].store(u64::from(owner), Ordering::Relaxed);
        words[WRAP].store(u64::from(wrapped_count) + 1, Ordering::Release);
    }
}

impl SlotReader {
    /// Takes memory of `size` bytes, as the writer has it.
    ///
    /// # Errors
    /// What mapping it says.
    pub fn map(file: BorrowedFd<'_>, size: usize) -> io::Result<Self> {
        Ok(Self { mapping: ReadMapping::map(file, size)? })
    }

    /// The wrapped count of the copy, if there is a whole one.
    pub fn wrapped_count(&self) -> Option<u32> {
        u32::try_from(self.word(WRAP).checked_sub(1)?).ok()
    }

    /// Whose rolling buffer was copied, if there is a whole copy.
    pub fn owner(&self) -> Option<u32> {
        self.wrapped_count().and_then(|_| u32::try_from(self.word(OWNER)).ok())
    }

    /// Whether the copy's records are in the first `archived` bytes of the archive.
    pub fn is_archived(&self, archived: u64) -> bool {
        self.word(END) <= archived
    }

    /// The chunks of the copy behind the first `chunks`, which have `words` words.
    pub(super) fn chunks_behind(
        &self,
        layout: &Layout,
        (chunks, words): (usize, usize),
    ) -> impl Iterator<Item = &[AtomicU64]> {
        let (lengths, contents) = parts(self.mapping.words(), layout);
        let mut contents = contents.get(words..).unwrap_or_default();
        let all = self.word(CHUNKS).min(lengths.len() as u64) as usize;
        let lengths = lengths.get(chunks..all).unwrap_or_default();
        lengths.iter().map_while(move |length| {
            let length = usize::try_from(length.load(Ordering::Relaxed)).ok()?;
            let (chunk, behind) = contents.split_at_checked(length)?;
            contents = behind;
            Some(chunk)
        })
    }

    fn word(&self, index: usize) -> u64 {
        self.mapping.words().get(index).map_or(0, |word| word.load(Ordering::Acquire))
    }
}

/// The lengths of the chunks and their contents.
fn parts<'a>(words: &'a [AtomicU64], layout: &Layout) -> (&'a [AtomicU64], &'a [AtomicU64]) {
    let behind = words.get(PAGE / 8..).unwrap_or(&[]);
    behind.split_at_checked(layout.directory_words()).unwrap_or((&[], &[]))
}
