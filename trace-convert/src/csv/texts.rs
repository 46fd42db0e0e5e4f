//! Texts that wait for their duration or operation to end.

use std::fs::File;
use std::io::{self, Write};
use std::num::{NonZeroU32, NonZeroU64};
use std::os::unix::fs::FileExt;

use trace_analyze::input::temporary_file_error;

/// The most bytes in memory. Half of them are the newest ones.
const MEMORY_BYTES: usize = 2 << 20;

/// The place of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// The number of bytes before its second one.
    next: NonZeroU64,
    length: NonZeroU32,
}

/// The size of a block, and the number of blocks that are kept.
const BLOCK_BYTES: usize = 4 << 10;
const BLOCKS: usize = 64;

/// Texts, the newest in memory and the others in a temporary file.
#[derive(Debug, Default)]
pub(super) struct Texts {
    newest: Vec<u8>,
    /// The number of bytes in the file.
    written: u64,
    file: Option<File>,
    /// Blocks of the file that were read: neighbours are often needed soon after each other.
    blocks: Vec<Block>,
}

/// A part of the file.
#[derive(Debug, Clone, Default)]
struct Block {
    number: u64,
    bytes: Vec<u8>,
}

impl Texts {
    /// Adds a text, which is shorter than 4 GiB. An empty one has no place.
    pub(super) fn push(&mut self, text: &[u8]) -> io::Result<Option<Place>> {
        let Some(length) = u32::try_from(text.len()).ok().and_then(NonZeroU32::new) else {
            return Ok(None);
        };
        if self.newest.len() + text.len() > MEMORY_BYTES {
            self.write_older().map_err(temporary_file_error)?;
        }
        let next = self.written + self.newest.len() as u64 + 1;
        self.newest.extend_from_slice(text);
        Ok(NonZeroU64::new(next).map(|next| Place { next, length }))
    }

    /// Moves the older half to the file.
    fn write_older(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        let older = self.newest.drain(..self.newest.len().div_ceil(2));
        file.write_all(older.as_slice())?;
        self.written += older.len() as u64;
        Ok(())
    }

    /// Appends a text to `text`, or nothing if it has no place.
    pub(super) fn get(&mut self, place: Option<Place>, text: &mut Vec<u8>) -> io::Result<()> {
        let Some(Place { next, length }) = place else { return Ok(()) };
        let (mut at, end) = (next.get() - 1, next.get() - 1 + u64::from(length.get()));
        while at < end.min(self.written) {
            let read = self.read(at).map_err(temporary_file_error)?;
            let (part, _) = read.split_at(read.len().min((end - at) as usize));
            text.extend_from_slice(part);
            at += part.len() as u64;
        }
        let [at, end] = [at, end].map(|place| place.saturating_sub(self.written) as usize);
        text.extend_from_slice(self.newest.get(at..end).expect("the text was added"));
        Ok(())
    }

    /// Returns the bytes from a place in the file to the end of its block.
    fn read(&mut self, at: u64) -> io::Result<&[u8]> {
        let (number, from) = (at / BLOCK_BYTES as u64, (at % BLOCK_BYTES as u64) as usize);
        self.blocks.resize(BLOCKS, Block::default());
        let block = &mut self.blocks[number as usize % BLOCKS];
        // The end of the file was in a block that has grown since.
        if block.number != number || block.bytes.len() <= from {
            let start = number * BLOCK_BYTES as u64;
            let length = (self.written - start).min(BLOCK_BYTES as u64);
            block.bytes.resize(length as usize, 0);
            block.number = u64::MAX;
            if let Some(file) = &self.file {
                file.read_exact_at(&mut block.bytes, start)?;
            }
            block.number = number;
        }
        Ok(block.bytes.get(from..).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_in_memory_and_in_the_file() {
        let mut texts = Texts::default();
        let text = |number: usize| number.to_string().repeat(MEMORY_BYTES / 30);
        let mut all: Vec<String> = (0..40).map(text).collect();
        all.push("y".repeat(2 * MEMORY_BYTES));
        all.push(String::new());
        let places: Vec<_> = all.iter().map(|text| texts.push(text.as_bytes()).unwrap()).collect();
        assert!(texts.written > 0 && texts.newest.len() > MEMORY_BYTES);
        for (place, text) in places.iter().zip(&all) {
            let mut found = b"before".to_vec();
            texts.get(*place, &mut found).unwrap();
            assert!(found == ["before", text].concat().as_bytes(), "{place:?}");
        }
    }

    /// The file ends in a block that was read, and grows.
    #[test]
    fn texts_are_found_while_others_are_added() {
        let mut texts = Texts::default();
        let mut all: Vec<(String, Option<Place>)> = Vec::new();
        // The last texts in the file after each write, and the first ones that were not in it.
        let mut ends = Vec::new();
        for number in 0..9_000_usize {
            let (text, written) = (number.to_string().repeat(150 + number % 40), texts.written);
            let place = texts.push(text.as_bytes()).unwrap();
            all.push((text, place));
            if texts.written > written {
                let is_in_file = |(_, place): &(_, Option<Place>)| {
                    place.is_some_and(|place| place.next.get() <= texts.written)
                };
                let end = all.partition_point(is_in_file);
                ends.extend([end - 1, end, end + 1]);
            }
            for end in &ends {
                let (text, place) = &all[*end];
                let mut found = Vec::new();
                texts.get(*place, &mut found).unwrap();
                assert!(found == text.as_bytes(), "{end} of {number}");
            }
        }
        assert!(ends.len() >= 9 && texts.blocks.len() == BLOCKS);
    }
}
