//! The interface to the tracing hardware or software.

use super::call::{
    BufferConfig, BufferDescriptor, BufferState, Mode, SideData, Status, ThreadKoid,
};

/// The features of a back end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// The number of CPUs that can be traced, or 0 if CPUs cannot be traced.
    pub cpus: u16,
    /// Whether threads can be traced.
    pub threads: bool,
    /// The number of address ranges, at most 2.
    pub address_ranges: u8,
    /// Whether one address space can be selected.
    pub address_space_match: bool,
    /// The bits of [`ctl`](super::ctl) that may be set.
    pub ctl: u64,
    /// The values of [`ctl::MtcFrequency`](super::ctl::MtcFrequency) other than 0, one bit each.
    pub mtc_frequencies: u16,
    /// The values of [`ctl::CycleThreshold`](super::ctl::CycleThreshold) other than 0, one bit
    /// each.
    pub cycle_thresholds: u16,
    /// The values of [`ctl::PsbFrequency`](super::ctl::PsbFrequency) other than 0, one bit each.
    pub psb_frequencies: u16,
}

/// Traces into buffers. The controller calls it only in the right order, and only with supported
/// arguments.
pub trait Backend {
    /// A read-only handle of a chunk.
    type Chunk;

    /// Returns the features of the back end. They do not change.
    fn capabilities(&self) -> Capabilities;

    /// A trace of this mode begins. There are no buffers.
    fn initialize(&mut self, mode: Mode) {
        let _ = mode;
    }

    /// Allocates the buffer `descriptor`, which is not allocated.
    ///
    /// # Errors
    ///
    /// Any error. The buffer is then not allocated.
    fn allocate(
        &mut self,
        descriptor: BufferDescriptor,
        config: &BufferConfig,
    ) -> Result<(), Status>;

    /// Frees a buffer. The buffer is not in use and has no thread.
    fn free(&mut self, descriptor: BufferDescriptor);

    /// Assigns a free buffer to a thread without one. If tracing is started, the thread is traced
    /// from then on.
    ///
    /// # Errors
    ///
    /// Any error. The buffer then has no thread.
    fn assign(&mut self, descriptor: BufferDescriptor, thread: ThreadKoid) -> Result<(), Status>;

    /// Releases a buffer from its thread, which is no longer traced. The thread may have ended.
    ///
    /// # Errors
    ///
    /// Any error. The buffer then has no thread, but threads of other buffers may not be traced any
    /// more.
    fn release(&mut self, descriptor: BufferDescriptor) -> Result<(), Status>;

    /// Starts tracing, of all CPUs or of all threads that have a buffer.
    ///
    /// # Errors
    ///
    /// Any error. Tracing is then off.
    fn start(&mut self) -> Result<(), Status>;

    /// Stops tracing. The buffers do not change afterwards.
    fn stop(&mut self);

    /// Returns the fill level of a buffer where tracing stopped, or the current one.
    ///
    /// # Errors
    ///
    /// `INTERNAL` if tracing into the buffer has failed. The packets before are in the buffer.
    fn state(&mut self, descriptor: BufferDescriptor) -> Result<BufferState, Status>;

    /// Returns a handle of a chunk of a buffer.
    ///
    /// # Errors
    ///
    /// Fails if the handle cannot be created.
    fn chunk(&self, descriptor: BufferDescriptor, chunk: u32) -> Result<Self::Chunk, Status>;

    /// Returns what is required to decode a buffer. Tracing is off.
    ///
    /// # Errors
    ///
    /// Fails if the archive cannot be created.
    fn side_data(&self, descriptor: BufferDescriptor) -> Result<SideData<Self::Chunk>, Status>;

    /// Returns the number of threads that are not traced any more, but not released yet.
    fn leaving(&self) -> u32 {
        0
    }

    /// Waits until all threads are released. Tracing is off.
    fn wait_released(&mut self) {}
}

/// A back end of any kind.
impl<B: Backend + ?Sized> Backend for Box<B> {
    type Chunk = B::Chunk;

    fn capabilities(&self) -> Capabilities {
        (**self).capabilities()
    }

    fn initialize(&mut self, mode: Mode) {
        (**self).initialize(mode);
    }

    fn allocate(
        &mut self,
        descriptor: BufferDescriptor,
        config: &BufferConfig,
    ) -> Result<(), Status> {
        (**self).allocate(descriptor, config)
    }

    fn free(&mut self, descriptor: BufferDescriptor) {
        (**self).free(descriptor);
    }

    fn assign(&mut self, descriptor: BufferDescriptor, thread: ThreadKoid) -> Result<(), Status> {
        (**self).assign(descriptor, thread)
    }

    fn release(&mut self, descriptor: BufferDescriptor) -> Result<(), Status> {
        (**self).release(descriptor)
    }

    fn start(&mut self) -> Result<(), Status> {
        (**self).start()
    }

    fn stop(&mut self) {
        (**self).stop();
    }

    fn state(&mut self, descriptor: BufferDescriptor) -> Result<BufferState, Status> {
        (**self).state(descriptor)
    }

    fn chunk(&self, descriptor: BufferDescriptor, chunk: u32) -> Result<Self::Chunk, Status> {
        (**self).chunk(descriptor, chunk)
    }

    fn side_data(&self, descriptor: BufferDescriptor) -> Result<SideData<Self::Chunk>, Status> {
        (**self).side_data(descriptor)
    }

    fn leaving(&self) -> u32 {
        (**self).leaving()
    }

    fn wait_released(&mut self) {
        (**self).wait_released();
    }
}
