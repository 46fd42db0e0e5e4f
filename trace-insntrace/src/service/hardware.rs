//! The processor as a back end of the controller.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;

use trace_kernel::live::threads_of;
use trace_kernel::perf_data::AuxQueue;
use trace_kernel::perf_event::{online, Target as EventTarget};

use super::buffer::{check_limits, Buffer};
use super::side_thread::{Recorded, SideThread};
use super::target::{status, Target};
use crate::controller::{
    Backend, BufferConfig, BufferDescriptor, BufferState, Capabilities, Losses, Mode, SideData,
    Status, ThreadKoid,
};
use crate::hardware::{held_bytes, timing, Area, Collector, EventArea, Pmu, Settings, LEAST_BYTES};
use crate::perf_data::{notes_of_buffer, Timeline};
use crate::recording::{Mapping, TraceId};
use crate::step;

/// How often areas are halved, at most: from the largest buffer to [`LEAST_BYTES`].
const MAX_HALVINGS: u32 = 14;

/// Opens an area for a target: a thread on all CPUs, or a CPU.
type Open<A> = fn(&Settings, EventTarget, Option<u16>) -> io::Result<A>;

/// Traces CPUs or threads by the processor.
#[derive(Debug)]
pub struct HardwareBackend<A: Area = EventArea> {
    pmu: Pmu,
    cpus: Vec<u16>,
    bytes: u64,
    open: Open<A>,
    mode: Mode,
    slots: BTreeMap<u32, Slot<A>>,
    /// The events of all CPUs, if they are traced.
    side: Option<SideThread>,
    is_active: bool,
}

#[derive(Debug)]
struct Slot<A> {
    config: BufferConfig,
    buffer: Buffer,
    thread: Option<Target>,
    traced: Option<Traced<A>>,
}

/// What is traced into a buffer.
#[derive(Debug)]
struct Traced<A> {
    queue: AuxQueue,
    area: A,
    collector: Collector,
    settings: Settings,
    /// The events of the thread's process, if threads are traced.
    side: Option<SideThread>,
}

impl HardwareBackend {
    /// Creates a back end without buffers, of which all together have at most so many bytes.
    #[must_use]
    pub fn new(pmu: Pmu, bytes: u64) -> Self {
        let open: Open<EventArea> =
            |settings, target, cpu| EventArea::open(settings, target, cpu, false);
        Self::with_areas(pmu, bytes, open)
    }
}

impl<A: Area> HardwareBackend<A> {
    /// Creates a back end that traces into these areas.
    #[must_use]
    pub fn with_areas(
        pmu: Pmu,
        bytes: u64,
        open: fn(&Settings, EventTarget, Option<u16>) -> io::Result<A>,
    ) -> Self {
        Self {
            pmu,
            cpus: online(),
            bytes,
            open,
            mode: Mode::Thread,
            slots: BTreeMap::new(),
            side: None,
            is_active: false,
        }
    }

    fn slot(&self, descriptor: BufferDescriptor) -> Result<&Slot<A>, Status> {
        self.slots.get(&descriptor.0).ok_or(Status::Internal)
    }

    /// Returns whether only the newest packets are kept, of all buffers.
    fn overwrites(&self) -> bool {
        self.slots.values().all(|slot| slot.config.is_circular)
    }

    /// Begins to trace into buffers. If there is not enough memory for all areas, all are smaller.
    fn begin_all(&mut self, numbers: &[u32]) -> Result<(), Status> {
        let mut halvings = 0;
        loop {
            let begun = numbers.iter().try_for_each(|number| self.begin(*number, halvings));
            match begun {
                // This user may not lock as much memory, or there is none.
                Err(Status::AccessDenied | Status::NoMemory) if halvings < MAX_HALVINGS => {
                    halvings += 1;
                    let begun = self.slots.iter_mut().filter(|(it, _)| numbers.contains(it));
                    begun.for_each(|(_, slot)| slot.traced = None);
                }
                begun => return begun,
            }
        }
    }

    /// Begins to trace into a buffer, with an area that is halved so often. A thread that has ended
    /// is left out.
    fn begin(&mut self, number: u32, halvings: u32) -> Result<(), Status> {
        let Some(slot) = self.slots.get_mut(&number) else { return Ok(()) };
        if slot.buffer.is_full() {
            return Ok(());
        }
        let traced = match self.mode {
            Mode::Cpu => {
                let cpu = self.cpus.get(number as usize).ok_or(Status::Internal)?;
                let settings = settings(&self.pmu, &slot.config, &[], halvings)?;
                Traced::of_cpu(settings, *cpu, self.open)?
            }
            Mode::Thread => match slot.thread.as_ref().filter(|it| it.check().is_ok()) {
                Some(thread) => {
                    let code = step::code_of(thread.process).unwrap_or_default();
                    let settings = settings(&self.pmu, &slot.config, &code, halvings)?;
                    Traced::of_thread(settings, thread, self.open)?
                }
                None => None,
            },
        };
        slot.traced = traced;
        Ok(())
    }

    /// Returns whether all CPUs whose buffers have space are offline.
    fn has_no_cpu(&self) -> bool {
        let mut slots = self.slots.values().filter(|slot| !slot.buffer.is_full()).peekable();
        slots.peek().is_some() && slots.all(|slot| slot.traced.is_none())
    }

    /// Ends tracing into buffers, and takes their packets.
    fn end(&mut self, numbers: &[u32]) {
        let stopped = |slot: &mut Slot<A>| {
            let mut traced = slot.traced.take()?;
            // The processor writes on while the packets are taken, and some are missing.
            let gaps = u64::from(traced.area.set_enabled(false).is_err());
            slot.buffer.lose(Losses { gaps, ..Losses::default() });
            Some(traced)
        };
        let mut ending: Vec<_> = self
            .slots
            .iter_mut()
            .filter(|(number, _)| numbers.contains(number))
            .filter_map(|(number, slot)| Some((*number, stopped(slot)?, slot)))
            .collect();
        // The events of CPUs are read last: they have the threads of all packets.
        let of_cpus = self.side.take_if(|_| self.mode == Mode::Cpu).map(timeline);
        for (number, traced, slot) in &mut ending {
            slot.finish(*number, traced, of_cpus.as_ref(), &self.pmu);
        }
    }
}

impl<A: Area> Backend for HardwareBackend<A> {
    type Chunk = OwnedFd;

    fn capabilities(&self) -> Capabilities {
        self.pmu.capabilities(self.cpus.len().try_into().unwrap_or(u16::MAX))
    }

    fn initialize(&mut self, mode: Mode) {
        self.mode = mode;
    }

    fn allocate(
        &mut self,
        descriptor: BufferDescriptor,
        config: &BufferConfig,
    ) -> Result<(), Status> {
        check_limits(self.slots.values().map(|slot| slot.buffer.size()), config, self.bytes)?;
        let buffer = Buffer::new(descriptor, config).map_err(|error| status(&error))?;
        let slot = Slot { config: *config, buffer, thread: None, traced: None };
        self.slots.insert(descriptor.0, slot);
        Ok(())
    }

    fn free(&mut self, descriptor: BufferDescriptor) {
        if let Some(mut slot) = self.slots.remove(&descriptor.0) {
            slot.buffer.free();
        }
    }

    fn assign(&mut self, descriptor: BufferDescriptor, thread: ThreadKoid) -> Result<(), Status> {
        let target = Target::find(thread).map_err(|error| status(&error))?;
        self.slots.get_mut(&descriptor.0).ok_or(Status::Internal)?.thread = Some(target);
        if !self.is_active {
            return Ok(());
        }
        self.begin_all(&[descriptor.0]).inspect_err(|_| {
            if let Some(slot) = self.slots.get_mut(&descriptor.0) {
                slot.thread = None;
            }
        })
    }

    fn release(&mut self, descriptor: BufferDescriptor) -> Result<(), Status> {
        self.end(&[descriptor.0]);
        if let Some(slot) = self.slots.get_mut(&descriptor.0) {
            slot.thread = None;
        }
        Ok(())
    }

    fn start(&mut self) -> Result<(), Status> {
        let numbers: Vec<u32> = self.slots.keys().copied().collect();
        let begun = match self.mode {
            Mode::Thread => Ok(()),
            Mode::Cpu => SideThread::start(&[EventTarget::Cpu], self.overwrites())
                .map(|side| self.side = Some(side))
                .map_err(|error| status(&error)),
        };
        let begun = begun.and_then(|()| self.begin_all(&numbers)).and_then(|()| {
            // A processor that no CPU can use is not there.
            let is_missing = self.mode == Mode::Cpu && self.has_no_cpu();
            (!is_missing).then_some(()).ok_or(Status::NotSupported)
        });
        if begun.is_err() {
            self.end(&numbers);
        }
        self.is_active = begun.is_ok();
        begun
    }

    fn stop(&mut self) {
        let numbers: Vec<u32> = self.slots.keys().copied().collect();
        self.end(&numbers);
        self.is_active = false;
    }

    fn state(&mut self, descriptor: BufferDescriptor) -> Result<BufferState, Status> {
        self.slots.get_mut(&descriptor.0).ok_or(Status::Internal).map(Slot::state)
    }

    fn chunk(&self, descriptor: BufferDescriptor, chunk: u32) -> Result<OwnedFd, Status> {
        self.slot(descriptor)?.buffer.chunk(chunk).map_err(|error| status(&error))
    }

    fn side_data(&self, descriptor: BufferDescriptor) -> Result<SideData<OwnedFd>, Status> {
        self.slot(descriptor)?.buffer.side_data().map_err(|error| status(&error))
    }
}

/// Returns the arguments of a buffer's area, which is halved so often.
fn settings(
    pmu: &Pmu,
    config: &BufferConfig,
    code: &[Mapping],
    halvings: u32,
) -> Result<Settings, Status> {
    let settings = Settings::new(pmu, config, code)?;
    let least = LEAST_BYTES.min(settings.aux_bytes);
    Ok(Settings { aux_bytes: (settings.aux_bytes >> halvings).max(least), ..settings })
}

impl<A: Area> Traced<A> {
    /// Returns `None` if the CPU is offline.
    fn of_cpu(settings: Settings, cpu: u16, open: Open<A>) -> Result<Option<Self>, Status> {
        let queue = AuxQueue { index: cpu.into(), thread: None, cpu: Some(cpu.into()) };
        let area = open(&settings, EventTarget::Cpu, Some(cpu));
        match Self::begin(area, queue, settings, None) {
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(None),
            begun => begun.map(Some).map_err(|error| status(&error)),
        }
    }

    /// Returns `None` if the thread has ended.
    fn of_thread(
        settings: Settings,
        thread: &Target,
        open: Open<A>,
    ) -> Result<Option<Self>, Status> {
        let queue = AuxQueue { index: thread.tid, thread: Some(thread.tid), cpu: None };
        // Other threads map code, too.
        let threads = threads_of(thread.process.into());
        let targets: Vec<_> = threads.into_iter().map(EventTarget::Thread).collect();
        let begun = SideThread::start(&targets, settings.overwrites).and_then(|side| {
            let area = open(&settings, EventTarget::OneThread(thread.tid.into()), None);
            Self::begin(area, queue, settings, Some(side))
        });
        match begun.map_err(|error| status(&error)) {
            Err(Status::NotFound) => Ok(None),
            begun => begun.map(Some),
        }
    }

    fn begin(
        area: io::Result<A>,
        queue: AuxQueue,
        settings: Settings,
        side: Option<SideThread>,
    ) -> io::Result<Self> {
        let mut area = area?;
        area.set_enabled(true)?;
        Ok(Self { queue, area, collector: Collector::new(), settings, side })
    }

    /// Returns the number of bytes that are in the area, and what is missing of them.
    fn held(&mut self) -> (u64, Losses) {
        let overwrites = self.settings.overwrites;
        let losses = self.collector.losses_so_far(&mut self.area, overwrites);
        (held_bytes(&self.area, overwrites), losses)
    }
}

impl<A: Area> Slot<A> {
    /// Returns the state with the packets that are in the area yet.
    fn state(&mut self) -> BufferState {
        let (held, missing) = self.traced.as_mut().map(Traced::held).unwrap_or_default();
        self.buffer.state_after(held, missing)
    }

    /// Takes the packets of an area whose events are off, and what is required to decode them.
    fn finish(
        &mut self,
        number: u32,
        traced: &mut Traced<A>,
        of_cpus: Option<&(Timeline, Losses)>,
        pmu: &Pmu,
    ) {
        let collector = &mut traced.collector;
        let packets = match traced.settings.overwrites {
            true => collector.take_overwritten(&mut traced.area),
            false => collector.take(&mut traced.area),
        };
        let lost = collector.losses();
        let own = traced.side.take().map(timeline);
        let none = Default::default();
        let (timeline, missing) = own.as_ref().or(of_cpus).unwrap_or(&none);
        self.buffer.lose(lost + *missing);
        let timing = timing(pmu, &traced.settings);
        let notes = notes_of_buffer(TraceId(number), traced.queue, &packets, timeline, timing);
        let origin = self.buffer.begin();
        // They are first: notes may be too large.
        self.buffer.write(&packets);
        for note in notes {
            self.buffer.note_within(origin, note);
        }
    }
}

/// Ends side events. With too many mappings there are none: packets are printed, but not decoded.
fn timeline(side: SideThread) -> (Timeline, Losses) {
    let Recorded { mut events, missing } = side.end();
    let events = events.events();
    let number = events.len() as u64;
    let losses = |records| Losses { records, ..Losses::default() };
    match Timeline::new(events) {
        Ok(timeline) => (timeline, losses(missing)),
        Err(_) => (Timeline::default(), losses(missing + number)),
    }
}
