//! The selection of events, and the size of buffers.

use super::error::LiveError;
use super::perf::counters::known::{Known, KNOWN};
use super::scope::Scope;
use super::served::Server;

/// What a [`KernelProvider`](super::KernelProvider) records.
#[derive(Clone, Debug)]
pub struct Options {
    /// Category patterns, of which those of the kernel are used; see
    /// [`CATEGORIES`](super::CATEGORIES). A name `kernel:event:SYSTEM/NAME` selects one event.
    pub categories: Vec<String>,
    /// The threads whose events are recorded.
    pub scope: Scope,
    /// The size of the kernel's buffer of each CPU in bytes.
    pub buffer_size: u64,
    /// The privileged helper, which is used without permission for tracefs.
    pub server: Server,
    /// How threads are sampled, if the category [`SAMPLES`](super::SAMPLES) is selected.
    pub samples: SampleOptions,
}

/// How the call stacks of threads are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleOptions {
    /// What happens when a sample is taken.
    pub event: SampleEvent,
    /// How often.
    pub rate: SampleRate,
    /// How stacks are found.
    pub call_graph: CallGraph,
    /// Whether samples have the branches that the CPU took before them, if it records branches.
    pub last_branches: bool,
}

/// The event whose number decides when samples are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleEvent {
    /// The time of threads on CPUs: the cycles of the CPU, else a timer of the kernel.
    CpuTime,
    /// What a counter counts.
    Counter(SampledCounter),
}

/// A counter that takes samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampledCounter(pub(super) &'static Known);

/// How often samples are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleRate {
    /// Samples a second of each thread that runs, up to `kernel.perf_event_max_sample_rate`.
    Frequency(u64),
    /// The number of events between two samples of a thread, from 1 up to 2⁶³ - 1. For
    /// `task-clock` it is a time in nanoseconds.
    Period(u64),
}

impl SampledCounter {
    /// Returns the counter of this name, as [`COUNTER_PREFIX`](super::COUNTER_PREFIX) has it.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn of_name(name: &str) -> Result<Self, LiveError> {
        let known = KNOWN.iter().find(|known| known.name == name);
        known.map(Self).ok_or_else(|| LiveError::NoCounter(name.to_owned()))
    }

    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.name
    }
}

/// How the call stack of a sample is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallGraph {
    /// By frame pointers, which the program must have.
    FramePointers,
    /// By the unwind tables of the mapped files.
    Dwarf {
        /// The bytes of the stack that are copied: a multiple of 8 below 65,528.
        stack: u32,
    },
}

impl Default for SampleOptions {
    fn default() -> Self {
        let (event, rate) = (SampleEvent::CpuTime, SampleRate::Frequency(1000));
        Self { event, rate, call_graph: CallGraph::FramePointers, last_branches: false }
    }
}
