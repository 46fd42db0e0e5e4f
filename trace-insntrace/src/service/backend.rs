//! The step engine as a back end of the controller.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{getrlimit, Resource};
use trace_protocol::clock;

use super::buffer::Buffer;
use super::worker::{lock, Worker};
use crate::controller::{
    ctl, Backend, BufferConfig, BufferDescriptor, Capabilities, SideData, Status, ThreadKoid,
};
use crate::pt::Writer;
use crate::step::{Engine, Options, TracedRange};

/// The PSB distance of frequency 0, in bytes.
const LEAST_PSB_BYTES: u64 = 2048;

/// How long a call waits until threads are released. Only a thread that cannot be interrupted, as
/// during `vfork`, takes longer. It is released when it stops.
const RELEASE_TIME: Duration = Duration::from_secs(2);

/// The descriptors that are kept for other uses than chunks.
const RESERVED_FILES: u64 = 256;

/// The limits of a back end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of all buffers together.
    pub bytes: u64,
    /// The most steps of a thread from start to stop. It continues untraced afterwards.
    pub steps: Option<u64>,
}

impl Default for Limits {
    /// 1 GiB, and any number of steps.
    fn default() -> Self {
        Self { bytes: 1 << 30, steps: None }
    }
}

/// Traces threads by the step engine. CPUs cannot be traced.
#[derive(Debug)]
pub struct StepBackend {
    limits: Limits,
    slots: BTreeMap<u32, Slot>,
    is_active: bool,
    /// Workers whose thread could not be released in time.
    leaving: Vec<Worker>,
}

#[derive(Debug)]
struct Slot {
    config: BufferConfig,
    buffer: Arc<Mutex<Buffer>>,
    thread: Option<Target>,
    worker: Option<Worker>,
}

/// A thread. Its id may be reused after its end, but not with the same time of its start.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Target {
    tid: u32,
    started: String,
}

impl StepBackend {
    /// Creates a back end without buffers.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, slots: BTreeMap::new(), is_active: false, leaving: Vec::new() }
    }

    /// Takes the workers whose threads are not released yet.
    pub(super) fn take_leaving(&mut self) -> Vec<Worker> {
        std::mem::take(&mut self.leaving)
    }

    /// Fails if another buffer of this size exceeds the limits.
    fn check_limits(&self, config: &BufferConfig) -> Result<(), Status> {
        let size = |slot: &Slot| {
            let buffer = lock(&slot.buffer);
            (buffer.bytes(), buffer.chunks() as u64)
        };
        let sizes = self.slots.values().map(size);
        let (bytes, chunks) = sizes.fold((0, 0), |(a, b), (c, d)| (a + c, b + d));
        let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let new = u64::from(config.num_chunks);
        let has_memory = bytes + new * config.chunk_bytes() <= self.limits.bytes;
        let has_files = chunks + new <= files.saturating_sub(RESERVED_FILES);
        (has_memory && has_files).then_some(()).ok_or(Status::NoMemory)
    }

    fn slot(&self, descriptor: BufferDescriptor) -> Result<&Slot, Status> {
        self.slots.get(&descriptor.0).ok_or(Status::Internal)
    }

    /// Releases the threads of all or one of the buffers.
    fn stop_workers(&mut self, only: Option<BufferDescriptor>) {
        let slots = self.slots.iter_mut();
        let selected = slots.filter(|(number, _)| only.is_none_or(|only| only.0 == **number));
        let mut workers: Vec<_> = selected.filter_map(|(_, slot)| slot.worker.take()).collect();
        workers.iter_mut().for_each(Worker::begin_stop);
        let until = Instant::now() + RELEASE_TIME;
        for mut worker in workers {
            if !worker.wait(until) {
                self.leaving.push(worker);
            }
        }
        self.leaving.retain(|worker| !worker.wait_released(Duration::ZERO));
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
        self.check_limits(config)?;
        let buffer = Buffer::new(descriptor, config).map_err(|error| status(&error))?;
        let buffer = Arc::new(Mutex::new(buffer));
        let slot = Slot { config: *config, buffer, thread: None, worker: None };
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
        let (is_active, limits) = (self.is_active, self.limits);
        let slot = self.slots.get_mut(&descriptor.0).ok_or(Status::Internal)?;
        if is_active {
            slot.worker = slot.start(&target, limits).map_err(|error| status(&error))?;
        }
        slot.thread = Some(target);
        Ok(())
    }

    fn release(&mut self, descriptor: BufferDescriptor) {
        self.stop_workers(Some(descriptor));
        if let Some(slot) = self.slots.get_mut(&descriptor.0) {
            slot.thread = None;
        }
    }

    fn start(&mut self) -> Result<(), Status> {
        for slot in self.slots.values_mut() {
            let Some(target) = slot.thread.clone() else { continue };
            match slot.start(&target, self.limits) {
                Ok(worker) => slot.worker = worker,
                // The thread has ended.
                Err(error) if status(&error) == Status::NotFound => {}
                Err(error) => {
                    self.stop_workers(None);
                    return Err(status(&error));
                }
            }
        }
        self.is_active = true;
        Ok(())
    }

    fn stop(&mut self) {
        self.stop_workers(None);
        self.is_active = false;
    }

    fn capture_end(&self, descriptor: BufferDescriptor) -> u64 {
        self.slot(descriptor).map_or(0, |slot| lock(&slot.buffer).capture_end())
    }

    fn chunk(&self, descriptor: BufferDescriptor, chunk: u32) -> Result<OwnedFd, Status> {
        lock(&self.slot(descriptor)?.buffer).chunk(chunk).map_err(|error| status(&error))
    }

    fn side_data(&self, descriptor: BufferDescriptor) -> Result<SideData<OwnedFd>, Status> {
        lock(&self.slot(descriptor)?.buffer).side_data().map_err(|error| status(&error))
    }
}

impl Slot {
    /// Starts to trace a thread, unless its configuration or a full buffer excludes all packets.
    fn start(&self, target: &Target, limits: Limits) -> io::Result<Option<Worker>> {
        let has = |bit: u64| self.config.ctl & bit != 0;
        let traces = has(ctl::User::make(1)) && has(ctl::BranchEnable::make(1));
        if !traces || lock(&self.buffer).is_full() {
            return Ok(None);
        }
        target.check()?;
        let ranges = self.config.address_ranges.into_iter().filter(|range| *range != (0, 0));
        let options = Options {
            engine: Engine::Step,
            writer: Writer::new().compress_returns(!has(ctl::DisableReturnCompression::make(1))),
            clock: clock::ticks,
            has_time: has(ctl::TscEnable::make(1)),
            psb_bytes: LEAST_PSB_BYTES << ctl::PsbFrequency::get(self.config.ctl),
            ranges: ranges.map(|(start, end)| TracedRange::Addresses(start, end)).collect(),
            budget: limits.steps,
        };
        Worker::start(target.tid, options, &self.buffer).map(Some)
    }
}

impl Target {
    /// Returns a thread that the service may trace.
    fn find(thread: ThreadKoid) -> io::Result<Self> {
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let tid = u32::try_from(thread.0).map_err(|_| missing())?;
        let started = start_time(tid)?.ok_or_else(missing)?;
        // The kernel checks the permission to attach.
        File::open(format!("/proc/{tid}/mem"))?;
        Ok(Self { tid, started })
    }

    /// Fails if the thread has ended.
    fn check(&self) -> io::Result<()> {
        let started = start_time(self.tid)?;
        let is_same = started.as_ref() == Some(&self.started);
        is_same.then_some(()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// Returns the time at which a thread started, in the kernel's unit (proc(5), `starttime`), or
/// `None` if it has exited.
fn start_time(tid: u32) -> io::Result<Option<String>> {
    let stat = fs::read(format!("/proc/{tid}/stat"))?;
    let stat = String::from_utf8_lossy(&stat);
    // The second field is the name, which may contain any byte.
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let has_exited = rest.trim_start().starts_with(['Z', 'X']);
    let started = rest.split_ascii_whitespace().nth(19).map(str::to_owned);
    Ok(started.filter(|_| !has_exited))
}

fn status(error: &io::Error) -> Status {
    match error.raw_os_error() {
        Some(libc::ENOMEM | libc::ENOSPC | libc::EMFILE | libc::ENFILE | libc::EAGAIN) => {
            Status::NoMemory
        }
        Some(libc::ESRCH) => Status::NotFound,
        _ => match error.kind() {
            io::ErrorKind::NotFound => Status::NotFound,
            io::ErrorKind::PermissionDenied => Status::AccessDenied,
            _ => Status::Internal,
        },
    }
}
