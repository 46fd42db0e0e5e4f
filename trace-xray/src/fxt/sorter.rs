//! Rows of threads in the order of time.
//!
//! Rows are sorted in memory. If there are many, sorted runs of them go to a temporary file, and
//! are merged for each thread. Memory has the rows of one run, and a [`Segment`] for each thread of
//! each run.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;

use super::marks::Ending;
use crate::layout::{FUNCTION_BYTES, MAX_FUNCTION_ID, METADATA_BYTES};
use crate::record::FunctionId;

/// The rows that are sorted in memory, 40 bytes each.
pub(super) const MAX_ROWS: usize = 1 << 19;

/// The rows of a run that are read at once.
const READ_ROWS: u64 = 128;

const ROW_BYTES: usize = 32;

/// What a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Call(FunctionId, Ending),
    Custom,
    /// A typed event with its type.
    Typed(u16),
    /// From this time on the thread is on this CPU.
    Cpu(u16),
}

/// A call or an event, with the place of its arguments or payload in the file of payloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) begin: u64,
    /// The end of a call; [`OPEN`] if it has none.
    pub(super) end: u64,
    pub(super) kind: Kind,
    pub(super) offset: u64,
    pub(super) bytes: u32,
}

/// The end of a call that has none.
pub(super) const OPEN: u64 = u64::MAX;

/// The order of a row: at one time, a CPU comes first, then outer calls, and events last.
type Key = (u64, u8, Reverse<u64>);

/// The endings of calls in the bytes of a row.
const ENDINGS: [Ending; 3] = [Ending::Exit, Ending::TailExit, Ending::Unwound];

impl Kind {
    /// Returns the kind as a number: 28 bits are that of a function, a CPU or a type.
    fn to_bits(self) -> u32 {
        match self {
            Self::Custom => 0,
            Self::Typed(number) => 1 << 28 | u32::from(number),
            Self::Cpu(number) => 2 << 28 | u32::from(number),
            Self::Call(function, ending) => (3 + ending as u32) << 28 | function.number(),
        }
    }

    fn from_bits(bits: u32) -> Self {
        let number = bits & MAX_FUNCTION_ID;
        match bits >> 28 {
            1 => Self::Typed(number as u16),
            2 => Self::Cpu(number as u16),
            tag => {
                let ending = tag.checked_sub(3).and_then(|at| ENDINGS.get(at as usize));
                let function = FunctionId::new(number);
                function.zip(ending).map_or(Self::Custom, |(id, ending)| Self::Call(id, *ending))
            }
        }
    }
}

impl Row {
    /// Returns the most bytes of its records: each may have a time or CPU before it, and a call
    /// argument has as many again.
    pub(super) fn most_bytes(&self) -> u64 {
        let (records, payload) = match self.kind {
            Kind::Call(..) => (2 * FUNCTION_BYTES + 2 * METADATA_BYTES, 2 * u64::from(self.bytes)),
            _ => (2 * METADATA_BYTES, self.bytes.into()),
        };
        records as u64 + payload
    }

    fn key(&self) -> Key {
        let class = match self.kind {
            Kind::Cpu(_) => 0,
            Kind::Call(..) => 1,
            Kind::Custom | Kind::Typed(_) => 2,
        };
        (self.begin, class, Reverse(self.end))
    }

    fn to_bytes(self) -> [u8; ROW_BYTES] {
        let last = u64::from(self.kind.to_bits()) << 32 | u64::from(self.bytes);
        let words = [self.begin, self.end, self.offset, last];
        let mut bytes = [0; ROW_BYTES];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        let mut words = bytes
            .chunks_exact(8)
            .map(|word| word.try_into().map(u64::from_le_bytes).unwrap_or_default());
        let mut word = || words.next().unwrap_or_default();
        let (begin, end, offset, last) = (word(), word(), word(), word());
        let kind = Kind::from_bits((last >> 32) as u32);
        Self { begin, end, kind, offset, bytes: last as u32 }
    }
}

/// The rows of one thread in a run.
#[derive(Debug, Clone, Copy)]
struct Segment {
    thread: u32,
    offset: u64,
    rows: u64,
}

/// Collects rows in any order.
#[derive(Debug)]
pub(super) struct Sorter {
    rows: Vec<(u32, Row)>,
    max_rows: usize,
    file: Option<BufWriter<File>>,
    bytes: u64,
    /// The segments of each run, in the order of threads.
    runs: Vec<Vec<Segment>>,
}

impl Sorter {
    pub(super) fn new(max_rows: usize) -> Self {
        Self { rows: Vec::new(), max_rows, file: None, bytes: 0, runs: Vec::new() }
    }

    pub(super) fn push(&mut self, thread: u32, row: Row) -> io::Result<()> {
        if self.rows.len() >= self.max_rows {
            self.write_run()?;
        }
        self.rows.push((thread, row));
        Ok(())
    }

    /// Writes the rows in memory as a run.
    fn write_run(&mut self) -> io::Result<()> {
        self.sort();
        let file = match self.file.take() {
            Some(file) => file,
            None => BufWriter::new(tempfile::tempfile()?),
        };
        let file = self.file.insert(file);
        let mut segments: Vec<Segment> = Vec::new();
        for (thread, row) in self.rows.drain(..) {
            match segments.last_mut().filter(|last| last.thread == thread) {
                Some(last) => last.rows += 1,
                None => segments.push(Segment { thread, offset: self.bytes, rows: 1 }),
            }
            file.write_all(&row.to_bytes())?;
            self.bytes += ROW_BYTES as u64;
        }
        self.runs.push(segments);
        Ok(())
    }

    /// Sorts the rows in memory. Equal ones stay in their order.
    fn sort(&mut self) {
        self.rows.sort_by_key(|(thread, row)| (*thread, row.key()));
    }

    pub(super) fn finish(mut self) -> io::Result<Sorted> {
        self.sort();
        let file = self.file.map(|file| file.into_inner().map_err(io::IntoInnerError::into_error));
        Ok(Sorted { rows: self.rows, file: file.transpose()?, runs: self.runs })
    }
}

/// All rows. The last ones are in memory.
#[derive(Debug)]
pub(super) struct Sorted {
    rows: Vec<(u32, Row)>,
    file: Option<File>,
    runs: Vec<Vec<Segment>>,
}

impl Sorted {
    /// Returns the rows of one thread, which may have several numbers, in the order of time.
    pub(super) fn threads(&self, numbers: &[u32]) -> io::Result<ThreadRows<'_>> {
        ThreadRows::new(numbers.iter().flat_map(|number| self.sources(*number)).collect())
    }

    fn sources(&self, thread: u32) -> Vec<Source<'_>> {
        let mut sources = Vec::new();
        for run in &self.runs {
            let place = run.binary_search_by_key(&thread, |segment| segment.thread);
            if let (Some(file), Some(segment)) = (&self.file, place.ok().and_then(|it| run.get(it)))
            {
                sources.push(Source::File(FileRows::new(file, *segment)));
            }
        }
        let from = self.rows.partition_point(|(of, _)| *of < thread);
        let to = self.rows.partition_point(|(of, _)| *of <= thread);
        sources.push(Source::Memory(self.rows.get(from..to).unwrap_or_default().iter()));
        sources
    }
}

/// The rows of a thread in one run.
#[derive(Debug)]
enum Source<'a> {
    File(FileRows<'a>),
    Memory(std::slice::Iter<'a, (u32, Row)>),
}

impl Source<'_> {
    fn next(&mut self) -> io::Result<Option<Row>> {
        match self {
            Self::File(rows) => rows.next(),
            Self::Memory(rows) => Ok(rows.next().map(|(_, row)| *row)),
        }
    }
}

#[derive(Debug)]
struct FileRows<'a> {
    file: &'a File,
    offset: u64,
    rows: u64,
    buffer: Vec<u8>,
    /// The bytes of the buffer that are consumed.
    used: usize,
}

impl<'a> FileRows<'a> {
    fn new(file: &'a File, Segment { offset, rows, .. }: Segment) -> Self {
        Self { file, offset, rows, buffer: Vec::new(), used: 0 }
    }

    fn next(&mut self) -> io::Result<Option<Row>> {
        if self.used == self.buffer.len() {
            if self.rows == 0 {
                return Ok(None);
            }
            let rows = self.rows.min(READ_ROWS);
            self.buffer.resize(rows as usize * ROW_BYTES, 0);
            self.file.read_exact_at(&mut self.buffer, self.offset)?;
            self.offset += self.buffer.len() as u64;
            self.rows -= rows;
            self.used = 0;
        }
        let row = self.buffer.get(self.used..self.used + ROW_BYTES).map(Row::from_bytes);
        self.used += ROW_BYTES;
        Ok(row)
    }
}

/// The next row of a source. Of equal rows, that of the first source comes first.
#[derive(Debug)]
struct Head {
    row: Row,
    source: usize,
}

impl Head {
    fn key(&self) -> Reverse<(Key, usize)> {
        Reverse((self.row.key(), self.source))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Head {}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// The rows of a thread in the order of time.
#[derive(Debug)]
pub(super) struct ThreadRows<'a> {
    sources: Vec<Source<'a>>,
    heads: BinaryHeap<Head>,
}

impl<'a> ThreadRows<'a> {
    fn new(mut sources: Vec<Source<'a>>) -> io::Result<Self> {
        let mut heads = BinaryHeap::new();
        for (source, rows) in sources.iter_mut().enumerate() {
            heads.extend(rows.next()?.map(|row| Head { row, source }));
        }
        Ok(Self { sources, heads })
    }

    /// Returns the next row without consuming it.
    pub(super) fn peek(&self) -> Option<Row> {
        self.heads.peek().map(|head| head.row)
    }

    pub(super) fn next(&mut self) -> io::Result<Option<Row>> {
        let Some(mut head) = self.heads.peek_mut() else { return Ok(None) };
        let row = head.row;
        let Some(source) = self.sources.get_mut(head.source) else { return Ok(None) };
        match source.next()? {
            Some(next) => head.row = next,
            None => drop(PeekMut::pop(head)),
        }
        Ok(Some(row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(begin: u64, end: u64, function: u32) -> Row {
        let ending = ENDINGS[function as usize % 3];
        let kind = match function {
            0 => [Kind::Custom, Kind::Typed(7), Kind::Cpu(65_535)][begin as usize % 3],
            number => Kind::Call(FunctionId::new(number).unwrap(), ending),
        };
        Row { begin, end, kind, offset: begin * 7, bytes: end as u32 }
    }

    fn rows(sorted: &Sorted, thread: u32) -> Vec<Row> {
        let mut rows = sorted.threads(&[thread]).unwrap();
        let mut all = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            all.push(row);
        }
        all
    }

    #[test]
    fn runs_in_a_file_are_merged_as_one_in_memory() {
        let mut random = 1_u64;
        let mut next = |limit| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (random >> 33) % limit
        };
        let all: Vec<_> = (0..5000)
            .map(|number| (next(5) as u32 * 2, row(next(50), next(80), number % 3)))
            .collect();
        let sorted = |max_rows| {
            let mut sorter = Sorter::new(max_rows);
            all.iter().for_each(|(thread, row)| sorter.push(*thread, *row).unwrap());
            sorter.finish().unwrap()
        };
        let (memory, file) = (sorted(10_000), sorted(300));
        assert_eq!((memory.runs.len(), file.runs.len()), (0, 16));
        for thread in 0..10 {
            assert!(rows(&file, thread) == rows(&memory, thread), "thread {thread}");
            let expected = all.iter().filter(|(of, _)| *of == thread).count();
            assert_eq!(rows(&file, thread).len(), expected);
            assert!(rows(&file, thread).is_sorted_by_key(Row::key));
        }
    }

    #[test]
    fn outer_calls_come_first_and_events_last() {
        let mut sorter = Sorter::new(2);
        let cpu = Row { kind: Kind::Cpu(1), ..row(5, 5, 0) };
        let typed = Row { kind: Kind::Typed(1), ..row(5, 5, 0) };
        let calls = [row(5, 8, 1), row(5, OPEN, 2), row(5, 9, 3)];
        let all = [&[typed], &calls[..], &[cpu, row(3, 3, 0)]].concat();
        all.iter().for_each(|row| sorter.push(1, *row).unwrap());
        let rows = rows(&sorter.finish().unwrap(), 1);
        let bits: Vec<_> = rows.iter().map(|row| row.kind.to_bits() & MAX_FUNCTION_ID).collect();
        assert_eq!(bits, [0, 1, 2, 3, 1, 1]);
        assert!(rows[1] == cpu && rows[5] == typed);
    }
}
