//! Reading a file from a position of one's own.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

/// Reads a file whose own position is another's, such as that of an archive that is being written.
#[derive(Debug)]
pub(crate) struct OffsetReader<'a> {
    file: &'a File,
    offset: u64,
}

impl<'a> OffsetReader<'a> {
    /// Starts reading at a byte of the file.
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
