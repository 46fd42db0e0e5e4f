//! The back ends of the service.

use std::os::fd::OwnedFd;

use super::backend::{Settings, StepBackend};
use super::hardware::HardwareBackend;
use super::worker::Worker;
use crate::controller::{
    Backend, BufferConfig, BufferDescriptor, Capabilities, Mode, SideData, Status, ThreadKoid,
};
use crate::hardware::Pmu;

/// A back end of the service: by stops, or by the processor.
#[derive(Debug)]
pub(super) enum ServedBackend {
    Step(StepBackend),
    Hardware(Box<HardwareBackend>),
}

/// Calls a method of the back end.
macro_rules! of_each {
    ($backend:expr, $method:ident($($argument:expr),*)) => {
        match $backend {
            ServedBackend::Step(backend) => backend.$method($($argument),*),
            ServedBackend::Hardware(backend) => backend.$method($($argument),*),
        }
    };
}

impl ServedBackend {
    /// Creates the back end of the settings, or that of the processor.
    pub(super) fn new(settings: Settings, pmu: Option<Pmu>) -> Self {
        match pmu {
            Some(pmu) => Self::Hardware(Box::new(HardwareBackend::new(pmu, settings.bytes))),
            None => Self::Step(StepBackend::new(settings)),
        }
    }

    /// Returns the number of threads that are not released yet.
    pub(super) fn leaving(&self) -> u32 {
        match self {
            Self::Step(backend) => backend.leaving(),
            Self::Hardware(_) => 0,
        }
    }

    /// Takes the workers whose threads are not released yet.
    pub(super) fn take_leaving(&mut self) -> Vec<Worker> {
        match self {
            Self::Step(backend) => backend.take_leaving(),
            Self::Hardware(_) => Vec::new(),
        }
    }
}

impl Backend for ServedBackend {
    type Chunk = OwnedFd;

    fn capabilities(&self) -> Capabilities {
        of_each!(self, capabilities())
    }

    fn initialize(&mut self, mode: Mode) {
        of_each!(self, initialize(mode))
    }

    fn allocate(
        &mut self,
        descriptor: BufferDescriptor,
        config: &BufferConfig,
    ) -> Result<(), Status> {
        of_each!(self, allocate(descriptor, config))
    }

    fn free(&mut self, descriptor: BufferDescriptor) {
        of_each!(self, free(descriptor))
    }

    fn assign(&mut self, descriptor: BufferDescriptor, thread: ThreadKoid) -> Result<(), Status> {
        of_each!(self, assign(descriptor, thread))
    }

    fn release(&mut self, descriptor: BufferDescriptor) -> Result<(), Status> {
        of_each!(self, release(descriptor))
    }

    fn start(&mut self) -> Result<(), Status> {
        of_each!(self, start())
    }

    fn stop(&mut self) {
        of_each!(self, stop())
    }

    fn capture_end(&self, descriptor: BufferDescriptor) -> u64 {
        of_each!(self, capture_end(descriptor))
    }

    fn chunk(&self, descriptor: BufferDescriptor, chunk: u32) -> Result<OwnedFd, Status> {
        of_each!(self, chunk(descriptor, chunk))
    }

    fn side_data(&self, descriptor: BufferDescriptor) -> Result<SideData<OwnedFd>, Status> {
        of_each!(self, side_data(descriptor))
    }
}
