//! The states of a trace.

use super::backend::Backend;
use super::call::{
    Allocation, BufferConfig, BufferDescriptor, BufferState, Call, Mode, Reply, SideData, Status,
    ThreadKoid,
};
use super::config::require;

/// A controller: the state of one trace, and its back end.
///
/// A call that fails does not change the state, except that `ReleaseThreadBuffer` releases the
/// thread also if the back end fails. Dropping the controller closes it, and frees all buffers.
#[derive(Debug)]
pub struct Controller<B: Backend> {
    backend: B,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Before `Initialize`, and after `Terminate`.
    Idle,
    /// Tracing is off.
    Ready(Trace),
    /// Tracing is on.
    Active(Trace),
}

#[derive(Debug)]
struct Trace {
    allocation: Allocation,
    /// The buffers by descriptor; `None` if not allocated.
    buffers: Vec<Option<Buffer>>,
}

#[derive(Debug)]
struct Buffer {
    config: BufferConfig,
    thread: Option<ThreadKoid>,
}

impl<B: Backend> Controller<B> {
    /// Creates a controller without a trace.
    pub fn new(backend: B) -> Self {
        Self { backend, state: State::Idle }
    }

    /// Returns the back end.
    pub fn backend(&self) -> &B {
        &self.backend
    }

    /// Returns the back end, for what is not part of the protocol.
    pub fn backend_mut(&mut self) -> &mut B {
        &mut self.backend
    }

    /// Executes a call.
    ///
    /// # Errors
    ///
    /// See `docs/insntrace.md` for the errors of each call in each state.
    pub fn call(&mut self, call: Call) -> Result<Reply<B::Chunk>, Status> {
        match call {
            Call::Initialize(allocation) => self.initialize(allocation).map(done),
            Call::Terminate => self.terminate().map(done),
            Call::GetAllocation => Ok(Reply::Allocation(self.allocation())),
            Call::AllocateBuffer(config) => self.allocate(config).map(Reply::Descriptor),
            Call::AssignThreadBuffer(buffer, thread) => self.assign(buffer, thread).map(done),
            Call::ReleaseThreadBuffer(buffer, thread) => self.release(buffer, thread).map(done),
            Call::GetBufferConfig(buffer) => self.config(buffer).map(Reply::Config),
            Call::GetBufferState(buffer) => self.buffer_state(buffer).map(Reply::State),
            Call::GetChunkHandle(buffer, chunk) => self.chunk(buffer, chunk).map(Reply::Chunk),
            Call::FreeBuffer(buffer) => self.free(buffer).map(done),
            Call::Start => self.start().map(done),
            Call::GetSideData(buffer) => self.side_data(buffer).map(Reply::SideData),
            Call::Stop => {
                self.stop();
                Ok(Reply::Done)
            }
        }
    }

    /// Stops tracing, and releases and frees all buffers.
    ///
    /// Called when a connection closes, in any state.
    pub fn close(&mut self) {
        self.stop();
        if let State::Ready(trace) = std::mem::replace(&mut self.state, State::Idle) {
            for (descriptor, buffer) in trace.allocated() {
                if buffer.thread.is_some() {
                    // Other threads are not traced any more anyway.
                    let _ = self.backend.release(descriptor);
                }
                self.backend.free(descriptor);
            }
        }
    }

    fn initialize(&mut self, allocation: Allocation) -> Result<(), Status> {
        let capabilities = self.backend.capabilities();
        require(allocation.mode.is_supported(&capabilities), Status::NotSupported)?;
        require(matches!(self.state, State::Idle), Status::BadState)?;
        allocation.check(&capabilities)?;
        let buffers = (0..allocation.num_traces).map(|_| None).collect();
        self.backend.initialize(allocation.mode);
        self.state = State::Ready(Trace { allocation, buffers });
        Ok(())
    }

    fn terminate(&mut self) -> Result<(), Status> {
        let assigned = self.state.trace().is_ok_and(Trace::has_threads);
        require(!assigned, Status::BadState)?;
        self.close();
        Ok(())
    }

    fn allocation(&self) -> Option<Allocation> {
        self.state.trace().ok().map(|trace| trace.allocation)
    }

    fn allocate(&mut self, config: BufferConfig) -> Result<BufferDescriptor, Status> {
        let capabilities = self.backend.capabilities();
        let trace = self.state.trace_mut()?;
        config.check(&capabilities)?;
        let (descriptor, buffer) = trace.lowest_free()?;
        config.check_support(&capabilities)?;
        self.backend.allocate(descriptor, &config)?;
        *buffer = Some(Buffer { config, thread: None });
        Ok(descriptor)
    }

    fn assign(&mut self, descriptor: BufferDescriptor, thread: ThreadKoid) -> Result<(), Status> {
        let trace = self.state.trace_mut()?;
        require(trace.allocation.mode == Mode::Thread, Status::BadState)?;
        let has_buffer = trace.has_thread(thread);
        let buffer = trace.buffer_mut(descriptor)?;
        require(buffer.thread.is_none() && !has_buffer, Status::BadState)?;
        self.backend.assign(descriptor, thread)?;
        buffer.thread = Some(thread);
        Ok(())
    }

    /// The thread is released also if the back end fails.
    fn release(&mut self, descriptor: BufferDescriptor, thread: ThreadKoid) -> Result<(), Status> {
        let trace = self.state.trace_mut()?;
        require(trace.allocation.mode == Mode::Thread, Status::BadState)?;
        let buffer = trace.buffer_mut(descriptor)?;
        let owner = buffer.thread.ok_or(Status::BadState)?;
        require(owner == thread, Status::InvalidArgs)?;
        buffer.thread = None;
        self.backend.release(descriptor)
    }

    fn config(&self, descriptor: BufferDescriptor) -> Result<BufferConfig, Status> {
        Ok(self.state.trace()?.buffer(descriptor)?.config)
    }

    /// While a CPU is traced, only the CPU knows its position.
    fn buffer_state(&mut self, descriptor: BufferDescriptor) -> Result<BufferState, Status> {
        let trace = self.state.trace()?;
        let changing = self.state.is_active() && trace.allocation.mode == Mode::Cpu;
        require(!changing, Status::BadState)?;
        trace.buffer(descriptor)?;
        self.backend.state(descriptor)
    }

    fn chunk(&self, descriptor: BufferDescriptor, chunk: u32) -> Result<B::Chunk, Status> {
        let config = self.config(descriptor)?;
        require(chunk < config.num_chunks, Status::InvalidArgs)?;
        self.backend.chunk(descriptor, chunk)
    }

    /// While tracing is on, the side data would not match the chunks that are read later.
    fn side_data(&self, descriptor: BufferDescriptor) -> Result<SideData<B::Chunk>, Status> {
        require(!self.state.is_active(), Status::BadState)?;
        self.config(descriptor)?;
        self.backend.side_data(descriptor)
    }

    fn free(&mut self, descriptor: BufferDescriptor) -> Result<(), Status> {
        require(!self.state.is_active(), Status::BadState)?;
        let trace = self.state.trace_mut()?;
        require(trace.buffer(descriptor)?.thread.is_none(), Status::BadState)?;
        self.backend.free(descriptor);
        *trace.slot(descriptor)? = None;
        Ok(())
    }

    /// In CPU mode each CPU requires a buffer. In thread mode at least one buffer is required.
    fn start(&mut self) -> Result<(), Status> {
        require(!self.state.is_active(), Status::BadState)?;
        let trace = self.state.trace()?;
        let count = trace.allocated().count();
        let enough = match trace.allocation.mode {
            Mode::Cpu => count == trace.buffers.len(),
            Mode::Thread => count != 0,
        };
        require(enough, Status::BadState)?;
        self.backend.start()?;
        self.state = match std::mem::replace(&mut self.state, State::Idle) {
            State::Ready(trace) => State::Active(trace),
            other => other,
        };
        Ok(())
    }

    fn stop(&mut self) {
        self.state = match std::mem::replace(&mut self.state, State::Idle) {
            State::Active(trace) => {
                self.backend.stop();
                State::Ready(trace)
            }
            other => other,
        };
    }
}

impl<B: Backend> Drop for Controller<B> {
    fn drop(&mut self) {
        self.close();
    }
}

fn done<Chunk>((): ()) -> Reply<Chunk> {
    Reply::Done
}

impl State {
    fn trace(&self) -> Result<&Trace, Status> {
        match self {
            Self::Idle => Err(Status::BadState),
            Self::Ready(trace) | Self::Active(trace) => Ok(trace),
        }
    }

    fn trace_mut(&mut self) -> Result<&mut Trace, Status> {
        match self {
            Self::Idle => Err(Status::BadState),
            Self::Ready(trace) | Self::Active(trace) => Ok(trace),
        }
    }

    fn is_active(&self) -> bool {
        matches!(self, Self::Active(_))
    }
}

impl Trace {
    fn slot(&mut self, descriptor: BufferDescriptor) -> Result<&mut Option<Buffer>, Status> {
        self.buffers.get_mut(descriptor.0 as usize).ok_or(Status::InvalidArgs)
    }

    fn buffer(&self, descriptor: BufferDescriptor) -> Result<&Buffer, Status> {
        let slot = self.buffers.get(descriptor.0 as usize);
        slot.and_then(Option::as_ref).ok_or(Status::InvalidArgs)
    }

    fn buffer_mut(&mut self, descriptor: BufferDescriptor) -> Result<&mut Buffer, Status> {
        self.slot(descriptor)?.as_mut().ok_or(Status::InvalidArgs)
    }

    fn lowest_free(&mut self) -> Result<(BufferDescriptor, &mut Option<Buffer>), Status> {
        let slots = (0..).map(BufferDescriptor).zip(&mut self.buffers);
        slots.into_iter().find(|(_, buffer)| buffer.is_none()).ok_or(Status::NoResources)
    }

    fn allocated(&self) -> impl Iterator<Item = (BufferDescriptor, &Buffer)> {
        let slots = (0..).map(BufferDescriptor).zip(&self.buffers);
        slots.filter_map(|(descriptor, buffer)| Some((descriptor, buffer.as_ref()?)))
    }

    fn has_threads(&self) -> bool {
        self.allocated().any(|(_, buffer)| buffer.thread.is_some())
    }

    fn has_thread(&self, thread: ThreadKoid) -> bool {
        self.allocated().any(|(_, buffer)| buffer.thread == Some(thread))
    }
}
