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
}
