//! The elements of a thread in one run.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use trace_analyze::catalog::ThreadId;
use trace_analyze::input::temporary_file_error;

use super::Element;

/// The elements of a thread in one run. The first one is next after [`Part::advance`].
pub(super) enum Part<'a, T> {
    Memory { next: Option<&'a T>, rest: std::slice::Iter<'a, T> },
    File { next: Option<T>, rest: Rest<'a> },
}

/// A part of the file.
pub(super) struct Rest<'a> {
    file: &'a File,
    thread: ThreadId,
    /// The bytes that are not read yet.
    range: Range<u64>,
    /// The number of bytes that are read at once.
    capacity: usize,
    read: Vec<u8>,
    /// The next element in `read`.
    place: usize,
}

impl<'a, T: Element> Part<'a, T> {
    pub(super) fn in_memory(elements: &'a [T]) -> Self {
        Self::Memory { next: None, rest: elements.iter() }
    }

    pub(super) fn of_file(
        file: &'a File,
        thread: ThreadId,
        range: Range<u64>,
        capacity: usize,
    ) -> Self {
        let rest = Rest { file, thread, range, capacity, read: Vec::new(), place: 0 };
        Self::File { next: None, rest }
    }

    /// Returns the next element.
    #[inline]
    pub(super) fn next(&self) -> Option<&T> {
        match self {
            Self::Memory { next, .. } => *next,
            Self::File { next, .. } => next.as_ref(),
        }
    }

    /// Moves to the element after the next one.
    #[inline]
    pub(super) fn advance(&mut self) -> io::Result<()> {
        match self {
            Self::Memory { next, rest } => *next = rest.next(),
            Self::File { next, rest } => *next = rest.element()?,
        }
        Ok(())
    }
}

impl Rest<'_> {
    /// Removes and returns the first element.
    #[inline]
    fn element<T: Element>(&mut self) -> io::Result<Option<T>> {
        loop {
            let bytes = self.read.get(self.place..).unwrap_or_default();
            if let Some((element, size)) = T::read(bytes, self.thread) {
                self.place += size;
                return Ok(Some(element));
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
        self.read.drain(..std::mem::take(&mut self.place).min(self.read.len()));
        let count = (self.range.end - self.range.start).min(self.capacity as u64);
        let begun = self.read.len();
        self.read.resize(begun + count as usize, 0);
        let free = self.read.get_mut(begun..).unwrap_or_default();
        self.file.read_exact_at(free, self.range.start).map_err(temporary_file_error)?;
        self.range.start += count;
        Ok(count > 0)
    }
}
