//! Samples of call stacks by `perf_event_open(2)`.
//!
//! ```text
//! counter of a CPU ──► ring buffer ──► samples, mappings ──► address spaces ──► backtraces
//!  (kernel)                            in the order of time   of processes       modules, mappings
//! ```
//!
//! The kernel follows frame pointers, or copies the registers and a part of the stack, which
//! `unwind` follows by the unwind tables of the mapped files.

mod files;
mod images;
mod mapping;
mod maps;
mod names;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod unwind;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[path = "samples/no_unwind.rs"]
mod unwind;

use std::io;

use self::images::Images;
use self::names::Names;
use self::unwind::REGISTERS;
use super::cpus::Cpus;
use super::record::{Body, SampleLayout};
use super::sys::{self, Attributes, Target};
use super::timed::Timed;
use crate::live::backend::{Backend, Output, Progress};
use crate::live::clock::TraceClock;
use crate::live::error::{LiveError, PerfScope};
use crate::live::options::{CallGraph, SampleOptions};
use crate::live::processes;

/// The size of ring buffers that are only opened to see whether they can be.
const SMALL: u64 = 1;

/// Bits of `sample_type`.
const CALLCHAIN: u64 = 1 << 5;
const REGS_USER: u64 = 1 << 12;
const STACK_USER: u64 = 1 << 13;

/// Bits of the flags: `mmap`, `freq`, `exclude_callchain_kernel`, `mmap2` and `exclude_idle`.
const FLAGS: u64 = 1 << 8 | 1 << 10 | 1 << 21 | 1 << 23 | 1 << 7;

/// Bits of the flags: mappings with build ids, since Linux 5.12.
const BUILD_ID: u64 = 1 << 34;

/// Bits of the flags: no samples in the kernel.
const EXCLUDE_KERNEL: u64 = 1 << 5;

/// The counter whose overflow takes a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleCounter {
    /// The cycles of the CPU.
    Cycles,
    /// A timer of the kernel, on CPUs without a counter of cycles.
    CpuClock,
}

/// How stacks are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleSource {
    /// The counter.
    pub counter: SampleCounter,
    /// Whether time in the kernel is sampled, too: with the stack of the program.
    pub has_kernel: bool,
}

/// Samples of threads.
#[derive(Debug)]
pub(crate) struct Samples {
    cpus: Cpus,
    options: SampleOptions,
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
    /// Samples these threads and those that they create; all threads if there are none.
    ///
    /// # Errors
    ///
    /// The kernel does not permit it.
    pub(crate) fn open(
        options: &SampleOptions,
        scope: &[u64],
        bytes: u64,
    ) -> Result<(Self, SampleSource), LiveError> {
        let targets: Vec<Target> = match scope {
            [] => vec![Target::Cpu],
            threads => threads.iter().copied().map(Target::Thread).collect(),
        };
        let kind = if scope.is_empty() { PerfScope::Machine } else { PerfScope::Threads };
        let opened = open_best(options, &targets, bytes);
        let (cpus, source) =
            opened.map_err(|error| LiveError::samples(kind, error, options.frequency))?;
        let own = u64::from(std::process::id());
        let parent = processes::family(own).and_then(|(_, parent)| u32::try_from(parent).ok());
        let recorder = parent.filter(|_| !scope.is_empty());
        let threads = Threads { recorder, ..Threads::default() };
        Ok((Self { cpus, options: *options, scope: scope.to_vec(), threads }, source))
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
                    return images.sample(timed.ticks, id, sample, output);
                }
            }
            Body::SwitchIn { .. } | Body::SwitchOut { .. } | Body::Lost { .. } | Body::Other => {}
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

    fn read(&mut self, clock: &TraceClock) -> Progress {
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
    Samples::open(&SampleOptions::default(), &[own], SMALL).map(|(_, source)| source)
}

/// Opens the events with the best counter that this machine has, with the kernel if that is
/// permitted.
fn open_best(
    options: &SampleOptions,
    targets: &[Target],
    bytes: u64,
) -> io::Result<(Cpus, SampleSource)> {
    let mut result = Err(io::ErrorKind::Unsupported.into());
    for counter in [SampleCounter::Cycles, SampleCounter::CpuClock] {
        for has_kernel in [true, false] {
            let source = SampleSource { counter, has_kernel };
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
    let attributes = Attributes {
        kind: u32::from(source.counter == SampleCounter::CpuClock),
        frequency: options.frequency,
        sample_type: sys::SAMPLE_TID_TIME_CPU,
        flags: FLAGS | exclude,
        ..Attributes::default()
    };
    match options.call_graph {
        CallGraph::FramePointers => {
            let sample_type = attributes.sample_type | CALLCHAIN;
            let layout = SampleLayout { has_chain: true, ..SampleLayout::default() };
            (Attributes { sample_type, ..attributes }, layout)
        }
        CallGraph::Dwarf { stack } => {
            let sample_type = attributes.sample_type | REGS_USER | STACK_USER;
            let registers = REGISTERS.count_ones() as u8;
            let layout = SampleLayout { has_chain: false, registers, has_stack: true };
            (Attributes { sample_type, registers: REGISTERS, stack, ..attributes }, layout)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_can_be_sampled_or_the_reason_is_known() {
        let options = SampleOptions { frequency: 100, call_graph: CallGraph::FramePointers };
        match Samples::open(&options, &[u64::from(std::process::id())], 0) {
            Ok((_, source)) => {
                let has_cycles = std::path::Path::new("/sys/bus/event_source/devices/cpu").exists();
                assert!(has_cycles || source.counter == SampleCounter::CpuClock);
            }
            Err(error) => assert!(error.remedy().is_some(), "{error}"),
        }
    }

    #[test]
    fn attributes_have_the_fields_of_the_layout() {
        let source = SampleSource { counter: SampleCounter::CpuClock, has_kernel: false };
        let of = |call_graph| attributes(&SampleOptions { frequency: 99, call_graph }, source);
        let (attributes, layout) = of(CallGraph::FramePointers);
        assert_eq!((attributes.kind, attributes.config, attributes.frequency), (1, 0, 99));
        assert_eq!((attributes.sample_type, attributes.flags), (0xa6, 0xa0_05a0));
        assert!(layout.has_chain && !layout.has_stack);
        let (attributes, layout) = of(CallGraph::Dwarf { stack: 4096 });
        assert_eq!((attributes.sample_type, attributes.stack), (0x3086, 4096));
        assert_eq!(u32::from(layout.registers), attributes.registers.count_ones());
    }
}
