//! Rows sorted by thread and time, in a temporary file if they are large.
//!
//! An external merge sort: a run is sorted in memory and written to the file. Reading merges all
//! runs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::FileExt;

use trace_analyze::catalog::ThreadId;
use trace_analyze::input::temporary_file_error;
use trace_format::ThreadKoids;

/// The size of a run, in bytes.
const RUN_BYTES: usize = 16 << 20;

/// The size of the read buffers of all runs, in bytes, and the minimum and maximum for one run.
const READ_BYTES: usize = 4 << 20;
const LEAST_READ: usize = 4 << 10;
const MOST_READ: usize = 64 << 10;

/// The order of rows: by thread and begin. Outer durations precede inner ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) koids: ThreadKoids,
    /// The provider's thread: one process can have several providers.
    pub(super) thread: ThreadId,
    pub(super) begin: u64,
    pub(super) end: Reverse<u64>,
    /// The number of the row.
    pub(super) number: u64,
}

/// A row of the table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Row {
    pub(super) key: Key,
    /// Whether it is a duration on the thread, which can be in others.
    pub(super) is_duration: bool,
    /// The cells of category and name.
    pub(super) names: String,
    /// The cells from the begin on.
    pub(super) rest: String,
}

impl Row {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.names.len() + self.rest.len()
    }

    fn write(&self, file: &mut impl Write) -> io::Result<()> {
        let Key { koids, thread, begin, end, number } = self.key;
        for word in [koids.process, koids.thread, thread.0.into(), begin, end.0, number] {
            file.write_all(&word.to_le_bytes())?;
        }
        file.write_all(&[self.is_duration.into()])?;
        for text in [&self.names, &self.rest] {
            file.write_all(&(text.len() as u64).to_le_bytes())?;
            file.write_all(text.as_bytes())?;
        }
        Ok(())
    }

    /// Reads a row, or returns `None` at the end of the run.
    fn read(run: &mut impl BufRead) -> io::Result<Option<Self>> {
        if run.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let koids = ThreadKoids::new(word(run)?, word(run)?);
        let (thread, begin) = (ThreadId(word(run)? as u32), word(run)?);
        let (end, number) = (Reverse(word(run)?), word(run)?);
        let mut flag = [0];
        run.read_exact(&mut flag)?;
        let key = Key { koids, thread, begin, end, number };
        Ok(Some(Self { key, is_duration: flag != [0], names: text(run)?, rest: text(run)? }))
    }
}

fn word(run: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    run.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

fn text(run: &mut impl Read) -> io::Result<String> {
    let mut bytes = vec![0; word(run)? as usize];
    run.read_exact(&mut bytes)?;
    Ok(String::from_utf8(bytes).expect("the text was a string"))
}

/// Rows in any order, until they are read.
#[derive(Debug)]
pub(super) struct Sorted {
    /// The rows that are not in the file.
    waiting: Vec<Row>,
    bytes: usize,
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
        Self { waiting: Vec::new(), bytes: 0, run_bytes, runs: Vec::new(), file: None }
    }

    pub(super) fn push(&mut self, row: Row) -> io::Result<()> {
        self.bytes += row.bytes();
        self.waiting.push(row);
        match self.bytes > self.run_bytes {
            true => self.write_run().map_err(temporary_file_error),
            false => Ok(()),
        }
    }

    /// Sorts the remaining rows.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.waiting.sort_unstable();
        match self.runs.is_empty() {
            true => Ok(()),
            false => self.write_run().map_err(temporary_file_error),
        }
    }

    #[cold]
    #[inline(never)]
    fn write_run(&mut self) -> io::Result<()> {
        self.waiting.sort_unstable();
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        let mut writer = BufWriter::with_capacity(MOST_READ, &mut *file);
        self.waiting.iter().try_for_each(|row| row.write(&mut writer))?;
        writer.flush()?;
        drop(writer);
        self.runs.push(io::Seek::stream_position(file)?);
        self.waiting.clear();
        self.bytes = 0;
        Ok(())
    }

    /// Visits all rows in their order, once they are sorted by [`Sorted::finish`].
    pub(super) fn each(&self, mut look: impl FnMut(&Row) -> io::Result<()>) -> io::Result<()> {
        let Some(file) = &self.file else { return self.waiting.iter().try_for_each(look) };
        let size = (READ_BYTES / self.runs.len()).clamp(LEAST_READ, MOST_READ);
        let begins = std::iter::once(0).chain(self.runs.iter().copied());
        let pieces = begins.zip(&self.runs).map(|(at, end)| Piece { file, at, end: *end });
        let mut runs: Vec<_> = pieces.map(|piece| BufReader::with_capacity(size, piece)).collect();
        let mut next = BinaryHeap::new();
        for (number, run) in runs.iter_mut().enumerate() {
            let row = Row::read(run).map_err(temporary_file_error)?;
            next.extend(row.map(|row| Reverse((row, number))));
        }
        while let Some(Reverse((row, number))) = next.pop() {
            look(&row)?;
            let Some(run) = runs.get_mut(number) else { continue };
            let row = Row::read(run).map_err(temporary_file_error)?;
            next.extend(row.map(|row| Reverse((row, number))));
        }
        Ok(())
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

    use super::*;

    proptest! {
        #[test]
        fn runs_are_merged_as_if_all_were_in_memory(
            run_bytes in 1..2000usize,
            rows in prop::collection::vec((0..3u64, 0..2u32, 0..9u64, 0..9u64, ".{0,3}"), 0..60),
        ) {
            let mut sorted = Sorted::with_run(run_bytes);
            let mut expected = Vec::new();
            for (number, (koid, thread, begin, end, text)) in (0..).zip(rows) {
                let (koids, thread) = (ThreadKoids::new(1, koid), ThreadId(thread));
                let key = Key { koids, thread, begin, end: Reverse(end), number };
                let row = Row { key, is_duration: end > 4, names: text.clone(), rest: text };
                sorted.push(row.clone()).unwrap();
                expected.push(row);
            }
            sorted.finish().unwrap();
            expected.sort();
            let mut found = Vec::new();
            sorted.each(|row| { found.push(row.clone()); Ok(()) }).unwrap();
            prop_assert_eq!(found, expected);
        }
    }
}
