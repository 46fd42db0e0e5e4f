//! The elements of a thread in one run.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use trace_analyze::catalog::ThreadId;
use trace_analyze::input::temporary_file_error;

use super::Element;

/// The elements of a thread in one run.
pub(super) enum Part<'a, T> {
    Memory(std::slice::Iter<'a, T>),
    File {
        file: &'a File,
        thread: ThreadId,
        /// The bytes that are not read yet.
        rest: Range<u64>,
        /// The number of bytes that are read at once.
        capacity: usize,
        read: Vec<u8>,
        /// The next element in `read`.
        place: usize,
    },
}

impl<'a, T: Element> Part<'a, T> {
    pub(super) fn of_file(
        file: &'a File,
        thread: ThreadId,
        rest: Range<u64>,
        capacity: usize,
    ) -> Self {
        Self::File { file, thread, rest, capacity, read: Vec::new(), place: 0 }
    }

    #[inline]
    pub(super) fn next(&mut self) -> io::Result<Option<T>> {
        loop {
            match self {
                Self::Memory(waiting) => return Ok(waiting.next().cloned()),
                Self::File { thread, read, place, .. } => {
                    let bytes = read.get(*place..).unwrap_or_default();
                    if let Some((element, size)) = T::read(bytes, *thread) {
                        *place += size;
                        return Ok(Some(element));
                    }
                }
            }
            if !self.refill()? {
                return Ok(None);
            }
        }
    }

    /// Reads further bytes, and returns whether there are any.
    #[cold]
    #[inline(never)]
    fn refill(&mut self) -> io::Result<bool> {
        let Self::File { file, rest, capacity, read, place, .. } = self else { return Ok(false) };
        read.drain(..std::mem::take(place).min(read.len()));
        let count = (rest.end - rest.start).min(*capacity as u64);
        let begun = read.len();
        read.resize(begun + count as usize, 0);
        let free = read.get_mut(begun..).unwrap_or_default();
        file.read_exact_at(free, rest.start).map_err(temporary_file_error)?;
        rest.start += count;
        Ok(count > 0)
    }
}
