//! Archives as logs.
//!
//! A duration is a function, with an id for its category and name. Integers and pointers among its
//! arguments are call arguments if there are no others. Events that were records of a log become
//! these records (`marks`). Any other record is a custom event with the words of the record. Its
//! strings and threads are inline.
//!
//! A log has the records of a thread in the order of time, an archive need not. So
//! [`Archive::read`] sorts them, in temporary files if there are many. Memory grows with:
//!
//! - names, threads and open durations,
//! - the threads of each half a million records (24 bytes each),
//! - the records before the first time of the archive (40 bytes each).

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::time::Duration;

use trace_analyze::Damage;
use trace_format::{Reader, TickRate};

use super::error::ExportError;
use super::merge::{Counts, Merge};
use super::process::{Process, BUFFER_BYTES};
use super::records::Records;
use super::sorter::{Row, Sorted, MAX_ROWS};
use super::threads::Thread;
use crate::layout::{Version, UNKNOWN_CPU};
use crate::map;
use crate::record::{Format, FunctionId, Header};
use crate::write::{Anchor, Log, WriteError, MIN_BUFFER_BYTES};

/// Options of logs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Leaves out shorter calls in which nothing else was recorded, as the threshold of LLVM's
    /// runtime does.
    pub min_duration: Duration,
    /// The version; 5 by default. Logs of an earlier one have no typed events: they are custom
    /// events without a type.
    pub version: Version,
}

/// The result of writing a log.
#[derive(Debug, Default)]
pub struct Exported {
    /// The map that names the functions, in ELF.
    pub map: Vec<u8>,
    /// Calls of functions.
    pub calls: u64,
    /// Custom events.
    pub events: u64,
    /// Calls without an end.
    pub open: u64,
    /// Calls that end with their caller, because they end after it in the archive.
    pub cut: u64,
    /// Calls that are left out because they are shorter than [`Options::min_duration`].
    pub short: u64,
    /// Records that do not fit into a custom event, in all processes.
    pub too_long: u64,
    /// Ends without a begin, skipped, in all processes.
    pub unpaired: u64,
    /// Missing and unreadable data of the archive.
    pub damage: Damage,
}

/// Writes all processes of an archive to one log, with the default options.
///
/// # Errors
///
/// The input is not an archive, or reading or writing failed.
pub fn export<R: Read, W: Write>(reader: Reader<R>, output: W) -> Result<Exported, ExportError> {
    export_with(reader, &Options::default(), output)
}

/// Writes all processes of an archive to one log.
///
/// # Errors
///
/// The input is not an archive, or reading or writing failed.
pub fn export_with<R: Read, W: Write>(
    reader: Reader<R>,
    options: &Options,
    output: W,
) -> Result<Exported, ExportError> {
    let archive = Archive::read(reader)?;
    let mut exported = archive.write(None, options, output)?;
    exported.damage = archive.damage;
    Ok(exported)
}

/// The calls and events of an archive in the order of time.
#[derive(Debug)]
pub struct Archive {
    threads: Vec<Thread>,
    /// The numbers of the threads with records, by the process in whose log they are.
    logs: BTreeMap<Process, Vec<u32>>,
    /// The names of functions by their number - 1.
    names: Vec<String>,
    rows: Sorted,
    payloads: File,
    rate: TickRate,
    anchor: Anchor,
    too_long: u64,
    unpaired: u64,
    /// Missing and unreadable data of the archive.
    pub damage: Damage,
}

impl Archive {
    /// Reads an archive to its end.
    ///
    /// # Errors
    ///
    /// The input is not an archive, or reading it or writing a temporary file failed.
    pub fn read<R: Read>(reader: Reader<R>) -> Result<Self, ExportError> {
        Self::read_with(reader, MAX_ROWS)
    }

    /// Reads an archive, and sorts `max_rows` calls and events at once.
    pub(super) fn read_with<R: Read>(
        reader: Reader<R>,
        max_rows: usize,
    ) -> Result<Self, ExportError> {
        let mut records = Records::new(max_rows)?;
        let damage = Damage::of_each(reader, |item| records.item(item))?;
        let records = records.finish()?;
        Ok(Self {
            logs: records.logs,
            threads: records.threads,
            names: records.names,
            rows: records.rows,
            payloads: records.payloads,
            rate: records.rate,
            anchor: records.anchor,
            too_long: records.too_long,
            unpaired: records.unpaired,
            damage,
        })
    }

    /// Returns the recorded processes that have records. Records of other processes, such as those
    /// of the kernel, belong to the process that recorded them.
    pub fn processes(&self) -> impl Iterator<Item = &Process> {
        self.logs.keys()
    }

    /// Writes the log of a process, or one log of all processes.
    ///
    /// # Errors
    ///
    /// Writing, or reading a temporary file failed.
    pub fn write<W: Write>(
        &self,
        process: Option<&Process>,
        options: &Options,
        output: W,
    ) -> Result<Exported, ExportError> {
        let map_id = self.map_id(process, options);
        let mut log = Log::new(output, self.header(options.version, map_id), self.anchor)?;
        let mut functions = Functions::default();
        let counts = {
            let mut merge = Merge {
                log: &mut log,
                threshold: ticks_of(options.min_duration, self.rate),
                read: &|row| self.read_payload(row),
                function: &mut |function| functions.id(function),
                cpu: UNKNOWN_CPU,
                version: options.version,
                counts: Counts::default(),
            };
            let lives = self.lives_of(process);
            let start = lives.first().filter(|_| lives.len() > 1).map(|first| first.start);
            for life in lives {
                let [process, thread] = life.ids;
                let rows = self.rows.threads(&life.numbers).map_err(ExportError::Temporary)?;
                merge.thread(merge.log.thread(process, thread), rows, start)?;
            }
            merge.counts
        };
        log.into_inner().flush().map_err(WriteError::from)?;
        let names = functions.names(&self.names);
        let map = map::write(&names, Some(&map_id.to_be_bytes())).map_err(ExportError::Map)?;
        let Counts { calls, open, cut, short, events } = counts;
        let Self { too_long, unpaired, .. } = *self;
        let damage = Damage::default();
        Ok(Exported { map, calls, events, open, cut, short, too_long, unpaired, damage })
    }

    /// Returns the threads of a log in the order of their starts.
    fn lives_of(&self, process: Option<&Process>) -> Vec<Life> {
        let logs = match process {
            Some(process) => self.logs.range(process..=process),
            None => self.logs.range::<Process, _>(..),
        };
        let mut lives: Vec<_> = logs.flat_map(|(_, numbers)| self.lives(numbers)).collect();
        lives.sort_by_key(|life| (life.start, life.numbers.first().copied()));
        lives
    }

    /// Returns the threads with these numbers, by their koids and starts.
    fn lives(&self, numbers: &[u32]) -> Vec<Life> {
        let numbers = numbers.iter();
        let mut threads: Vec<_> = numbers
            .filter_map(|number| Some((*number, self.threads.get(*number as usize)?)))
            .collect();
        threads.sort_by_key(|(number, thread)| (thread.key(), thread.start, *number));
        let mut lives: Vec<(_, Life)> = Vec::new();
        for (number, thread) in threads {
            let key = thread.key();
            match lives.last_mut().filter(|(of, life)| *of == key && thread.start < life.last) {
                Some((_, life)) => life.add(number, thread),
                None => lives.push((key, Life::new(number, thread))),
            }
        }
        lives.into_iter().map(|(_, life)| life).collect()
    }

    /// Returns the id of a log's map. It is the same if the log is written again, so that functions
    /// have the same ids.
    fn map_id(&self, process: Option<&Process>, options: &Options) -> u64 {
        let mut hasher = DefaultHasher::new();
        (process, options.min_duration, &self.names).hash(&mut hasher);
        for thread in &self.threads {
            (thread.key(), thread.start, thread.last, thread.bytes).hash(&mut hasher);
        }
        hasher.finish().max(1)
    }

    fn header(&self, version: Version, map_id: u64) -> Header {
        Header {
            format: Format::little(version),
            constant_tsc: true,
            nonstop_tsc: true,
            cycle_frequency: self.rate.ticks_per_second(),
            buffer_size: if version.has_extents() { BUFFER_BYTES } else { self.filled_bytes() },
            map_id,
        }
    }

    /// Returns the size of thread buffers that are filled: a quarter of what the largest thread
    /// needs, so that a small thread takes no more than that, and no thread has many of them.
    fn filled_bytes(&self) -> u64 {
        let largest = self.threads.iter().map(|thread| thread.bytes).max().unwrap_or(0) / 4;
        let record = self.threads.iter().map(|thread| thread.largest).max().unwrap_or(0);
        let least = (record + 2 * MIN_BUFFER_BYTES).min(BUFFER_BYTES);
        largest.clamp(least, BUFFER_BYTES).next_multiple_of(16)
    }

    fn read_payload(&self, row: Row) -> Result<Vec<u8>, ExportError> {
        let mut payload = vec![0; row.bytes as usize];
        self.payloads.read_exact_at(&mut payload, row.offset).map_err(ExportError::Temporary)?;
        Ok(payload)
    }
}

/// A thread of a program.
///
/// Its records may be of several providers, such as a library's and the kernel's. If they overlap
/// in time, they are merged. Otherwise the process has executed another program, in which the calls
/// of the first one do not go on.
#[derive(Debug)]
struct Life {
    /// The numbers of the thread, one for each provider.
    numbers: Vec<u32>,
    /// The ids of the process and the thread.
    ids: [i32; 2],
    /// The first and last time.
    start: u64,
    last: u64,
}

impl Life {
    fn new(number: u32, thread: &Thread) -> Self {
        let (numbers, ids) = (vec![number], thread.ids(number));
        Self { numbers, ids, start: thread.start, last: thread.last }
    }

    fn add(&mut self, number: u32, thread: &Thread) {
        self.numbers.push(number);
        self.last = self.last.max(thread.last);
    }
}

/// The functions of a log, numbered in the order of their first calls.
#[derive(Debug, Default)]
struct Functions {
    ids: HashMap<FunctionId, FunctionId>,
    used: Vec<FunctionId>,
}

impl Functions {
    fn id(&mut self, function: FunctionId) -> FunctionId {
        *self.ids.entry(function).or_insert_with(|| {
            self.used.push(function);
            // A log has no more functions than the archive.
            FunctionId::new(self.used.len() as u32).unwrap_or(function)
        })
    }

    fn names<'a>(&self, names: &'a [String]) -> Vec<&'a str> {
        let name = |id: &FunctionId| names.get(id.number() as usize - 1).map_or("", |name| name);
        self.used.iter().map(name).collect()
    }
}

/// Returns a length in ticks.
fn ticks_of(length: Duration, rate: TickRate) -> u64 {
    let ticks = length.as_nanos() * u128::from(rate.ticks_per_second()) / 1_000_000_000;
    u64::try_from(ticks).unwrap_or(u64::MAX)
}
