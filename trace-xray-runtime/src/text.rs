//! Access to program text: by `/proc/self/mem`, or, where the kernel does not permit that, by
//! making pages writable.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use crate::sys;

/// How program text was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// By `/proc/self/mem`: no page is ever writable.
    Memory,
    /// By mprotect(2): a page is writable and executable while it is written.
    Protection,
}

impl Way {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Memory => "/proc/self/mem",
            Self::Protection => "mprotect: pages were writable and executable",
        }
    }
}

/// The text of this process.
///
/// It is opened for each use: a forked child that inherits the file would write to its parent.
#[derive(Debug)]
pub(crate) struct Text {
    memory: File,
    way: Way,
}

impl Text {
    /// Opens the text.
    ///
    /// # Errors
    /// `/proc` is missing.
    pub(crate) fn open() -> io::Result<Self> {
        let path = "/proc/self/mem";
        match OpenOptions::new().read(true).write(true).open(path) {
            Ok(memory) => Ok(Self { memory, way: Way::Memory }),
            Err(_) => Ok(Self { memory: File::open(path)?, way: Way::Protection }),
        }
    }

    /// Returns how text was written last.
    pub(crate) fn way(&self) -> Way {
        self.way
    }

    /// Reads a range of addresses.
    ///
    /// # Errors
    /// It is not mapped.
    pub(crate) fn read(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let length = usize::try_from(range.end.saturating_sub(range.start));
        let mut bytes = vec![0; length.map_err(io::Error::other)?];
        self.memory.read_exact_at(&mut bytes, range.start)?;
        Ok(bytes)
    }

    /// Writes bytes of a sled. The kernel copies the page before the first write to it.
    ///
    /// # Errors
    /// It is not mapped, or neither way is permitted.
    pub(crate) fn write(&mut self, address: u64, bytes: &[u8]) -> io::Result<()> {
        if self.way == Way::Memory {
            match self.memory.write_all_at(bytes, address) {
                Ok(()) => return Ok(()),
                Err(_) => self.way = Way::Protection,
            }
        }
        // SAFETY: sleds are inside of a segment of text, as `Object::contains` has found, whose object
        // is loaded; the order of writes is that of `sled`.
        unsafe { sys::write_text(address as usize, bytes) }
    }
}
