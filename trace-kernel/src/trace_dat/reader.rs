//! A file of trace-cmd: the events of all CPUs in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{Read, Seek};

use super::compression::Compression;
use super::cpu::CpuEvents;
use super::error::TraceDatError;
use super::fields::Fields;
use super::metadata::Metadata;
use super::{version6, version7, MAGIC};
use crate::byte_order::ByteOrder;
use crate::decode::Decoder;
use crate::event::Entry;
use crate::page::Missed;

/// The most bytes of pages in memory. 256 CPUs with groups of ten pages of 64 KiB need 176 MiB.
const MAX_MEMORY: usize = 256 << 20;

/// A file of trace-cmd.
#[derive(Debug)]
pub struct TraceDat<R> {
    input: R,
    decoder: Decoder,
    names: Vec<(u64, String)>,
    clock: String,
    ticks_per_second: Option<u64>,
    cpus: Vec<CpuEvents>,
    /// The bytes of their pages in memory.
    memory: usize,
    /// The time of the next event of each CPU, with its place in `cpus`.
    heads: BinaryHeap<Reverse<(u64, usize)>>,
    /// The CPU of the event that was returned last.
    current: Option<usize>,
    /// The first error of a CPU, which is returned after the events of the others.
    error: Option<TraceDatError>,
}

/// An event, and events that are missing before it on its CPU.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// The event.
    pub entry: Entry<'a>,
    /// Missing events.
    pub missed: Missed,
    /// The time of the event before it on its CPU; 0 if there is none.
    pub since: u64,
}

impl<R: Read + Seek> TraceDat<R> {
    /// Reads a file up to its pages.
    ///
    /// # Errors
    ///
    /// The file is of another format, malformed or truncated.
    pub fn open(mut input: R) -> Result<Self, TraceDatError> {
        let (mut metadata, compression) = metadata(&mut input)?;
        metadata.check_areas()?;
        let layout = metadata.layout.ok_or(TraceDatError::Malformed("header: none"))?;
        let cpus = metadata.cpus.iter().map(|data| CpuEvents::new(data, layout, compression));
        let cpus = cpus.collect::<Result<_, _>>()?;
        let decoder = Decoder::new(metadata.order, metadata.formats.drain(..));
        let Metadata { names, clock, ticks_per_second, .. } = metadata;
        let mut file = Self {
            input,
            decoder,
            names,
            clock,
            ticks_per_second,
            cpus,
            memory: 0,
            heads: BinaryHeap::new(),
            current: None,
            error: None,
        };
        (0..file.cpus.len()).for_each(|cpu| file.advance(cpu));
        Ok(file)
    }

    /// Returns the name of the clock, such as `mono`.
    #[must_use]
    pub fn clock(&self) -> &str {
        &self.clock
    }

    /// Returns the ticks per second of the events' times, or `None` if the clock is not one of
    /// nanoseconds and the file has no rate for it.
    #[must_use]
    pub fn ticks_per_second(&self) -> Option<u64> {
        match &*self.clock {
            "" | "local" | "global" | "uptime" | "perf" | "mono" | "mono_raw" | "boot" | "tai" => {
                Some(1_000_000_000)
            }
            _ => self.ticks_per_second,
        }
    }

    /// Returns threads and their names, as they were at the end.
    pub fn names(&self) -> impl Iterator<Item = (u64, &str)> {
        self.names.iter().map(|(thread, name)| (*thread, &**name))
    }

    /// Returns the events that are missing after the last event of a CPU: the CPU, their number,
    /// and between which times. [`next`](Self::next) has returned all events before.
    pub fn missed_at_end(&self) -> impl Iterator<Item = (u16, Missed, (u64, u64))> + '_ {
        self.cpus.iter().filter_map(|cpu| {
            let (missed, times) = cpu.missed_at_end();
            (missed != Missed::None).then_some((cpu.cpu, missed, times))
        })
    }

    /// Returns the next event. After an error of a CPU, the events of the others are returned
    /// before the error.
    ///
    /// # Errors
    ///
    /// A page or its compression is malformed, or the file is truncated.
    #[allow(clippy::should_implement_trait)] // The event borrows from the file.
    pub fn next(&mut self) -> Result<Option<Item<'_>>, TraceDatError> {
        if let Some(cpu) = self.current.take() {
            self.advance(cpu);
        }
        let Some(Reverse((_, index))) = self.heads.pop() else {
            return self.error.take().map_or(Ok(None), Err);
        };
        self.current = Some(index);
        let cpu = self.cpus.get(index);
        Ok(cpu.and_then(|cpu| {
            let (raw, (missed, since)) = cpu.head()?;
            Some(Item { entry: self.decoder.decode(cpu.cpu, &raw), missed, since })
        }))
    }

    fn advance(&mut self, index: usize) {
        let Some(cpu) = self.cpus.get_mut(index) else { return };
        self.memory -= cpu.memory();
        let time = cpu.advance(&mut self.input);
        let time = match self.memory + cpu.memory() > MAX_MEMORY {
            true => Err(TraceDatError::Memory(MAX_MEMORY)),
            false => time,
        };
        match time {
            Ok(time) => self.heads.extend(time.map(|time| Reverse((time, index)))),
            Err(error) => {
                cpu.clear();
                self.error.get_or_insert(error);
            }
        }
        self.memory += cpu.memory();
    }
}

fn metadata<R: Read + Seek>(input: &mut R) -> Result<(Metadata, Compression), TraceDatError> {
    let mut metadata = Metadata::default();
    let mut fields = Fields::new(&mut *input, ByteOrder::Little);
    if fields.bytes(MAGIC.len() as u64)? != MAGIC {
        return Err(TraceDatError::NoMagic);
    }
    let version = fields.string()?;
    metadata.order = match fields.u8()? {
        0 => ByteOrder::Little,
        1 => ByteOrder::Big,
        _ => return Err(TraceDatError::Malformed("byte order")),
    };
    fields.order = metadata.order;
    let (_long_size, _page_size) = (fields.u8()?, fields.u32()?);
    match &*version {
        "6" => {
            version6::read(input, &mut metadata)?;
            Ok((metadata, Compression::None))
        }
        "7" => {
            let compression = Compression::named(&fields.string()?)?;
            let _version = fields.string()?;
            let options = fields.u64()?;
            version7::read(input, &mut metadata, (compression, options))?;
            Ok((metadata, compression))
        }
        _ => Err(TraceDatError::Version(version)),
    }
}
