//! Recording by the processor.
//!
//! ```text
//! AUX area of each CPU ──► unnamed files ───┐
//!                                           ├──► packets of each thread, with their code
//! side events ──► mappings, switches ───────┘
//! ```

use core::fmt;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use rustix::event::{poll, PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
use trace_kernel::live::threads_of;
use trace_kernel::perf_data::AuxQueue;
use trace_kernel::perf_event::{online, SideEvents, Target};
use trace_protocol::clock;

use super::area::{Area, EventArea};
use super::aux::Collector;
use super::pmu::Pmu;
use super::settings::Settings;
use crate::controller::{ctl, Losses};
use crate::perf_data::{divide, ImportError, Imported};
use crate::pt::Timing;
use crate::recording::Writer;
use crate::step;

/// What is traced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Traced {
    /// All threads of a process, and the threads and processes that they create.
    Process(u32),
    /// All CPUs.
    Cpus,
}

/// Why a recording by the processor failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum RecordError {
    /// The kernel does not permit tracing, or refuses the event.
    Refused(io::Error),
    /// The program could not be started.
    Program(io::Error),
    /// Packets could not be stored or read.
    Packets(io::Error),
    /// The recording could not be written.
    Recording(ImportError),
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(_) => write!(f, "the kernel refuses the event"),
            Self::Program(_) => write!(f, "cannot start the program"),
            Self::Packets(_) => write!(f, "cannot store packets"),
            Self::Recording(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for RecordError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Refused(error) | Self::Program(error) | Self::Packets(error) => Some(error),
            Self::Recording(error) => error.source(),
        }
    }
}

/// Records what the processor traces into areas.
#[derive(Debug)]
pub struct Recorder<A: Area = EventArea> {
    side: SideEvents,
    areas: Vec<Recorded<A>>,
    timing: Timing,
    overwrites: bool,
    /// Whether the events are to be on.
    is_enabled: bool,
}

/// An area, and its packets so far.
#[derive(Debug)]
struct Recorded<A> {
    queue: AuxQueue,
    area: A,
    collector: Collector,
    packets: File,
    /// The numbers of its events whose threads have ended.
    ended: Vec<usize>,
}

impl Recorder {
    /// Begins to trace, in areas of the size that `settings` has or, if this user may not lock as
    /// much memory, in smaller ones. Packets are in unnamed files of `directory`, which exists.
    ///
    /// # Errors
    ///
    /// The kernel refuses it.
    pub fn start(
        pmu: &Pmu,
        settings: &Settings,
        traced: Traced,
        directory: &Path,
    ) -> Result<Self, RecordError> {
        let mut recorder = Self::open(pmu, settings, traced, false, directory)?;
        recorder.begin()?;
        recorder.set_enabled(true).map_err(RecordError::Refused)?;
        Ok(recorder)
    }

    /// Starts `command`, and traces it from the first instruction of its program on, as
    /// [`start`](Self::start).
    ///
    /// # Errors
    ///
    /// The kernel refuses it, or the program cannot be started.
    pub fn run(
        pmu: &Pmu,
        settings: &Settings,
        command: &mut Command,
        directory: &Path,
    ) -> Result<(Self, Child), RecordError> {
        let mut opened = None;
        let spawned = step::spawn_held(command, |pid| {
            let result = Self::open(pmu, settings, Traced::Process(pid), true, directory)
                .and_then(|mut recorder| recorder.begin().map(|()| recorder));
            let is_open = result.is_ok();
            opened = Some(result);
            is_open.then_some(()).ok_or_else(|| io::ErrorKind::Other.into())
        });
        match (opened, spawned) {
            (Some(Err(error)), _) => Err(error),
            (Some(Ok(mut recorder)), Ok(child)) => {
                // The program was executed.
                recorder.is_enabled = true;
                Ok((recorder, child))
            }
            (_, Err(error)) => Err(RecordError::Program(error)),
            (None, Ok(_)) => Err(RecordError::Program(io::ErrorKind::Other.into())),
        }
    }

    fn open(
        pmu: &Pmu,
        settings: &Settings,
        traced: Traced,
        on_exec: bool,
        directory: &Path,
    ) -> Result<Self, RecordError> {
        let (side, areas) =
            Self::open_events(settings, traced, on_exec).map_err(RecordError::Refused)?;
        let files = Self::new(side, areas, timing(pmu, settings), settings.overwrites, directory);
        files.map_err(RecordError::Packets)
    }

    fn open_events(
        settings: &Settings,
        traced: Traced,
        on_exec: bool,
    ) -> io::Result<(SideEvents, Vec<(AuxQueue, EventArea)>)> {
        let targets = || match traced {
            Traced::Process(pid) => targets_of(pid),
            Traced::Cpus => Ok(vec![Target::Cpu]),
        };
        if matches!(traced, Traced::Process(_)) {
            // Each thread has an event on each CPU. A program that is started has its own limit
            // already.
            raise_limit();
        }
        let first = targets()?;
        let mut areas = EventArea::open_all(settings, &first, &online(), on_exec)?;
        if !on_exec {
            add_new(first, targets, |new| {
                areas.iter_mut().try_fold(0, |sum, (_, area)| Ok(sum + area.add(settings, new)?))
            })?;
        }
        // Later, so that they have the threads that were added.
        let mut side = SideEvents::open(&targets()?, clock::ticks)?;
        if settings.overwrites {
            side.keep_newest();
        }
        Ok((side, areas))
    }
}

impl<A: Area> Recorder<A> {
    /// Creates a recorder of these areas, with unnamed files in `directory`. Nothing is traced yet.
    ///
    /// # Errors
    ///
    /// A file cannot be created.
    pub fn new(
        side: SideEvents,
        areas: Vec<(AuxQueue, A)>,
        timing: Timing,
        overwrites: bool,
        directory: &Path,
    ) -> io::Result<Self> {
        let recorded = |(queue, area)| {
            let (collector, packets) = (Collector::new(), tempfile::tempfile_in(directory)?);
            Ok(Recorded { queue, area, collector, packets, ended: Vec::new() })
        };
        let areas = areas.into_iter().map(recorded).collect::<io::Result<_>>()?;
        Ok(Self { side, areas, timing, overwrites, is_enabled: false })
    }

    /// Begins to record the side events.
    ///
    /// # Errors
    ///
    /// The kernel refuses it.
    pub fn begin(&mut self) -> Result<(), RecordError> {
        self.side.start().map_err(RecordError::Refused)
    }

    fn set_enabled(&mut self, is_enabled: bool) -> io::Result<()> {
        self.is_enabled = is_enabled;
        let results = self.areas.iter_mut().map(|it| it.area.set_enabled(is_enabled));
        // All are switched, also after an error.
        let results: Vec<io::Result<()>> = results.collect();
        results.into_iter().collect()
    }

    /// Takes packets and events out of the memory that the kernel writes, as soon as there are
    /// some, or after `timeout`. Call it again and again.
    ///
    /// # Errors
    ///
    /// Packets cannot be stored.
    pub fn take(&mut self, timeout: Duration) -> Result<(), RecordError> {
        self.wait(timeout).map_err(RecordError::Packets)?;
        self.take_now().map_err(RecordError::Packets)
    }

    fn wait(&mut self, timeout: Duration) -> io::Result<()> {
        let ended = {
            let areas = self.areas.iter().enumerate();
            let files = areas.flat_map(|(index, it)| it.waiting().map(move |at| (index, at)));
            let (places, mut polled): (Vec<_>, Vec<_>) = files
                .map(|(index, (at, file))| {
                    ((index, at), PollFd::from_borrowed_fd(file, PollFlags::IN))
                })
                .unzip();
            match poll(&mut polled, timeout.as_millis().try_into().unwrap_or(i32::MAX)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let has_ended = |file: &PollFd<'_>| file.revents().contains(PollFlags::HUP);
            let ended = places.into_iter().zip(polled).filter(|(_, file)| has_ended(file));
            ended.map(|(place, _)| place).collect::<Vec<_>>()
        };
        for (index, at) in ended {
            self.areas[index].ended.push(at);
        }
        Ok(())
    }

    fn take_now(&mut self) -> io::Result<()> {
        self.side.read()?;
        if !self.overwrites {
            let is_enabled = self.is_enabled;
            self.areas.iter_mut().try_for_each(|it| it.take(is_enabled))?;
        }
        Ok(())
    }

    /// Stops tracing, and takes what is left.
    ///
    /// # Errors
    ///
    /// The kernel refuses it, or packets cannot be stored.
    pub fn stop(&mut self) -> Result<(), RecordError> {
        self.set_enabled(false).map_err(RecordError::Refused)?;
        self.take_now().map_err(RecordError::Packets)?;
        if self.overwrites {
            let taken = self.areas.iter_mut().try_for_each(Recorded::take_newest);
            taken.map_err(RecordError::Packets)?;
        }
        Ok(())
    }

    /// Writes a recording of the packets so far. Tracing is off.
    ///
    /// # Errors
    ///
    /// Packets cannot be read, or files cannot be written.
    pub fn write(&mut self, writer: &mut Writer) -> Result<Imported, RecordError> {
        let buffer = |it: &Recorded<A>| Ok((it.queue, it.packets.try_clone()?));
        let buffers: io::Result<Vec<_>> = self.areas.iter().map(buffer).collect();
        let buffers = buffers.map_err(RecordError::Packets)?;
        divide(buffers, self.side.events(), self.timing, writer).map_err(RecordError::Recording)
    }

    /// Continues after [`stop`](Self::stop).
    ///
    /// # Errors
    ///
    /// The kernel refuses it.
    pub fn resume(&mut self) -> Result<(), RecordError> {
        self.set_enabled(true).map_err(RecordError::Refused)
    }

    /// Returns an area by its index.
    #[must_use]
    pub fn area(&self, index: usize) -> Option<&A> {
        self.areas.get(index).map(|recorded| &recorded.area)
    }

    /// Returns what is missing so far, of all areas together. Of the side events, `records` is the
    /// number of those that did not fit into their buffers.
    ///
    /// # Errors
    ///
    /// The kernel's count of records cannot be read.
    pub fn losses(&self) -> io::Result<Losses> {
        let start = Losses { records: self.side.lost()?, ..Losses::default() };
        Ok(self.areas.iter().fold(start, |sum, it| sum + it.collector.losses()))
    }
}

impl<A: Area> Recorded<A> {
    /// Returns the descriptors of the events whose threads live, with their numbers.
    fn waiting(&self) -> impl Iterator<Item = (usize, BorrowedFd<'_>)> {
        self.area.files().enumerate().filter(|(at, _)| !self.ended.contains(at))
    }

    fn take(&mut self, is_enabled: bool) -> io::Result<()> {
        let packets = self.collector.take(&mut self.area);
        self.packets.write_all(&packets)?;
        if is_enabled {
            // The kernel turns an event off whose area is full, and may write no record about it,
            // or write the record earlier. To an event that is on, this does nothing.
            self.area.set_enabled(true)?;
        }
        Ok(())
    }

    /// Replaces the packets by the newest ones.
    fn take_newest(&mut self) -> io::Result<()> {
        let packets = self.collector.take_overwritten(&mut self.area);
        self.packets.set_len(0)?;
        self.packets.seek(SeekFrom::Start(0))?;
        self.packets.write_all(&packets)
    }
}

/// Calls `add` with the threads that are new, which returns how many events it has opened: threads
/// without an event create threads without one. The other new threads have inherited theirs.
fn add_new(
    mut known: Vec<Target>,
    targets: impl Fn() -> io::Result<Vec<Target>>,
    mut add: impl FnMut(&[Target]) -> io::Result<usize>,
) -> io::Result<()> {
    loop {
        let new: Vec<_> = targets()?.into_iter().filter(|it| !known.contains(it)).collect();
        if add(&new)? == 0 {
            return Ok(());
        }
        known.extend(new);
    }
}

/// Raises the soft limit of descriptors to the hard one.
fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    // This cannot fail. With the old limit, events beyond it are refused.
    let _same = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

fn targets_of(pid: u32) -> io::Result<Vec<Target>> {
    let threads = threads_of(pid.into());
    match threads.is_empty() {
        true => Err(io::Error::from_raw_os_error(libc::ESRCH)),
        false => Ok(threads.into_iter().map(Target::Thread).collect()),
    }
}

/// Returns how the packets of a buffer have the time.
pub(crate) fn timing(pmu: &Pmu, settings: &Settings) -> Timing {
    let narrow = |ticks: u64| u32::try_from(ticks).ok();
    let crystal = pmu.crystal_ratio();
    Timing {
        mtc_period: ctl::MtcFrequency::get(settings.ctl) as u8,
        crystal: crystal.and_then(|(counter, clock)| narrow(counter).zip(narrow(clock))),
        nominal: pmu.nominal_ratio(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_added_until_all_others_have_inherited_their_events() {
        // A thread is new at each look. The events of those from 3 on are inherited.
        let looks = std::cell::Cell::new(1);
        let targets = || {
            looks.set(looks.get() + 1);
            Ok((1..=looks.get()).map(Target::Thread).collect())
        };
        let mut added = Vec::new();
        let add = |new: &[Target]| {
            added.extend_from_slice(new);
            Ok(new.iter().filter(|it| **it == Target::Thread(2)).count())
        };
        add_new(vec![Target::Thread(1)], targets, add).unwrap();
        assert_eq!(added, [Target::Thread(2), Target::Thread(3)]);
    }
}
