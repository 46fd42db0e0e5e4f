//! Texts that wait for their duration or operation to end.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

use trace_analyze::input::temporary_file_error;

/// The most bytes in memory.
const MEMORY_BYTES: usize = 4 << 20;

/// The place of a text: its first byte and length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    at: u64,
    length: u32,
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
    /// Adds a text, which is shorter than 4 GiB.
    pub(super) fn push(&mut self, text: &str) -> io::Result<Place> {
        if self.newest.len() + text.len() > MEMORY_BYTES {
            self.write_out().map_err(temporary_file_error)?;
        }
        let at = self.written + self.newest.len() as u64;
        self.newest.extend_from_slice(text.as_bytes());
        Ok(Place { at, length: text.len() as u32 })
    }

    fn write_out(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        file.write_all(&self.newest)?;
        self.written += self.newest.len() as u64;
        self.newest.clear();
        Ok(())
    }

    /// Returns a text.
    pub(super) fn get(&self, Place { at, length }: Place) -> io::Result<String> {
        let mut bytes = vec![0; length as usize];
        match (at.checked_sub(self.written), &self.file) {
            (None, Some(file)) => {
                file.read_exact_at(&mut bytes, at).map_err(temporary_file_error)?;
            }
            (start, _) => {
                let start = start.unwrap_or_default() as usize;
                let range = start..start + bytes.len();
                bytes.copy_from_slice(self.newest.get(range).expect("the text was added"));
            }
        }
        Ok(String::from_utf8(bytes).expect("the text was a string"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_in_memory_and_in_the_file() {
        let mut texts = Texts::default();
        let long = "x".repeat(MEMORY_BYTES / 3);
        let all: Vec<String> = (0..8).map(|number| format!("{number}{long}")).collect();
        let places: Vec<Place> = all.iter().map(|text| texts.push(text).unwrap()).collect();
        assert!(texts.written > 0 && !texts.newest.is_empty());
        let found: Vec<String> = places.iter().map(|place| texts.get(*place).unwrap()).collect();
        assert_eq!(found, all);
        let huge = "y".repeat(2 * MEMORY_BYTES);
        let place = texts.push(&huge).unwrap();
        assert_eq!(texts.get(place).unwrap(), huge);
    }
}
