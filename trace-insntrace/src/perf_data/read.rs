//! The import of a file of `perf record -e intel_pt//u`.
//!
//! ```text
//! events ──► spaces and CPUs of processes over time ─┐
//! AUX data of a thread or a CPU ──► packets ─────────┴─► packets of each thread, with their code
//! ```
//!
//! Tracing is off in the kernel, so that each time that it is on belongs to one thread: that of the
//! buffer, or the one that its CPU executes at the time.

mod clock;
mod mapped;
#[cfg(target_arch = "x86_64")]
mod notes;
mod route;
mod stream;
mod timeline;

use core::fmt;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use trace_kernel::perf_data::{read_aux, AuxEvent, AuxQueue, AuxVisitor, PerfDataError};

#[cfg(target_arch = "x86_64")]
pub(crate) use self::notes::notes_of_buffer;
use self::route::Router;
pub(crate) use self::timeline::Timeline;
use super::layout::{info, TimeConversion, INTEL_PT};
use crate::pt::Timing;
use crate::recording::{Clock, Error, Recording, Writer};

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
            Self::Packets(error) => write!(f, "cannot store packets: {error}"),
            Self::Recording(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ImportError {}

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
    let timing = clock::timing(&contents.fields, contents.config);
    let ticks = |(time, event)| (conversion.ticks(time), event);
    let events = contents.events.into_iter().map(ticks);
    let imported = divide(contents.queues.into_values(), events, timing, &mut writer)?;
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
    /// The options of the event of Intel PT.
    config: u64,
    /// The buffers in temporary files, by number.
    queues: BTreeMap<u32, (AuxQueue, File)>,
    events: Vec<(u64, AuxEvent)>,
}

impl Contents {
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

impl AuxVisitor for Contents {
    fn event_type(&mut self, kind: u32, config: u64) {
        self.event_types.push((kind, config));
    }

    fn info(&mut self, kind: u32, fields: Vec<u64>) {
        self.kind = Some(kind);
        let pmu = fields.get(info::PMU_TYPE).copied();
        let of_pmu = |(kind, _): &&(u32, u64)| Some(u64::from(*kind)) == pmu;
        self.config = self.event_types.iter().find(of_pmu).map_or(0, |(_, config)| *config);
        self.fields = fields;
    }

    fn data(&mut self, queue: AuxQueue, bytes: &mut dyn Read) -> io::Result<()> {
        let file = match self.queues.entry(queue.index) {
            std::collections::btree_map::Entry::Occupied(entry) => &mut entry.into_mut().1,
            std::collections::btree_map::Entry::Vacant(entry) => {
                &mut entry.insert((queue, tempfile::tempfile()?)).1
            }
        };
        io::copy(bytes, file).map(drop)
    }

    fn event(&mut self, time: u64, event: AuxEvent) {
        self.events.push((time, event));
    }
}
