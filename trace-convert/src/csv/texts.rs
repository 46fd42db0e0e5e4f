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

/// Texts, the newest in memory and the others in a temporary file.
#[derive(Debug, Default)]
pub(super) struct Texts {
    newest: Vec<u8>,
    /// The number of bytes in the file.
    written: u64,
    file: Option<File>,
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
    pub(super) fn get(&self, place: Option<Place>, text: &mut Vec<u8>) -> io::Result<()> {
        let Some(Place { next, length }) = place else { return Ok(()) };
        let (at, length) = (next.get() - 1, length.get() as usize);
        let in_file = self.written.saturating_sub(at).min(length as u64) as usize;
        let start = text.len();
        text.resize(start + in_file, 0);
        if let (1.., Some(file)) = (in_file, &self.file) {
            let free = text.get_mut(start..).unwrap_or_default();
            file.read_exact_at(free, at).map_err(temporary_file_error)?;
        }
        let from = at.saturating_sub(self.written) as usize;
        let newest = self.newest.get(from..from + (length - in_file));
        text.extend_from_slice(newest.expect("the text was added"));
        Ok(())
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
}
