//! The step and the block engine as a back end of the controller.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use trace_protocol::clock;

use super::buffer::{check_limits, Buffer};
use super::target::{status, Target};
use super::worker::{lock, Attached, Route, Worker, RELEASE_TIME};
use crate::controller::{
    ctl, Backend, BufferConfig, BufferDescriptor, BufferState, Capabilities, SideData, Status,
    ThreadKoid,
};
use crate::pt::Writer;
use crate::step::{Engine, Options, TracedRange};

/// The PSB distance of frequency 0, in bytes.
const LEAST_PSB_BYTES: u64 = 2048;

/// The settings of a back end.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// How the instructions of threads are executed. By blocks, the other threads of their
    /// processes are slowed down, too.
    pub engine: Engine,
    /// The most bytes of all buffers together.
    pub bytes: u64,
    /// The most steps from start to stop, of a thread or, by blocks, of a process. It continues
    /// untraced afterwards.
    pub steps: Option<u64>,
    /// Returns the time of time stamps.
    pub clock: fn() -> u64,
}

impl Default for Settings {
    /// The step engine, 1 GiB, any number of steps, and the clock of `trace record`.
    fn default() -> Self {
        Self { engine: Engine::Step, bytes: 1 << 30, steps: None, clock: clock::ticks }
    }
}

/// Traces threads by stops. CPUs cannot be traced.
#[derive(Debug)]
pub struct StepBackend {
    settings: Settings,
    slots: BTreeMap<u32, Slot>,
    groups: Vec<Group>,
    is_active: bool,
    /// Workers whose threads could not be released in time.
    leaving: Vec<Worker>,
}

#[derive(Debug)]
struct Slot {
    config: BufferConfig,
    buffer: Arc<Mutex<Buffer>>,
    thread: Option<Target>,
}

/// Buffers whose threads are traced together: one, or by blocks those of a process.
#[derive(Debug)]
struct Group {
    descriptors: Vec<u32>,
    worker: Worker,
}

impl StepBackend {
    /// Creates a back end without buffers.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let (slots, groups, leaving) = (BTreeMap::new(), Vec::new(), Vec::new());
        Self { settings, slots, groups, is_active: false, leaving }
    }

    fn slot(&self, descriptor: BufferDescriptor) -> Result<&Slot, Status> {
        self.slots.get(&descriptor.0).ok_or(Status::Internal)
    }

    /// Returns the buffers whose threads are traced together with that of a buffer.
    fn group_of(&self, descriptor: BufferDescriptor) -> Vec<u32> {
        let process = |slot: &Slot| slot.thread.as_ref().map(|target| target.process);
        let own = self.slots.get(&descriptor.0).and_then(process);
        match self.settings.engine {
            Engine::Step => vec![descriptor.0],
            Engine::Block => {
                let same =
                    self.slots.iter().filter(|(_, slot)| own.is_some() && process(slot) == own);
                same.map(|(number, _)| *number).collect()
            }
        }
    }

    /// Starts to trace the threads of a group. Those that have ended are left out.
    fn begin(&mut self, descriptors: Vec<u32>) -> io::Result<()> {
        let Some((slot, target, routes)) = self.routes(&descriptors)? else { return Ok(()) };
        let attached = match self.settings.engine {
            Engine::Step => Attached::Thread(target.tid),
            Engine::Block => Attached::Process(target.process),
        };
        let worker = Worker::start(attached, slot.options(self.settings), routes)?;
        self.groups.push(Group { descriptors, worker });
        Ok(())
    }

    /// Returns the threads of a group and their buffers, and the first of them. Those that have
    /// ended are left out.
    ///
    /// # Errors
    ///
    /// The buffers have different configurations.
    fn routes(&self, descriptors: &[u32]) -> io::Result<Option<(&Slot, &Target, Vec<Route>)>> {
        let (mut traced, mut routes) = (None::<(&Slot, &Target)>, Vec::new());
        for slot in descriptors.iter().filter_map(|number| self.slots.get(number)) {
            let Some(target) = slot.target().filter(|target| target.check().is_ok()) else {
                continue;
            };
            let (first, _) = *traced.get_or_insert((slot, target));
            if first.packets() != slot.packets() {
                // A tracer has one kind of packets, and one set of traced addresses for a process.
                return Err(io::ErrorKind::Unsupported.into());
            }
            routes.push(Route { tid: target.tid, buffer: slot.buffer.clone() });
        }
        Ok(traced.map(|(slot, target)| (slot, target, routes)))
    }

    /// Releases the threads of these groups.
    fn end(&mut self, groups: Vec<Group>) {
        let mut workers: Vec<_> = groups.into_iter().map(|group| group.worker).collect();
        workers.iter_mut().for_each(Worker::begin_stop);
        let until = Instant::now() + RELEASE_TIME;
        for mut worker in workers {
            if !worker.wait(until) {
                self.leaving.push(worker);
            }
        }
        self.leaving.retain(|worker| !worker.wait_released(Duration::ZERO));
    }

    fn end_all(&mut self) {
        let groups = std::mem::take(&mut self.groups);
        self.end(groups);
    }

    /// Releases the threads of the groups that have one of these buffers.
    fn end_of(&mut self, descriptors: &[u32]) {
        let has = |group: &Group| group.descriptors.iter().any(|it| descriptors.contains(it));
        let (ending, others) = std::mem::take(&mut self.groups).into_iter().partition(has);
        self.groups = others;
        self.end(ending);
    }
}

impl Backend for StepBackend {
    type Chunk = OwnedFd;

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            cpus: 0,
            threads: true,
            address_ranges: 2,
            address_space_match: false,
            ctl: ctl::ALWAYS | ctl::PsbFrequency::make(0xf),
            mtc_frequencies: 0,
            cycle_thresholds: 0,
            psb_frequencies: u16::MAX,
        }
    }

    fn allocate(
        &mut self,
        descriptor: BufferDescriptor,
        config: &BufferConfig,
    ) -> Result<(), Status> {
        let sizes = self.slots.values().map(|slot| lock(&slot.buffer).size());
        check_limits(sizes, config, self.settings.bytes)?;
        let buffer = Buffer::new(descriptor, config).map_err(|error| status(&error))?;
        let buffer = Arc::new(Mutex::new(buffer));
        let slot = Slot { config: *config, buffer, thread: None };
        self.slots.insert(descriptor.0, slot);
        Ok(())
    }

    fn free(&mut self, descriptor: BufferDescriptor) {
        if let Some(slot) = self.slots.remove(&descriptor.0) {
            lock(&slot.buffer).free();
        }
    }

    fn assign(&mut self, descriptor: BufferDescriptor, thread: ThreadKoid) -> Result<(), Status> {
        let target = Target::find(thread).map_err(|error| status(&error))?;
        self.slots.get_mut(&descriptor.0).ok_or(Status::Internal)?.thread = Some(target);
        if !self.is_active {
            return Ok(());
        }
        let group = self.group_of(descriptor);
        // What is refused does not interrupt the tracing of other threads.
        if let Err(error) = self.routes(&group) {
            self.slots.get_mut(&descriptor.0).ok_or(Status::Internal)?.thread = None;
            return Err(status(&error));
        }
        self.end_of(&group);
        self.begin(group).map_err(|error| {
            // This error is the first one.
            let _ = self.release(descriptor);
            status(&error)
        })
    }

    fn release(&mut self, descriptor: BufferDescriptor) -> Result<(), Status> {
        let mut group = self.group_of(descriptor);
        self.end_of(&group);
        if let Some(slot) = self.slots.get_mut(&descriptor.0) {
            slot.thread = None;
        }
        group.retain(|number| *number != descriptor.0);
        if !self.is_active || group.is_empty() {
            return Ok(());
        }
        // The others were traced before.
        match self.begin(group.clone()).map_err(|error| status(&error)) {
            // They have ended.
            Ok(()) | Err(Status::NotFound) => Ok(()),
            Err(error) => {
                let others = group.iter().filter_map(|number| self.slots.get(number));
                // Those that are full, or whose thread has ended, are complete.
                let lacking = others.filter(|it| it.target().is_some_and(|it| it.check().is_ok()));
                lacking.for_each(|slot| lock(&slot.buffer).fail());
                Err(error)
            }
        }
    }

    fn start(&mut self) -> Result<(), Status> {
        let mut groups: Vec<_> =
            self.slots.keys().map(|number| self.group_of(BufferDescriptor(*number))).collect();
        groups.sort();
        groups.dedup();
        for group in groups {
            match self.begin(group) {
                // The thread has ended.
                Err(error) if status(&error) == Status::NotFound => {}
                Err(error) => {
                    self.end_all();
                    return Err(status(&error));
                }
                Ok(()) => {}
            }
        }
        self.is_active = true;
        Ok(())
    }

    fn stop(&mut self) {
        self.end_all();
        self.is_active = false;
    }

    fn state(&mut self, descriptor: BufferDescriptor) -> Result<BufferState, Status> {
        let of_buffer = |group: &&Group| group.descriptors.contains(&descriptor.0);
        self.groups.iter().filter(of_buffer).for_each(|group| group.worker.write());
        let buffer = lock(&self.slot(descriptor)?.buffer);
        if buffer.has_failed() {
            return Err(Status::Internal);
        }
        Ok(buffer.state())
    }

    fn chunk(&self, descriptor: BufferDescriptor, chunk: u32) -> Result<OwnedFd, Status> {
        lock(&self.slot(descriptor)?.buffer).chunk(chunk).map_err(|error| status(&error))
    }

    fn side_data(&self, descriptor: BufferDescriptor) -> Result<SideData<OwnedFd>, Status> {
        lock(&self.slot(descriptor)?.buffer).side_data().map_err(|error| status(&error))
    }

    fn leaving(&self) -> u32 {
        let leaving = self.leaving.iter().filter(|worker| !worker.wait_released(Duration::ZERO));
        leaving.map(Worker::threads).sum()
    }

    fn wait_released(&mut self) {
        for worker in self.leaving.drain(..) {
            worker.wait_released(Duration::MAX);
        }
    }
}

impl Slot {
    fn has(&self, bit: u64) -> bool {
        self.config.ctl & bit != 0
    }

    /// Returns the thread, unless its configuration or a full buffer excludes all packets.
    fn target(&self) -> Option<&Target> {
        let traces = self.has(ctl::User::make(1)) && self.has(ctl::BranchEnable::make(1));
        self.thread.as_ref().filter(|_| traces && !lock(&self.buffer).is_full())
    }

    /// Returns what decides about the packets.
    fn packets(&self) -> (u64, [(u64, u64); 2]) {
        (self.config.ctl, self.config.address_ranges)
    }

    fn options(&self, settings: Settings) -> Options {
        let ranges = self.config.address_ranges.into_iter().filter(|range| *range != (0, 0));
        let is_compressed = !self.has(ctl::DisableReturnCompression::make(1));
        Options {
            engine: settings.engine,
            writer: Writer::new().compress_returns(is_compressed),
            clock: settings.clock,
            has_time: self.has(ctl::TscEnable::make(1)),
            psb_bytes: LEAST_PSB_BYTES << ctl::PsbFrequency::get(self.config.ctl),
            ranges: ranges.map(|(start, end)| TracedRange::Addresses(start, end)).collect(),
            budget: settings.steps,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::service::worker::tests::{start_threads, tracer_of, CONFIG};
    use crate::step::refuse;

    /// Allocates a buffer for each thread, and assigns it.
    fn assign_all(backend: &mut StepBackend, buffers: &[BufferDescriptor], threads: &[u32]) {
        for (buffer, thread) in buffers.iter().zip(threads) {
            backend.allocate(*buffer, &CONFIG).unwrap();
            backend.assign(*buffer, ThreadKoid(u64::from(*thread))).unwrap();
        }
    }

    #[test]
    fn an_assignment_that_is_refused_does_not_interrupt_others() {
        let (mut child, mut output, threads) = start_threads();
        let settings = Settings { engine: Engine::Block, clock: || 0, ..Settings::default() };
        let mut backend = StepBackend::new(settings);
        let [traced, refused] = [0, 1].map(BufferDescriptor);
        assign_all(&mut backend, &[traced], &threads);
        backend.start().unwrap();
        let config = BufferConfig { ctl: CONFIG.ctl ^ ctl::TscEnable::make(1), ..CONFIG };
        backend.allocate(refused, &config).unwrap();
        // Threads that are released could not be attached again: the handle that ends tracing is a
        // pipe.
        refuse(libc::SYS_pipe2);
        let other = ThreadKoid(u64::from(threads[1]));
        assert_eq!(backend.assign(refused, other), Err(Status::NotSupported));
        assert!(backend.slots[&refused.0].thread.is_none());
        backend.state(traced).unwrap();
        assert_ne!(tracer_of(&child), "0");
        backend.stop();
        drop(child.stdin.take());
        output.read_to_end(&mut Vec::new()).unwrap();
        assert!(child.wait().unwrap().success());
    }

    #[test]
    fn a_group_that_cannot_be_attached_again_has_failed() {
        let (mut child, mut output, threads) = start_threads();
        let settings = Settings { engine: Engine::Block, clock: || 0, ..Settings::default() };
        let mut backend = StepBackend::new(settings);
        let buffers = [0, 1].map(BufferDescriptor);
        assign_all(&mut backend, &buffers, &threads);
        backend.start().unwrap();
        // The handle that ends tracing is a pipe.
        refuse(libc::SYS_pipe2);
        let [released, other] = buffers;
        backend.release(released).unwrap_err();
        assert!(backend.slots[&released.0].thread.is_none());
        assert_eq!(backend.state(other).map(|_| ()), Err(Status::Internal));
        assert_eq!(tracer_of(&child), "0");
        backend.stop();
        drop(child.stdin.take());
        output.read_to_end(&mut Vec::new()).unwrap();
        assert!(child.wait().unwrap().success());
    }
}
