//! A back end that panics.
#![allow(dead_code)] // Not every test uses all of it.

use std::os::fd::OwnedFd;

use trace_insntrace::controller::{
    Backend, BufferConfig, BufferDescriptor, BufferState, Capabilities, SideData, Status,
    ThreadKoid,
};
use trace_insntrace::service::{Settings, StepBackend};
use trace_insntrace::step::Engine;

/// A method of a back end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Allocate,
    Free,
    Assign,
    Release,
    Start,
    Stop,
    State,
    Chunk,
    SideData,
}

/// A back end of which one method panics.
pub(crate) struct Panicking {
    backend: StepBackend,
    method: Method,
}

impl Panicking {
    pub(crate) fn new(engine: Engine, method: Method) -> Self {
        let settings = Settings { engine, ..Settings::default() };
        Self { backend: StepBackend::new(settings), method }
    }

    fn check(&self, method: Method) {
        assert!(method != self.method, "{method:?}");
    }
}

impl Backend for Panicking {
    type Chunk = OwnedFd;

    fn capabilities(&self) -> Capabilities {
        self.backend.capabilities()
    }

    fn allocate(&mut self, buffer: BufferDescriptor, config: &BufferConfig) -> Result<(), Status> {
        self.check(Method::Allocate);
        self.backend.allocate(buffer, config)
    }

    fn free(&mut self, buffer: BufferDescriptor) {
        self.check(Method::Free);
        self.backend.free(buffer);
    }

    fn assign(&mut self, buffer: BufferDescriptor, thread: ThreadKoid) -> Result<(), Status> {
        self.check(Method::Assign);
        self.backend.assign(buffer, thread)
    }

    fn release(&mut self, buffer: BufferDescriptor) -> Result<(), Status> {
        self.check(Method::Release);
        self.backend.release(buffer)
    }

    fn start(&mut self) -> Result<(), Status> {
        self.check(Method::Start);
        self.backend.start()
    }

    fn stop(&mut self) {
        self.check(Method::Stop);
        self.backend.stop();
    }

    fn state(&mut self, buffer: BufferDescriptor) -> Result<BufferState, Status> {
        self.check(Method::State);
        self.backend.state(buffer)
    }

    fn chunk(&self, buffer: BufferDescriptor, chunk: u32) -> Result<OwnedFd, Status> {
        self.check(Method::Chunk);
        self.backend.chunk(buffer, chunk)
    }

    fn side_data(&self, buffer: BufferDescriptor) -> Result<SideData<OwnedFd>, Status> {
        self.check(Method::SideData);
        self.backend.side_data(buffer)
    }
}
