//! The import of a file of `perf record -e intel_pt//u`.
//!
//! ```text
//! events ──► spaces and CPUs of processes over time ─┐
//! AUX data of a thread or a CPU ──► packets ─────────┴─► packets of each thread, with their code
//! ```
//!
//! Each AUX data follows the one before, or is a snapshot of the newest packets.
//!
//! Tracing is off in the kernel, so that each time that it is on belongs to one thread: that of the
//! buffer, or the one that its CPU executes at the time.

mod clock;
mod mapped;
#[cfg(target_arch = "x86_64")]
mod notes;
mod route;
mod snapshots;
mod stream;
mod timeline;

use core::fmt;
use std::collections::btree_map::{BTreeMap, Entry};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use trace_kernel::perf_data::{read_aux, AuxEvent, AuxQueue, AuxVisitor, PerfDataError};

#[cfg(target_arch = "x86_64")]
pub(crate) use self::notes::notes_of_buffer;
use self::route::Router;
use self::snapshots::Joiner;
pub(crate) use self::timeline::Timeline;
use super::layout::{info, TimeConversion, INTEL_PT};
use crate::pt::Timing;
use crate::recording::{Clock, Error, Recording, Writer};

/// The most bytes of a snapshot, of which one is in memory.
const MAX_SNAPSHOT_BYTES: u64 = 1 << 30;

/// The most bytes of the ends of all buffers' last snapshots, which are in memory: from a PSB on.
const MAX_END_BYTES: usize = 1 << 28;

/// Why a file of perf cannot be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ImportError {
    /// The file is malformed, or cannot be read.
    File(PerfDataError),
    /// The file has no packets of Intel PT.
    NoPackets,
    /// The file has no conversion of time stamps.
    NoTime,
    /// The file has more mappings of processes than are kept.
    TooManyMappings {
        /// The most mappings.
        limit: usize,
    },
    /// The packets cannot be stored.
    Packets(io::Error),
    /// The recording cannot be written.
    Recording(Error),
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::NoPackets => write!(f, "the file has no packets of Intel PT"),
            Self::NoTime => write!(f, "the file has no conversion of time stamps to its clock"),
            Self::TooManyMappings { limit } => {
                write!(f, "the file has more than {limit} mappings of processes")
            }
            Self::Packets(_) => write!(f, "cannot store packets"),
            Self::Recording(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ImportError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::File(error) => error.source(),
            Self::Packets(error) => Some(error),
            Self::Recording(error) => error.source(),
            Self::NoPackets | Self::NoTime | Self::TooManyMappings { .. } => None,
        }
    }
}

/// What a file has beside the recording.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// How often tracing was turned on in a thread that the file does not name.
    pub unattributed: u64,
    /// Paths of code that is missing, or has changed since.
    pub missing: Vec<String>,
}

/// Reads a file of perf as a recording in `directory`, which is created.
///
/// Code is read from the files that were mapped, if they have the recorded build ids, and that of
/// the vDSO from this process.
///
/// # Errors
///
/// Fails if the file is malformed, if it has no packets, or if a file cannot be written.
pub fn read(
    input: impl Read + Seek,
    directory: &Path,
) -> Result<(Recording, Imported), ImportError> {
    let mut contents = Contents::default();
    read_aux(input, &mut contents).map_err(ImportError::File)?;
    if contents.kind != Some(INTEL_PT) || contents.queues.is_empty() {
        return Err(ImportError::NoPackets);
    }
    let conversion = contents.conversion().ok_or(ImportError::NoTime)?;
    let now = || 0;
    let clock = Clock { now, ticks_per_second: conversion.ticks_per_second() };
    // The time of MTC packets is in time stamps then.
    let mut writer =
        Writer::create(directory, clock, "mtc_freq: 0\n").map_err(ImportError::Recording)?;
    let timing = clock::timing(&contents.fields, contents.config());
    let ticks = |(time, event)| (conversion.ticks(time), event);
    let events = contents.events.into_iter().map(ticks);
    let queues = contents.queues.into_values().map(|it| (it.queue, it.packets));
    let imported = divide(queues, events, timing, &mut writer)?;
    drop(writer);
    let recording = Recording::open(directory).map_err(ImportError::Recording)?;
    Ok((recording, imported))
}

/// Divides the packets of buffers among threads, and writes their recording. `events` are in the
/// order of time, with their time stamps.
///
/// # Errors
///
/// A file cannot be read or written, or there are too many mappings.
pub(crate) fn divide(
    buffers: impl IntoIterator<Item = (AuxQueue, File)>,
    events: impl IntoIterator<Item = (u64, AuxEvent)>,
    timing: Timing,
    writer: &mut Writer,
) -> Result<Imported, ImportError> {
    let timeline = Timeline::new(events)?;
    let mut router = Router::new(&timeline, timing, writer);
    let mut sources = Vec::new();
    for (queue, mut file) in buffers {
        file.seek(SeekFrom::Start(0)).map_err(ImportError::Packets)?;
        sources.push((queue, file));
    }
    router.route(sources)?;
    let imported = router.finish()?;
    writer.flush().map_err(ImportError::Recording)?;
    Ok(imported)
}

/// What the file has.
#[derive(Debug, Default)]
struct Contents {
    event_types: Vec<(u32, u64)>,
    kind: Option<u32>,
    fields: Vec<u64>,
    /// The buffers by number.
    queues: BTreeMap<u32, Queue>,
    events: Vec<(u64, AuxEvent)>,
}

/// A buffer, with its packets in a temporary file.
#[derive(Debug)]
struct Queue {
    queue: AuxQueue,
    packets: File,
    snapshots: Joiner,
}

impl Contents {
    /// Returns the options of the event of Intel PT.
    fn config(&self) -> u64 {
        let pmu = self.fields.get(info::PMU_TYPE).copied();
        let of_pmu = |(kind, _): &&(u32, u64)| Some(u64::from(*kind)) == pmu;
        self.event_types.iter().find(of_pmu).map_or(0, |(_, config)| *config)
    }

    fn conversion(&self) -> Option<TimeConversion> {
        let field = |index: usize| self.fields.get(index).copied();
        let conversion = TimeConversion {
            shift: field(info::TIME_SHIFT)?.try_into().ok()?,
            multiplier: field(info::TIME_MULTIPLIER)?.try_into().ok()?,
            zero: field(info::TIME_ZERO)?,
        };
        (conversion.multiplier != 0 && conversion.shift < 64).then_some(conversion)
    }
}

impl Queue {
    fn new(queue: AuxQueue) -> io::Result<Self> {
        Ok(Self { queue, packets: tempfile::tempfile()?, snapshots: Joiner::default() })
    }

    /// Adds a snapshot. `available` is the memory for its end.
    fn add_snapshot(&mut self, bytes: &mut dyn Read, available: usize) -> io::Result<()> {
        let mut snapshot = Vec::new();
        bytes.take(MAX_SNAPSHOT_BYTES + 1).read_to_end(&mut snapshot)?;
        if snapshot.len() as u64 > MAX_SNAPSHOT_BYTES {
            return Err(io::Error::other("a snapshot has more than 1 GiB"));
        }
        self.packets.write_all(&self.snapshots.next(&snapshot))?;
        if self.snapshots.kept() > available {
            let message = "the snapshots have more than 256 MiB behind their last PSB packets: \
                           record with a smaller psb_period";
            return Err(io::Error::other(message));
        }
        Ok(())
    }
}

impl AuxVisitor for Contents {
    fn event_type(&mut self, kind: u32, config: u64) {
        self.event_types.push((kind, config));
    }

    fn info(&mut self, kind: u32, fields: Vec<u64>) {
        self.kind = Some(kind);
        self.fields = fields;
    }

    fn data(&mut self, queue: AuxQueue, bytes: &mut dyn Read) -> io::Result<()> {
        let others = self.queues.iter().filter(|(index, _)| **index != queue.index);
        let kept: usize = others.map(|(_, other)| other.snapshots.kept()).sum();
        let known = match self.queues.entry(queue.index) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(Queue::new(queue)?),
        };
        match self.fields.get(info::SNAPSHOT_MODE) {
            None | Some(0) => io::copy(bytes, &mut known.packets).map(drop),
            Some(_) => known.add_snapshot(bytes, MAX_END_BYTES.saturating_sub(kept)),
        }
    }

    fn event(&mut self, time: u64, event: AuxEvent) {
        self.events.push((time, event));
    }
}
