//! What does the work for a controller.

use super::call::{BufferConfig, BufferDescriptor, Status, ThreadKoid};

/// What a back end can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// The number of CPUs that can be traced, or 0 if CPUs cannot.
    pub cpus: u16,
    /// Whether threads can be traced.
    pub threads: bool,
    /// The number of address ranges, at most 2.
    pub address_ranges: u8,
    /// Whether one address space can be selected.
    pub address_space_match: bool,
    /// The bits of [`ctl`](super::ctl) that may be set.
    pub ctl: u64,
    /// The values of [`ctl::MtcFrequency`](super::ctl::MtcFrequency) but 0, one bit each.
    pub mtc_frequencies: u16,
    /// The values of [`ctl::CycleThreshold`](super::ctl::CycleThreshold) but 0, one bit each.
    pub cycle_thresholds: u16,
    /// The values of [`ctl::PsbFrequency`](super::ctl::PsbFrequency) but 0, one bit each.
    pub psb_frequencies: u16,
}

/// Traces into buffers. The controller calls it in the right order only, and with arguments that it
/// can do.
pub trait Backend {
    /// A read-only handle of a chunk.
    type Chunk;

    /// Returns what the back end can do. It is always the same.
    fn capabilities(&self) -> Capabilities;

    /// Allocates the buffer `descriptor`, which is not allocated.
    ///
    /// # Errors
    ///
    /// Any; then there is no buffer.
    fn allocate(
        &mut self,
        descriptor: BufferDescriptor,
        config: &BufferConfig,
    ) -> Result<(), Status>;

    /// Frees a buffer, into which nothing is traced. It has no thread.
    fn free(&mut self, descriptor: BufferDescriptor);

    /// Gives a buffer without a thread to a thread without a buffer. If tracing is started, the
    /// thread is traced from now on.
    ///
    /// # Errors
    ///
    /// Any; then the buffer has no thread.
    fn assign(&mut self, descriptor: BufferDescriptor, thread: ThreadKoid) -> Result<(), Status>;

    /// Takes a buffer back from its thread, which is not traced any more. The thread may have
    /// ended.
    fn release(&mut self, descriptor: BufferDescriptor);

    /// Starts tracing, of all CPUs or of all threads that have a buffer.
    ///
    /// # Errors
    ///
    /// Any; then nothing is traced.
    fn start(&mut self) -> Result<(), Status>;

    /// Stops tracing, after which the buffers do not change.
    fn stop(&mut self);

    /// Returns the offset in a buffer where tracing stopped, or is now.
    fn capture_end(&self, descriptor: BufferDescriptor) -> u64;

    /// Returns a handle of a chunk of a buffer.
    ///
    /// # Errors
    ///
    /// The handle cannot be made.
    fn chunk(&self, descriptor: BufferDescriptor, chunk: u32) -> Result<Self::Chunk, Status>;
}
