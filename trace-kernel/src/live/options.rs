//! The selection of events, and the size of buffers.

/// What a [`KernelProvider`](super::KernelProvider) records.
#[derive(Clone, Debug)]
pub struct Options {
    /// Category patterns, of which those of the kernel are used; see
    /// [`CATEGORIES`](super::CATEGORIES). A name `kernel:event:SYSTEM/NAME` selects one event.
    pub categories: Vec<String>,
    /// The threads whose events are recorded, with the threads and processes that they start from
    /// now on. If the list is empty, the events of all threads are recorded.
    pub threads: Vec<u64>,
    /// The size of the kernel's buffer of each CPU in bytes.
    pub buffer_size: u64,
    /// How threads are sampled, if the category [`SAMPLES`](super::SAMPLES) is selected.
    pub samples: SampleOptions,
}

/// How the call stacks of threads are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleOptions {
    /// Samples a second of each thread that runs, up to `kernel.perf_event_max_sample_rate`.
    pub frequency: u64,
    /// How stacks are found.
    pub call_graph: CallGraph,
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
        Self { frequency: 1000, call_graph: CallGraph::FramePointers }
    }
}
