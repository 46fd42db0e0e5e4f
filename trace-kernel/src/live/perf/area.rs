//! Events whose data a processor writes to an AUX area, such as packets of Intel PT.

use std::ffi::CString;
use std::io;
use std::iter;
use std::os::fd::{AsFd, BorrowedFd};

use super::ring::{self, MIN_BYTES};
use super::sys::{Attributes, AuxMapping, Event, Mapping, Target, SAMPLE_TID_TIME_CPU};

/// Bits of the flags: `exclude_user`, `exclude_kernel` and `enable_on_exec`.
const EXCLUDE_USER: u64 = 1 << 4;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const ENABLE_ON_EXEC: u64 = 1 << 12;

/// The arguments of an event with an AUX area.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuxOptions {
    /// The type of the event: the number of its event source.
    pub kind: u32,
    /// Its options.
    pub config: u64,
    /// Whether the kernel is excluded.
    pub exclude_kernel: bool,
    /// Whether user space is excluded.
    pub exclude_user: bool,
    /// Whether the event is turned on when its thread executes a program.
    pub enable_on_exec: bool,
    /// The address filters in the kernel's syntax, or empty.
    pub filter: String,
}

/// Events that share an AUX area: those of threads on one CPU, or of one thread on all.
#[derive(Debug)]
pub struct AuxBuffer {
    first: Event,
    others: Vec<Event>,
    memory: AuxMapping,
}

impl AuxBuffer {
    /// Opens an event, which is off, with an area of `bytes`, a power of two of at least a page.
    /// Without a CPU, the target is one thread. If `overwrites` is set, the newest data overwrite
    /// the oldest.
    ///
    /// # Errors
    ///
    /// The errors of `perf_event_open(2)` and `mmap(2)`: `EPERM` if this user may not lock as much
    /// memory.
    pub fn open(
        options: &AuxOptions,
        target: Target,
        cpu: Option<u16>,
        bytes: usize,
        overwrites: bool,
    ) -> io::Result<Self> {
        let first = open(options, target, cpu)?;
        let memory = map(&first, MIN_BYTES, bytes, overwrites)?;
        Ok(Self { first, others: Vec::new(), memory })
    }

    /// Adds an event of the same CPU, which is off.
    ///
    /// # Errors
    ///
    /// The errors of `perf_event_open(2)`.
    pub fn add(&mut self, options: &AuxOptions, target: Target, cpu: u16) -> io::Result<()> {
        let event = open(options, target, Some(cpu))?;
        event.write_to(&self.first)?;
        self.others.push(event);
        Ok(())
    }

    /// Turns all events on or off, also in the threads that inherited them. An event that the
    /// kernel has turned off, because the area was full, is turned on again.
    ///
    /// # Errors
    ///
    /// The kernel refuses it.
    pub fn set_enabled(&self, is_enabled: bool) -> io::Result<()> {
        self.first.set_enabled(is_enabled)?;
        self.others.iter().try_for_each(|event| event.set_enabled(is_enabled))
    }

    /// Returns the size of the area in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.memory.size()
    }

    /// Returns the number of bytes that were ever written or, if they are overwritten, the place
    /// behind the newest one.
    #[must_use]
    pub fn head(&self) -> u64 {
        self.memory.head()
    }

    /// Lets the processor write over the bytes before `tail`.
    pub fn set_tail(&mut self, tail: u64) {
        self.memory.set_tail(tail);
    }

    /// Appends `length` bytes from the place `start` on. Bytes beyond the end are left out.
    ///
    /// The processor does not write them if they are between tail and head, or the events are off.
    /// Otherwise some may be older than others.
    pub fn append_to(&self, bytes: &mut Vec<u8>, start: usize, length: usize) {
        self.memory.append_to(bytes, start, length);
    }

    /// Returns a descriptor of each event, which is readable when the kernel has written a record,
    /// and is hung up when the threads of the event have ended.
    pub fn files(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        iter::once(&self.first).chain(&self.others).map(AsFd::as_fd)
    }

    /// Returns the kernel's records about the area since the last call.
    pub fn take_records(&mut self) -> Vec<u8> {
        let mut records = Vec::new();
        ring::take(self.memory.ring(), &mut records);
        records
    }
}

fn open(options: &AuxOptions, target: Target, cpu: Option<u16>) -> io::Result<Event> {
    let flag = |is_set: bool, bit: u64| if is_set { bit } else { 0 };
    let attributes = Attributes {
        kind: options.kind,
        config: options.config,
        sample_type: SAMPLE_TID_TIME_CPU,
        flags: flag(options.exclude_user, EXCLUDE_USER)
            | flag(options.exclude_kernel, EXCLUDE_KERNEL)
            | flag(options.enable_on_exec, ENABLE_ON_EXEC),
        ..Attributes::default()
    };
    let event = Event::open(&attributes, target, cpu)?;
    if !options.filter.is_empty() {
        let filter = CString::new(&*options.filter).map_err(|_| io::ErrorKind::InvalidInput)?;
        event.set_filter(&filter)?;
    }
    Ok(event)
}

fn map(
    file: impl AsFd,
    ring_bytes: usize,
    aux_bytes: usize,
    overwrites: bool,
) -> io::Result<AuxMapping> {
    let ring = Mapping::new(&file, ring_bytes)?;
    AuxMapping::new(&file, ring, aux_bytes, overwrites)
}

#[cfg(test)]
mod tests;
