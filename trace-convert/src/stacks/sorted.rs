//! Durations sorted by thread and time, in a temporary file if there are many.
//!
//! An external merge sort: a run is sorted in memory and written to the file. Reading merges the
//! durations of a thread from all runs.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;

use super::Duration;
use trace_analyze::catalog::{LabelId, ThreadId};
use trace_analyze::input::temporary_file_error;

/// The number of durations in a run.
const RUN: usize = 1 << 17;

/// The size of a duration in the file, in bytes: begin, end, label.
const BYTES: usize = 8 + 8 + 4;

/// The size of the read buffers of all runs, in bytes, and the minimum and maximum for one run.
const READ_BYTES: usize = 4 << 20;
const LEAST_READ: usize = 64 * BYTES;
const MOST_READ: usize = 2048 * BYTES;

/// Durations ordered by thread and time. Outer ones precede inner ones.
#[derive(Debug)]
pub(super) struct Sorted {
    /// The durations that are not in the file.
    waiting: Vec<Duration>,
    capacity: usize,
    runs: Vec<Run>,
    file: Option<File>,
    failed: Option<io::Error>,
}

/// The start of each thread's durations, counted in durations.
#[derive(Debug)]
struct Run {
    begins: Vec<(ThreadId, u64)>,
    end: u64,
}

impl Default for Sorted {
    fn default() -> Self {
        Self::with_capacity(RUN)
    }
}

impl Sorted {
    fn with_capacity(capacity: usize) -> Self {
        Self { waiting: Vec::new(), capacity, runs: Vec::new(), file: None, failed: None }
    }

    /// Adds a duration. Of durations with the same begin and end, the last one is the outer one,
    /// because inner ones end first.
    #[inline]
    pub(super) fn push(&mut self, duration: Duration) {
        if self.waiting.len() >= self.capacity {
            self.write_run();
        }
        self.waiting.push(duration);
    }

    /// Sorts the remaining durations. Returns an error of an earlier [`Sorted::push`].
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.sort();
        match self.failed.take() {
            Some(error) => Err(temporary_file_error(error)),
            None => Ok(()),
        }
    }

    fn sort(&mut self) {
        // The sort is stable.
        self.waiting.reverse();
        self.waiting.sort_by_key(|duration| (duration.thread, duration.sort_key()));
    }

    /// Writes a run to the file.
    #[cold]
    #[inline(never)]
    fn write_run(&mut self) {
        self.sort();
        if self.failed.is_none() {
            self.failed = self.write().err();
        }
        self.waiting.clear();
    }

    fn write(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        let begin = self.runs.last().map_or(0, |run| run.end);
        let mut begins: Vec<(ThreadId, u64)> = Vec::new();
        let mut file = BufWriter::with_capacity(MOST_READ, file);
        for (place, duration) in (begin..).zip(&self.waiting) {
            if begins.last().is_none_or(|(last, _)| *last != duration.thread) {
                begins.push((duration.thread, place));
            }
            duration.write(&mut file)?;
        }
        file.flush()?;
        self.runs.push(Run { begins, end: begin + self.waiting.len() as u64 });
        Ok(())
    }

    /// Calls `look` for each duration of a thread.
    pub(super) fn each(
        &self,
        thread: ThreadId,
        mut look: impl FnMut(Duration) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut parts = self.parts(thread);
        let mut heads = BinaryHeap::with_capacity(parts.len());
        for (number, part) in parts.iter_mut().enumerate() {
            if let Some(duration) = part.next()? {
                // Of equal durations, those of later runs are outer.
                heads.push(Reverse((duration.sort_key(), Reverse(number), duration)));
            }
        }
        while let Some(mut head) = heads.peek_mut() {
            let Reverse((_, Reverse(number), duration)) = *head;
            look(duration)?;
            match parts.get_mut(number).map_or(Ok(None), Part::next)? {
                Some(next) => *head = Reverse((next.sort_key(), Reverse(number), next)),
                None => drop(PeekMut::pop(head)),
            }
        }
        Ok(())
    }

    fn parts(&self, thread: ThreadId) -> Vec<Part<'_>> {
        let ranges: Vec<(u64, u64)> = self.runs.iter().filter_map(|run| run.of(thread)).collect();
        let capacity = READ_BYTES / ranges.len().max(1) / BYTES * BYTES;
        let capacity = capacity.clamp(LEAST_READ, MOST_READ);
        let part = |(at, end)| Part::File {
            thread,
            file: self.file.as_ref(),
            at,
            end,
            capacity,
            read: Vec::new(),
            place: 0,
        };
        let mut parts: Vec<Part<'_>> = ranges.into_iter().map(part).collect();
        let from = self.waiting.partition_point(|duration| duration.thread < thread);
        let to = self.waiting.partition_point(|duration| duration.thread <= thread);
        parts.push(Part::Memory(self.waiting.get(from..to).unwrap_or_default().iter()));
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

/// The durations of a thread in one run.
enum Part<'a> {
    Memory(std::slice::Iter<'a, Duration>),
    /// The durations from `at` to `end` that are not read yet, counted in durations.
    File {
        thread: ThreadId,
        file: Option<&'a File>,
        at: u64,
        end: u64,
        capacity: usize,
        read: Vec<u8>,
        place: usize,
    },
}

impl Part<'_> {
    #[inline]
    fn next(&mut self) -> io::Result<Option<Duration>> {
        match self {
            Self::Memory(waiting) => Ok(waiting.next().copied()),
            Self::File { thread, read, place, .. } => {
                let next = read.get(*place..).and_then(|bytes| Duration::read(bytes, *thread));
                if let Some(duration) = next {
                    *place += BYTES;
                    return Ok(Some(duration));
                }
                self.refill()
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn refill(&mut self) -> io::Result<Option<Duration>> {
        let Self::File { thread, file: Some(file), at, end, capacity, read, place } = self else {
            return Ok(None);
        };
        let count = (*end - *at).min((*capacity / BYTES) as u64);
        read.resize(count as usize * BYTES, 0);
        file.read_exact_at(read, *at * BYTES as u64).map_err(temporary_file_error)?;
        *at += count;
        *place = BYTES;
        Ok(Duration::read(read, *thread))
    }
}

impl Duration {
    /// Returns the sort key of a thread's durations.
    #[inline]
    fn sort_key(&self) -> (u64, Reverse<u64>) {
        (self.begin, Reverse(self.end))
    }

    fn write(&self, file: &mut impl Write) -> io::Result<()> {
        file.write_all(&self.begin.to_le_bytes())?;
        file.write_all(&self.end.to_le_bytes())?;
        file.write_all(&self.label.0.to_le_bytes())
    }

    #[inline]
    fn read(bytes: &[u8], thread: ThreadId) -> Option<Self> {
        let (begin, rest) = bytes.split_first_chunk()?;
        let (end, rest) = rest.split_first_chunk()?;
        let (label, _) = rest.split_first_chunk()?;
        let (begin, end) = (u64::from_le_bytes(*begin), u64::from_le_bytes(*end));
        Some(Self { begin, end, label: LabelId(u32::from_le_bytes(*label)), thread })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(sorted: &Sorted, thread: u32) -> Vec<Duration> {
        let mut durations = Vec::new();
        let look = |duration| {
            durations.push(duration);
            Ok(())
        };
        sorted.each(ThreadId(thread), look).unwrap();
        durations
    }

    proptest! {
        #[test]
        fn runs_are_merged_as_if_all_were_in_memory(
            capacity in 1..20usize,
            pushed in prop::collection::vec((0..4u32, 0..30u64, 0..5u64), 0..200),
        ) {
            let mut sorted = Sorted::with_capacity(capacity);
            let mut expected: Vec<Vec<Duration>> = vec![Vec::new(); 5];
            for (label, (thread, begin, length)) in (0..).zip(pushed) {
                let (end, label, place) = (begin + length, LabelId(label), thread as usize);
                let duration = Duration { begin, end, label, thread: ThreadId(thread) };
                sorted.push(duration);
                expected[place].insert(0, duration);
            }
            sorted.finish().unwrap();
            for (thread, mut expected) in (0..).zip(expected) {
                expected.sort_by_key(Duration::sort_key);
                prop_assert_eq!(of(&sorted, thread), expected);
            }
        }
    }

    #[test]
    fn long_runs_are_read_in_pieces() {
        let mut sorted = Sorted::with_capacity(3 * MOST_READ / BYTES + 1);
        let (label, thread) = (LabelId(7), ThreadId(0));
        let duration = |number| Duration { begin: number, end: number, label, thread };
        let numbers = 0..10 * MOST_READ as u64 / BYTES as u64;
        numbers.clone().for_each(|number| sorted.push(duration(number)));
        sorted.finish().unwrap();
        assert_eq!(sorted.runs.len(), 3);
        assert!(of(&sorted, 0).into_iter().eq(numbers.map(duration)));
    }
}
