//! The buffer of a process that traces itself.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use trace_protocol::buffer::header::{Layout, HEADER_SIZE};
use trace_protocol::buffer::memory::WriteMapping;
use trace_protocol::buffer::saved::SavedMark;
use trace_protocol::file::Directory;
use trace_protocol::socket::MemoryFile;
use trace_protocol::words::as_bytes;

use crate::sys;

/// The buffer's file. It is removed when this is dropped, unless it is kept for `trace recover`.
#[derive(Debug)]
pub(super) struct Buffer {
    directory: Directory,
    name: OsString,
    file: File,
    /// Whether the file has only the buffer's header, because a store to a mapped file could end
    /// the process.
    is_header: bool,
    pub(super) is_kept: bool,
}

impl Buffer {
    pub(super) fn new(directory: Directory, name: OsString, file: File) -> Self {
        Self { directory, name, file, is_header: false, is_kept: false }
    }

    /// Maps the file with its space reserved, or else memory. `note` is called for the latter.
    pub(super) fn map(&mut self, layout: &Layout, note: impl FnOnce()) -> io::Result<WriteMapping> {
        let (file, size) = (&self.file, layout.total_size());
        self.is_header = !sys::reserves_space(file.as_fd())?;
        if self.is_header {
            note();
            file.set_len(HEADER_SIZE as u64)?;
            file.write_all_at(as_bytes(&layout.to_header()), 0)?;
            return map_memory(layout);
        }
        let length = libc::off_t::try_from(size).map_err(|_| io::ErrorKind::InvalidInput)?;
        sys::allocate(file.as_fd(), length)?;
        file.write_all_at(as_bytes(&layout.to_header()), 0)?;
        WriteMapping::map(file.as_fd(), size)
    }

    /// Stores the mark for `trace recover`, if the buffer is not the file itself.
    pub(super) fn store(&self, mark: &SavedMark) -> io::Result<()> {
        if !self.is_header {
            return Ok(());
        }
        let (bytes, offset) = mark.bytes();
        self.file.write_all_at(&bytes, offset)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if !self.is_kept {
            // Best effort: the next process renames a remaining file.
            let _ = self.directory.remove(&self.name);
        }
    }
}

/// Maps a buffer that is lost with the process.
pub(super) fn map_memory(layout: &Layout) -> io::Result<WriteMapping> {
    let memory = MemoryFile::new("trace-buffer", layout.total_size() as u64)?;
    memory.write_at(as_bytes(&layout.to_header()), 0)?;
    WriteMapping::map(memory.as_fd(), layout.total_size())
}
