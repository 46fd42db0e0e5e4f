//! Samples of call stacks by `perf_event_open(2)`.
//!
//! ```text
//! counter of a CPU ──► ring buffer ──► samples, mappings ──► address spaces ──► backtraces
//!  (kernel)                            in the order of time   of processes       modules, mappings
//! ```
//!
//! The kernel follows frame pointers, or copies the registers and a part of the stack, which
//! `unwind` follows by the unwind tables of the mapped files.

mod branches;
mod files;
pub(crate) mod images;
mod mapping;
mod maps;
mod names;
mod space;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) mod unwind;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[path = "samples/no_unwind.rs"]
pub(crate) mod unwind;

use std::io;

use self::images::Images;
pub(super) use self::maps::read as mapped_code;
use self::names::Names;
use self::unwind::REGISTERS;
use super::counters::known::KernelPart;
use super::cpus::Cpus;
use super::record::{Body, SampleLayout};
use super::sys::{self, Attributes, Target};
use super::timed::Timed;
use crate::live::backend::{Backend, Output, Progress};
use crate::live::clock::TraceClock;
use crate::live::error::{LiveError, PerfScope};
use crate::live::options::{CallGraph, SampleEvent, SampleOptions, SampleRate, SampledCounter};
use crate::live::processes;
use crate::live::scope::Scope;

/// The size of ring buffers that are only opened to see whether they can be.
const SMALL: u64 = 1;

/// Bits of `sample_type`.
const CALLCHAIN: u64 = 1 << 5;
const BRANCH_STACK: u64 = 1 << 11;
const REGS_USER: u64 = 1 << 12;
const STACK_USER: u64 = 1 << 13;

/// Bits of the flags: `mmap`, `exclude_callchain_kernel`, `mmap2` and `exclude_idle`.
const FLAGS: u64 = 1 << 8 | 1 << 21 | 1 << 23 | 1 << 7;

/// The bit of the flags `freq`.
const FREQUENCY: u64 = 1 << 10;

/// Bits of the flags: mappings with build ids, since Linux 5.12.
const BUILD_ID: u64 = 1 << 34;

/// Bits of the flags: no samples in the kernel.
const EXCLUDE_KERNEL: u64 = 1 << 5;

/// Bits of `branch_sample_type`: all branches in user mode.
const USER_BRANCHES: u64 = 1 << 0 | 1 << 3;

/// The counter whose overflow takes a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleCounter {
    /// The cycles of the CPU.
    Cycles,
    /// A timer of the kernel, on CPUs without a counter of cycles.
    CpuClock,
    /// The selected counter.
    Selected(SampledCounter),
}

/// How stacks are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleSource {
    /// The counter.
    pub counter: SampleCounter,
    /// Whether time in the kernel is sampled, too: with the stack of the program.
    pub has_kernel: bool,
    /// Whether samples have the branches before them.
    pub has_branches: bool,
}

/// Samples of threads.
#[derive(Debug)]
pub(crate) struct Samples {
    cpus: Cpus,
    options: SampleOptions,
    /// The threads at the start whose mappings are read; those of all processes if it is empty.
    scope: Vec<u64>,
    threads: Threads,
}

/// The threads that are sampled.
#[derive(Debug, Default)]
struct Threads {
    /// The recorder, whose thread starts the command. It is not sampled.
    recorder: Option<u32>,
    names: Names,
    images: Images,
}

impl Samples {
    /// Samples the threads of a scope.
    ///
    /// # Errors
    ///
    /// The kernel does not permit it.
    pub(crate) fn open(
        options: &SampleOptions,
        scope: &Scope,
        bytes: u64,
    ) -> Result<(Self, SampleSource), LiveError> {
        let opened = open_best(options, &scope.targets(), bytes);
        let (cpus, source) = opened.map_err(|error| refused(options, scope.of_perf(), error))?;
        let own = u64::from(std::process::id());
        let parent = processes::family(own).and_then(|(_, parent)| u32::try_from(parent).ok());
        // Those of the machine and of a control group include it.
        let scope = match scope {
            Scope::Threads(threads) => threads.clone(),
            Scope::Command(starter) => vec![*starter],
            Scope::Machine | Scope::Cgroup(_) => Vec::new(),
        };
        let recorder = parent.filter(|_| !scope.is_empty());
        let threads = Threads { recorder, ..Threads::default() };
        Ok((Self { cpus, options: *options, scope, threads }, source))
    }
}

impl Threads {
    /// Uses a record, which has to be in the order of time.
    fn push(&mut self, timed: &Timed, output: &mut Output<'_, '_>) -> Result<(), String> {
        let Self { names, images, recorder } = self;
        match &timed.record.body {
            Body::Comm { process, thread, name, is_exec } => {
                names.set(*thread, name);
                if *is_exec {
                    images.exec(*process);
                }
            }
            Body::Fork { process, thread, creator_process, creator } => {
                names.copy(*thread, *creator);
                if process != creator_process {
                    images.fork(*process, *creator_process);
                }
            }
            Body::Exit { process, thread } => {
                names.remove(*thread);
                if process == thread {
                    images.exit(*process);
                }
            }
            Body::Mmap(file) => images.map(timed.ticks, file),
            Body::Sample(sample) => {
                let id = timed.record.sample;
                // A thread that has ended has no id, and the idle thread is 0.
                if id.thread != 0 && id.thread != u32::MAX && Some(id.process) != *recorder {
                    names.write(id, output)?;
                    let (ticks, sink) = (timed.ticks, &mut output.sink);
                    let written = images.sample(ticks, id, sample, sink);
                    let written = written.and(branches::write(sink, ticks, id, &sample.branches));
                    return written.map_err(|error| error.to_string());
                }
            }
            Body::SwitchIn { .. } | Body::SwitchOut { .. } | Body::Other => {}
            // `Cpus` reports them.
            Body::Lost { .. }
            | Body::LostSamples { .. }
            | Body::Throttle { .. }
            | Body::Unthrottle { .. }
            | Body::CameOnline => {}
        }
        Ok(())
    }
}

impl Backend for Samples {
    fn start(&mut self) -> Result<(), String> {
        let started = self.cpus.start();
        self.threads.names = Names::new(processes::names());
        self.threads.images = Images::new(self.options.call_graph, &self.scope);
        started
    }

    fn stop(&mut self) -> Result<(), String> {
        self.cpus.stop()
    }

    fn read(&mut self, clock: &TraceClock, _now: u64) -> Progress {
        self.cpus.read(clock)
    }

    fn write(&mut self, end: u64, output: &mut Output<'_, '_>) -> Result<(), String> {
        let Self { cpus, threads, .. } = self;
        cpus.write(end, output, |timed, output| threads.push(timed, output))
    }

    fn finish(&mut self, now: u64, output: &mut Output<'_, '_>) -> Result<(), String> {
        self.cpus.finish(now, output)
    }

    fn discard(&mut self) -> u64 {
        self.cpus.discard()
    }
}

/// Returns how this process can sample its own threads.
///
/// # Errors
///
/// The kernel does not permit it.
pub fn probe() -> Result<SampleSource, LiveError> {
    let own = u64::from(std::process::id());
    Samples::open(&SampleOptions::default(), &Scope::Threads(vec![own]), SMALL)
        .map(|(_, source)| source)
}

/// Opens the events with the best counter that this machine has, with the kernel if that is
/// permitted, and with branches if they are selected and there are any.
fn open_best(
    options: &SampleOptions,
    targets: &[Target],
    bytes: u64,
) -> io::Result<(Cpus, SampleSource)> {
    if options.last_branches {
        let opened = open_counter(options, true, targets, bytes);
        if opened.is_ok() {
            return opened;
        }
    }
    open_counter(options, false, targets, bytes)
}

fn open_counter(
    options: &SampleOptions,
    has_branches: bool,
    targets: &[Target],
    bytes: u64,
) -> io::Result<(Cpus, SampleSource)> {
    let mut result = Err(io::ErrorKind::Unsupported.into());
    for counter in counters(options.event) {
        for has_kernel in [true, false] {
            // Without the kernel, such a counter would never take a sample.
            if !has_kernel && counter.is_of_kernel() {
                break;
            }
            let source = SampleSource { counter, has_kernel, has_branches };
            result = open(options, source, targets, bytes).map(|cpus| (cpus, source));
            match &result {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
                Err(_) => break,
                Ok(_) => return result,
            }
        }
    }
    result
}

/// Returns the counters that take samples of an event, the best one first.
fn counters(event: SampleEvent) -> Vec<SampleCounter> {
    match event {
        SampleEvent::CpuTime => vec![SampleCounter::Cycles, SampleCounter::CpuClock],
        SampleEvent::Counter(counter) => vec![SampleCounter::Selected(counter)],
    }
}

impl SampleCounter {
    /// Returns its type and its number: `PERF_COUNT_HW_CPU_CYCLES`, `PERF_COUNT_SW_CPU_CLOCK`.
    fn attributes(self) -> (u32, u64) {
        match self {
            Self::Cycles => (0, 0),
            Self::CpuClock => (1, 0),
            Self::Selected(SampledCounter(known)) => (known.kind, known.config),
        }
    }

    /// Returns whether all of its events happen in the kernel.
    fn is_of_kernel(self) -> bool {
        matches!(self, Self::Selected(it) if it.0.kernel == KernelPart::Only)
    }
}

/// Returns why samples cannot be taken.
fn refused(options: &SampleOptions, scope: PerfScope, error: io::Error) -> LiveError {
    let frequency = match options.rate {
        SampleRate::Frequency(frequency) => frequency,
        SampleRate::Period(_) => 0,
    };
    match options.event {
        SampleEvent::Counter(SampledCounter(known)) => {
            LiveError::samples_by(known, scope, error, frequency)
        }
        SampleEvent::CpuTime => LiveError::samples(scope, error, frequency),
    }
}

/// Opens the events. Kernels before 5.12 report no build ids.
fn open(
    options: &SampleOptions,
    source: SampleSource,
    targets: &[Target],
    bytes: u64,
) -> io::Result<Cpus> {
    let (attributes, layout) = attributes(options, source);
    let with_ids = Attributes { flags: attributes.flags | BUILD_ID, ..attributes };
    match Cpus::open(&with_ids, layout, targets, bytes) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            Cpus::open(&attributes, layout, targets, bytes)
        }
        opened => opened,
    }
}

/// Returns the attributes of the event, and the layout of its samples.
fn attributes(options: &SampleOptions, source: SampleSource) -> (Attributes, SampleLayout) {
    let exclude = if source.has_kernel { 0 } else { EXCLUDE_KERNEL };
    let (kind, config) = source.counter.attributes();
    let (rate, by_frequency) = match options.rate {
        SampleRate::Frequency(frequency) => (frequency, FREQUENCY),
        SampleRate::Period(period) => (period, 0),
    };
    let attributes = Attributes {
        kind,
        config,
        rate,
        sample_type: sys::SAMPLE_TID_TIME_CPU,
        flags: FLAGS | by_frequency | exclude,
        ..Attributes::default()
    };
    let has_branches = source.has_branches;
    let (sample_type, branches) = match has_branches {
        true => (attributes.sample_type | BRANCH_STACK, USER_BRANCHES),
        false => (attributes.sample_type, 0),
    };
    let attributes = Attributes { sample_type, branches, ..attributes };
    match options.call_graph {
        CallGraph::FramePointers => {
            let sample_type = attributes.sample_type | CALLCHAIN;
            let layout = SampleLayout { has_chain: true, has_branches, ..SampleLayout::default() };
            (Attributes { sample_type, ..attributes }, layout)
        }
        CallGraph::Dwarf { stack } => {
            let sample_type = attributes.sample_type | REGS_USER | STACK_USER;
            let registers = REGISTERS.count_ones() as u8;
            let layout =
                SampleLayout { has_branches, registers, has_stack: true, ..Default::default() };
            (Attributes { sample_type, registers: REGISTERS, stack, ..attributes }, layout)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_can_be_sampled_or_the_reason_is_known() {
        let rate = SampleRate::Frequency(100);
        let options = SampleOptions { rate, ..SampleOptions::default() };
        match Samples::open(&options, &Scope::Threads(vec![u64::from(std::process::id())]), 0) {
            Ok((_, source)) => {
                let has_cycles = std::path::Path::new("/sys/bus/event_source/devices/cpu").exists();
                assert!(has_cycles || source.counter == SampleCounter::CpuClock);
            }
            Err(error) => assert!(error.remedy().is_some(), "{error}"),
        }
    }

    #[test]
    fn attributes_have_the_fields_of_the_layout() {
        let source = SampleSource {
            counter: SampleCounter::CpuClock,
            has_kernel: false,
            has_branches: false,
        };
        let rate = SampleRate::Frequency(99);
        let options = |call_graph| SampleOptions { rate, call_graph, ..SampleOptions::default() };
        let of = |call_graph| attributes(&options(call_graph), source);
        let (attributes, layout) = of(CallGraph::FramePointers);
        assert_eq!((attributes.kind, attributes.config, attributes.rate), (1, 0, 99));
        assert_eq!((attributes.sample_type, attributes.flags), (0xa6, 0xa0_05a0));
        assert!(layout.has_chain && !layout.has_stack);
        let (attributes, layout) = of(CallGraph::Dwarf { stack: 4096 });
        assert_eq!((attributes.sample_type, attributes.stack), (0x3086, 4096));
        assert_eq!(u32::from(layout.registers), attributes.registers.count_ones());
    }

    #[test]
    fn other_counters_and_periods_take_samples() {
        let faults = SampledCounter::of_name("page-faults").unwrap();
        let counter = SampleCounter::Selected(faults);
        let rate = SampleRate::Period(7);
        let event = SampleEvent::Counter(faults);
        let options = SampleOptions { event, rate, ..SampleOptions::default() };
        let (attributes, _) =
            attributes(&options, SampleSource { counter, has_kernel: true, has_branches: false });
        assert_eq!((attributes.kind, attributes.config, attributes.rate), (1, 2, 7));
        assert_eq!(attributes.flags, 0xa0_0180, "without `freq`");
        assert!(SampledCounter::of_name("faults").is_err());
        let of_kernel =
            |name| SampleCounter::Selected(SampledCounter::of_name(name).unwrap()).is_of_kernel();
        assert!(of_kernel("context-switches") && !of_kernel("page-faults"));
    }
}
