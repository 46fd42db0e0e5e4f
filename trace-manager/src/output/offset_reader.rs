//! Reading a file from an offset.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

/// Reads a file from an offset, and leaves the position of its descriptor alone. An archive is read
/// this way while it is written.
#[derive(Debug)]
pub(crate) struct OffsetReader<'a> {
    file: &'a File,
    offset: u64,
}

impl<'a> OffsetReader<'a> {
    /// Starts at `offset`, in bytes.
    pub(crate) fn new(file: &'a File, offset: u64) -> Self {
        Self { file, offset }
    }
}

impl Read for OffsetReader<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(bytes, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}
