//! Rows sorted by thread and time, in a temporary file if they are large.
//!
//! An external merge sort: a run is sorted in memory and written to the file. Reading merges all
//! runs.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, Write};
use std::os::unix::fs::FileExt;

use trace_analyze::input::temporary_file_error;

use super::row::{Key, Row};

/// The size of a run, in bytes.
const RUN_BYTES: usize = 16 << 20;

/// The size of the read buffers of all runs, in bytes, and the minimum and maximum for one run.
const READ_BYTES: usize = 4 << 20;
const LEAST_READ: usize = 4 << 10;
const MOST_READ: usize = 64 << 10;

/// Rows in any order, until they are read.
#[derive(Debug)]
pub(super) struct Sorted {
    /// The rows that are not in the file, encoded.
    waiting: Vec<u8>,
    /// The places of these rows.
    places: Vec<(Key, usize)>,
    run_bytes: usize,
    /// The end of each run in the file.
    runs: Vec<u64>,
    file: Option<File>,
}

impl Default for Sorted {
    fn default() -> Self {
        Self::with_run(RUN_BYTES)
    }
}

impl Sorted {
    fn with_run(run_bytes: usize) -> Self {
        let (waiting, places) = (Vec::new(), Vec::new());
        Self { waiting, places, run_bytes, runs: Vec::new(), file: None }
    }

    pub(super) fn push(&mut self, row: &Row<'_>) -> io::Result<()> {
        self.places.push((row.key, self.waiting.len()));
        row.encode(&mut self.waiting);
        match self.waiting.len() + size_of_val(&*self.places) > self.run_bytes {
            true => self.write_run().map_err(temporary_file_error),
            false => Ok(()),
        }
    }

    /// Sorts the remaining rows.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        match self.runs.is_empty() {
            true => {
                self.sort();
                Ok(())
            }
            false => self.write_run().map_err(temporary_file_error),
        }
    }

    /// Sorts the rows in memory. Most of them are in order already.
    fn sort(&mut self) {
        self.places.sort_by_key(|(key, _)| *key);
    }

    #[cold]
    #[inline(never)]
    fn write_run(&mut self) -> io::Result<()> {
        self.sort();
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        let mut writer = BufWriter::with_capacity(MOST_READ, &mut *file);
        for (_, place) in &self.places {
            let rows = self.waiting.get(*place..).unwrap_or_default();
            writer.write_all(Row::encoded(rows).unwrap_or_default())?;
        }
        writer.flush()?;
        drop(writer);
        self.runs.push(file.stream_position()?);
        self.waiting.clear();
        self.places.clear();
        Ok(())
    }

    /// Visits all rows in their order, once they are sorted by [`Sorted::finish`].
    pub(super) fn each(&self, mut look: impl FnMut(&Row<'_>) -> io::Result<()>) -> io::Result<()> {
        match &self.file {
            Some(file) => self.merge(file, look),
            None => self.places.iter().try_for_each(|(_, place)| {
                let rows = self.waiting.get(*place..).unwrap_or_default();
                Row::decode(rows).map_or(Ok(()), |row| look(&row))
            }),
        }
    }

    fn merge(
        &self,
        file: &File,
        mut look: impl FnMut(&Row<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let size = (READ_BYTES / self.runs.len()).clamp(LEAST_READ, MOST_READ);
        let begins = std::iter::once(0).chain(self.runs.iter().copied());
        let mut next = BinaryHeap::new();
        for (at, end) in begins.zip(&self.runs) {
            let piece = BufReader::with_capacity(size, Piece { file, at, end: *end });
            let mut run = Run { piece, row: Vec::new(), key: None };
            run.advance()?;
            next.push(Reverse(run));
        }
        while let Some(mut top) = next.peek_mut() {
            let Reverse(run) = &mut *top;
            let Some(row) = run.key.and_then(|_| Row::decode(&run.row)) else { break };
            look(&row)?;
            run.advance()?;
        }
        Ok(())
    }
}

/// A run that is read. One without further rows is the last.
struct Run<'a> {
    piece: BufReader<Piece<'a>>,
    /// The next row, encoded.
    row: Vec<u8>,
    key: Option<Key>,
}

impl Run<'_> {
    /// Reads the next row.
    fn advance(&mut self) -> io::Result<()> {
        self.key = match self.piece.fill_buf().map_err(temporary_file_error)?.is_empty() {
            true => None,
            false => {
                Row::read(&mut self.piece, &mut self.row).map_err(temporary_file_error)?;
                Row::decode(&self.row).map(|row| row.key)
            }
        };
        Ok(())
    }

    fn order(&self) -> (bool, Option<Key>) {
        (self.key.is_none(), self.key)
    }
}

impl PartialEq for Run<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order()
    }
}

impl Eq for Run<'_> {}

impl PartialOrd for Run<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Run<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}

/// A part of a file.
struct Piece<'a> {
    file: &'a File,
    at: u64,
    end: u64,
}

impl Read for Piece<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        let length = buffer.len().min(left);
        let read = self.file.read_at(buffer.get_mut(..length).unwrap_or_default(), self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use trace_analyze::catalog::ThreadId;
    use trace_format::ThreadKoids;

    use super::super::row::Kind;
    use super::*;

    proptest! {
        #[test]
        fn runs_are_merged_as_if_all_were_in_memory(
            run_bytes in 1..4000usize,
            rows in prop::collection::vec((0..3u64, 0..2u32, 0..9u64, 0..9u64, ".{0,3}"), 0..60),
        ) {
            let mut sorted = Sorted::with_run(run_bytes);
            let mut expected = Vec::new();
            for (number, (koid, thread, begin, end, text)) in (0..).zip(&rows) {
                let (koids, thread) = (ThreadKoids::new(1, *koid), ThreadId(*thread));
                let key = Key { koids, thread, begin: *begin, end: Reverse(*end), number };
                let own = (*end > 4).then_some(*end);
                let (label, kind, length, id) = (None, Kind::Log, Some(*end), None);
                let row = Row { key, label, kind, length, own, id, text };
                sorted.push(&row).unwrap();
                expected.push(row);
            }
            sorted.finish().unwrap();
            expected.sort_by_key(|row| row.key);
            let mut number = 0;
            sorted.each(|row| {
                assert_eq!(Some(row), expected.get(number));
                number += 1;
                Ok(())
            }).unwrap();
            prop_assert_eq!(number, expected.len());
        }
    }
}
