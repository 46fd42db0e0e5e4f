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

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> u64 {
        let start = sys::map(0, 4096).unwrap();
        // SAFETY: nothing writes to the page but the test.
        unsafe { sys::make_executable(start, 4096) }.unwrap();
        start.expose_provenance() as u64
    }

    fn access(address: u64) -> String {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let line = maps.lines().find(|line| line.starts_with(&format!("{address:x}-"))).unwrap();
        line.split(' ').nth(1).unwrap().to_owned()
    }

    #[test]
    fn text_is_written_in_either_way_and_stays_executable() {
        for way in [Way::Memory, Way::Protection] {
            let page = page();
            let mut text = Text { way, ..Text::open().unwrap() };
            text.write(page + 4090, &[1, 2, 3]).unwrap();
            assert_eq!(text.read(page + 4089..page + 4094).unwrap(), [0, 1, 2, 3, 0]);
            assert_eq!((text.way(), &*access(page)), (way, "r-xp"));
        }
    }

    #[test]
    fn text_is_written_by_mprotect_if_the_kernel_refuses_the_other_way() {
        let page = page();
        let memory = File::open("/proc/self/mem").unwrap();
        let mut text = Text { memory, way: Way::Memory };
        text.write(page, &[7]).unwrap();
        assert_eq!((text.read(page..page + 1).unwrap(), text.way()), (vec![7], Way::Protection));
    }
}
