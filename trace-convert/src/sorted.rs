//! Elements sorted by thread and time, in a temporary file if there are many.
//!
//! An external merge sort: a run is sorted in memory and written to the file. Reading merges the
//! elements of a thread from all runs.

mod part;

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, Write};

use trace_analyze::catalog::ThreadId;
use trace_analyze::input::temporary_file_error;

use part::Part;

/// The size of the read buffers of all runs, in bytes, and the minimum and maximum for one run.
const READ_BYTES: usize = 4 << 20;
const LEAST_READ: usize = 1 << 10;
const MOST_READ: usize = 40 << 10;

/// An element that can be in a file.
pub(crate) trait Element: Sized {
    /// The order of a thread's elements that begin together.
    type Order: Ord;

    fn thread(&self) -> ThreadId;

    fn begin(&self) -> u64;

    fn order(&self) -> Self::Order;

    /// Returns the size of what it owns outside of itself, in bytes.
    fn owned_bytes(&self) -> usize;

    /// Appends its bytes, without the thread.
    fn write(&self, bytes: &mut Vec<u8>);

    /// Reads the element at the start of `bytes`. Returns it with its size, or `None` if `bytes`
    /// end within it.
    fn read(bytes: &[u8], thread: ThreadId) -> Option<(Self, usize)>;
}

/// Elements in any order, until they are read.
#[derive(Debug)]
pub(crate) struct Sorted<T> {
    /// The elements that are not in the file.
    waiting: Vec<T>,
    /// Their size in bytes.
    bytes: usize,
    run_bytes: usize,
    runs: Vec<Run>,
    file: Option<File>,
}

/// The start of each thread's elements in the file, and their end.
#[derive(Debug)]
struct Run {
    begins: Vec<(ThreadId, u64)>,
    end: u64,
}

impl<T: Element> Sorted<T> {
    /// Creates a store with at most `run_bytes` in memory while elements are added.
    pub(crate) fn new(run_bytes: usize) -> Self {
        Self { waiting: Vec::new(), bytes: 0, run_bytes, runs: Vec::new(), file: None }
    }

    /// Adds an element. Of equal ones, the last one comes first.
    #[inline]
    pub(crate) fn push(&mut self, element: T) -> io::Result<()> {
        self.bytes += size_of::<T>() + element.owned_bytes();
        self.waiting.push(element);
        match self.bytes >= self.run_bytes {
            true => self.write_run().map_err(temporary_file_error),
            false => Ok(()),
        }
    }

    /// Sorts the remaining elements.
    pub(crate) fn finish(&mut self) {
        self.sort();
        self.waiting.shrink_to_fit();
    }

    fn sort(&mut self) {
        // One number is compared without a branch, which could not be predicted.
        let time = |element: &T| u128::from(element.thread().0) << 64 | u128::from(element.begin());
        // The sort is stable.
        self.waiting.reverse();
        self.waiting.sort_by_key(|element| (time(element), element.order()));
    }

    /// Writes a run to the file.
    #[cold]
    #[inline(never)]
    fn write_run(&mut self) -> io::Result<()> {
        self.sort();
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        let mut written = self.runs.last().map_or(0, |run| run.end);
        let (mut begins, mut bytes) = (Vec::<(ThreadId, u64)>::new(), Vec::new());
        for element in self.waiting.drain(..) {
            if begins.last().is_none_or(|(last, _)| *last != element.thread()) {
                begins.push((element.thread(), written + bytes.len() as u64));
            }
            element.write(&mut bytes);
            if bytes.len() >= MOST_READ {
                file.write_all(&bytes)?;
                written += bytes.len() as u64;
                bytes.clear();
            }
        }
        file.write_all(&bytes)?;
        self.runs.push(Run { begins, end: written + bytes.len() as u64 });
        self.bytes = 0;
        Ok(())
    }

    /// Calls `look` for each element of a thread in order, after [`Sorted::finish`].
    pub(crate) fn each(
        &self,
        thread: ThreadId,
        mut look: impl FnMut(&T) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut parts = self.parts(thread);
        let mut order = BinaryHeap::with_capacity(parts.len());
        for (number, part) in parts.iter_mut().enumerate() {
            part.advance()?;
            // Of equal elements, those of later runs are first.
            order.extend(
                part.next().map(|next| Reverse((next.begin(), next.order(), Reverse(number)))),
            );
        }
        while let Some(mut first) = order.peek_mut() {
            let Reverse((.., Reverse(number))) = *first;
            let Some(part) = parts.get_mut(number) else { break };
            part.next().map_or(Ok(()), &mut look)?;
            part.advance()?;
            match part.next() {
                Some(next) => *first = Reverse((next.begin(), next.order(), Reverse(number))),
                None => drop(PeekMut::pop(first)),
            }
        }
        Ok(())
    }

    fn parts(&self, thread: ThreadId) -> Vec<Part<'_, T>> {
        let ranges: Vec<(u64, u64)> = self.runs.iter().filter_map(|run| run.of(thread)).collect();
        let capacity = (READ_BYTES / ranges.len().max(1)).clamp(LEAST_READ, MOST_READ);
        let file = self.file.as_ref();
        let in_file = |(at, end)| file.map(|file| Part::of_file(file, thread, at..end, capacity));
        let mut parts: Vec<Part<'_, T>> = ranges.into_iter().filter_map(in_file).collect();
        let from = self.waiting.partition_point(|element| element.thread() < thread);
        let to = self.waiting.partition_point(|element| element.thread() <= thread);
        parts.push(Part::in_memory(self.waiting.get(from..to).unwrap_or_default()));
        parts
    }
}

impl Run {
    fn of(&self, thread: ThreadId) -> Option<(u64, u64)> {
        let place = self.begins.binary_search_by_key(&thread, |(of, _)| *of).ok()?;
        let (_, begin) = *self.begins.get(place)?;
        Some((begin, self.begins.get(place + 1).map_or(self.end, |(_, end)| *end)))
    }
}

#[cfg(test)]
mod tests;
