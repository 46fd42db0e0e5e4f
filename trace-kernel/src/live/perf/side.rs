//! The mappings, names, starts and switches of threads, which decoders of AUX data require.

mod limit;
mod newest;
mod state;

use std::collections::BTreeSet;
use std::io;
use std::thread;
use std::time::Duration;

use self::limit::Limit;
use self::newest::Newest;
use self::state::State;
use super::cpus::Cpus;
use super::record::{Body, MappedFile, PerfRecord, SampleLayout};
use super::samples::mapped_code;
use super::sys::{Attributes, Target, SAMPLE_TID_TIME_CPU};
use crate::live::clock::{Calibration, Sample, TraceClock};
use crate::live::perf::aux_event::AuxEvent;
use crate::live::processes;

/// Bits of the flags: `exclude_kernel`, `mmap`, `mmap2` and `context_switch`.
const FLAGS: u64 = 1 << 5 | 1 << 8 | 1 << 23 | 1 << 26;

/// The bit of the flags `build_id`, since Linux 5.12.
const BUILD_ID: u64 = 1 << 34;

/// The size of the ring buffer of a CPU.
const RING_BYTES: u64 = 512 << 10;

/// The number of switches of a CPU, and of other events, that are kept, if only the newest are: of
/// more than half a second with 100 000 switches a second.
const KEPT: usize = 1 << 16;

/// The most switches that are kept without a ring, and the most other events. 4 million events take
/// about 400 MB, and the paths of mappings.
const MOST: usize = 1 << 22;

/// The permission to execute.
const EXECUTE: u32 = 4;

/// The first address of the kernel.
const KERNEL: u64 = 1 << 63;

/// The name of code without a file.
const ANONYMOUS: &str = "//anon";

/// The events of threads, by an event of the kernel that counts nothing.
#[derive(Debug)]
pub struct SideEvents {
    cpus: Cpus,
    targets: Vec<Target>,
    ticks: fn() -> u64,
    begin: Sample,
    /// What precedes the events: at first, what exists at the start.
    existing: State,
    /// With nanoseconds of `CLOCK_MONOTONIC_RAW`.
    events: Vec<(u64, AuxEvent)>,
    /// What is kept if `newest` is not there.
    limit: Limit,
    /// What is kept of a ring.
    newest: Option<Newest>,
    /// The number of records that the kernel has lost, and of events beyond the limit.
    lost: u64,
}

impl SideEvents {
    /// Opens the events of these targets, which are off. `ticks` reads the clock of the times.
    ///
    /// # Errors
    ///
    /// The kernel does not permit it.
    pub fn open(targets: &[Target], ticks: fn() -> u64) -> io::Result<Self> {
        let attributes = Attributes {
            kind: 1,
            config: 9,
            sample_type: SAMPLE_TID_TIME_CPU,
            flags: FLAGS | BUILD_ID,
            ..Attributes::default()
        };
        let open = |attributes: &Attributes| {
            Cpus::open(attributes, SampleLayout::default(), targets, RING_BYTES)
        };
        let cpus = match open(&attributes) {
            // Kernels before 5.12 report no build ids.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                open(&Attributes { flags: FLAGS, ..attributes })
            }
            opened => opened,
        }?;
        Ok(Self {
            cpus,
            targets: targets.to_vec(),
            ticks,
            begin: Sample::take(ticks),
            existing: State::default(),
            events: Vec::new(),
            limit: Limit::new(MOST),
            newest: None,
            lost: 0,
        })
    }

    /// Keeps only the newest events from now on, 65536 or more switches of each CPU and 65536 or
    /// more others: enough for AUX data of which only the newest are kept. Of threads that live,
    /// the names and the code are kept. The memory therefore depends on the number of threads, not
    /// on the time.
    pub fn keep_newest(&mut self) {
        self.newest = Some(Newest::new(KEPT));
    }

    /// Starts the events, and reads what exists already.
    ///
    /// # Errors
    ///
    /// The kernel refuses it.
    pub fn start(&mut self) -> io::Result<()> {
        self.cpus.start().map_err(io::Error::other)?;
        existing(&self.targets).into_iter().for_each(|event| self.existing.apply(event));
        Ok(())
    }

    /// Stops the events.
    ///
    /// # Errors
    ///
    /// The kernel refuses it.
    pub fn stop(&mut self) -> io::Result<()> {
        self.cpus.stop().map_err(io::Error::other)
    }

    /// Takes the records out of the kernel's buffers. Call it several times a second.
    ///
    /// # Errors
    ///
    /// A record is malformed.
    pub fn read(&mut self) -> io::Result<()> {
        let read = self.cpus.read(&TraceClock::Same).result;
        for timed in self.cpus.take() {
            match timed.record.body {
                Body::Lost { number } => self.lost += number,
                Body::CameOnline => self.lost += 1,
                _ => self.events.extend(event(&timed.record).map(|event| (timed.ticks, event))),
            }
        }
        match &mut self.newest {
            Some(newest) => {
                newest.keep(&mut self.events, &mut self.existing, |id| processes::lives(id.into()));
            }
            None => self.lost += self.limit.keep(&mut self.events),
        }
        read.map_err(io::Error::other)
    }

    /// Returns the number of records that did not fit into the kernel's buffers so far, and of
    /// switches, and of other events, beyond 4194304 of each, which are not kept.
    ///
    /// # Errors
    ///
    /// The kernel's own count cannot be read: it reports losses by a record only if there is space
    /// again.
    pub fn lost(&self) -> io::Result<u64> {
        Ok(self.lost + self.cpus.unreported_losses()?)
    }

    /// Returns the events so far, in the order of time, with their ticks. The names and the code of
    /// processes that existed at the start, or before the oldest event that is kept, have the time
    /// 0.
    ///
    /// Waits until the rate of the clocks is known, 25 ms after the start at most.
    #[must_use]
    pub fn events(&mut self) -> Vec<(u64, AuxEvent)> {
        let mut end = Sample::take(self.ticks);
        while !self.begin.is_before(&end) {
            thread::sleep(Duration::from_millis(1));
            end = Sample::take(self.ticks);
        }
        let line = Calibration::between(self.begin, end);
        // A CPU's records are in order, and those of several CPUs have the same clock.
        self.events.sort_by_key(|(time, _)| *time);
        let existing = self.existing.events().map(|event| (0, event.clone()));
        let timed = self.events.iter().map(|(time, event)| (line.ticks(*time), event.clone()));
        existing.chain(timed).collect()
    }
}

fn event(record: &PerfRecord) -> Option<AuxEvent> {
    let id = record.sample;
    Some(match &record.body {
        Body::Comm { process, thread, name, is_exec } => AuxEvent::Named {
            process: *process,
            thread: *thread,
            name: name.to_string(),
            is_exec: *is_exec,
        },
        Body::Fork { process, thread, creator_process, .. } => {
            AuxEvent::Forked { process: *process, thread: *thread, creator: *creator_process }
        }
        Body::Mmap(file) if file.protection & EXECUTE != 0 => mapped(file),
        Body::SwitchIn { .. } => {
            AuxEvent::Entered { cpu: id.cpu, process: id.process, thread: id.thread }
        }
        Body::SwitchOut { .. } => AuxEvent::Left { cpu: id.cpu },
        _ => return None,
    })
}

fn mapped(file: &MappedFile) -> AuxEvent {
    AuxEvent::Mapped {
        process: file.process,
        address: file.start,
        size: file.length,
        offset: file.offset,
        path: path(&String::from_utf8_lossy(&file.path)),
        build_id: file.build_id.to_vec(),
    }
}

fn path(path: &str) -> String {
    if path == ANONYMOUS {
        String::new()
    } else {
        path.to_owned()
    }
}

/// Returns the names and the code of the processes of targets.
fn existing(targets: &[Target]) -> Vec<AuxEvent> {
    let of_target = |target: &Target| match target {
        Target::Thread(thread) | Target::OneThread(thread) => {
            processes::family(*thread).map(|(process, _)| vec![process]).unwrap_or_default()
        }
        Target::Cpu | Target::Cgroup(_) => processes::all(),
    };
    let processes: BTreeSet<u64> = targets.iter().flat_map(of_target).collect();
    let numbers = processes.into_iter().filter_map(|process| u32::try_from(process).ok());
    numbers.flat_map(|process| names(process).into_iter().chain(code(process))).collect()
}

fn names(process: u32) -> Vec<AuxEvent> {
    let named = |id: u64| {
        let name = processes::name(id)?.into();
        let thread = id.try_into().ok()?;
        Some(AuxEvent::Named { process, thread, name, is_exec: false })
    };
    processes::threads_of(process.into()).into_iter().filter_map(named).collect()
}

fn code(process: u32) -> Vec<AuxEvent> {
    // The kernel's `[vsyscall]` is in the maps of each process, and in none of its records.
    let mapped = mapped_code(process).into_iter().filter(|mapping| mapping.start < KERNEL);
    let mapped = mapped.map(|mapping| AuxEvent::Mapped {
        process,
        address: mapping.start,
        size: mapping.length,
        offset: mapping.offset,
        path: path(&mapping.path.to_string_lossy()),
        build_id: mapping.build_id.to_vec(),
    });
    mapped.collect()
}
