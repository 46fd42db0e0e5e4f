//! A back end that does not trace, and checks its calls.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use trace_insntrace::controller::{
    ctl, Backend, BufferConfig, BufferDescriptor, BufferState, Capabilities, Losses, SideData,
    Status, ThreadKoid,
};

pub(crate) const CPUS: u16 = 2;

/// All features of a back end.
pub(crate) const ALL: Capabilities = Capabilities {
    cpus: CPUS,
    threads: true,
    address_ranges: 2,
    address_space_match: true,
    ctl: !(1 | 1 << 6 | 1 << 8),
    mtc_frequencies: 1 << 3,
    cycle_thresholds: 1 << 2,
    psb_frequencies: 1 << 5,
};

/// The features of a software back end.
pub(crate) const LEAST: Capabilities = Capabilities {
    cpus: 0,
    threads: true,
    address_ranges: 0,
    address_space_match: false,
    ctl: ctl::ALWAYS,
    mtc_frequencies: 0,
    cycle_thresholds: 0,
    psb_frequencies: 0,
};

/// The state of the back end, which remains visible after the controller is dropped.
#[derive(Debug, Default)]
pub(crate) struct Held {
    pub(crate) buffers: BTreeMap<u32, Option<ThreadKoid>>,
    pub(crate) active: bool,
    /// The error of the next call that may fail.
    pub(crate) failure: Option<Status>,
}

impl Held {
    pub(crate) fn is_empty(&self) -> bool {
        self.buffers.is_empty() && !self.active
    }

    fn result(&mut self) -> Result<(), Status> {
        self.failure.take().map_or(Ok(()), Err)
    }
}

#[derive(Debug)]
pub(crate) struct Fake {
    pub(crate) held: Rc<RefCell<Held>>,
    pub(crate) capabilities: Capabilities,
}

impl Fake {
    pub(crate) fn new(capabilities: Capabilities) -> Self {
        Self { held: Rc::default(), capabilities }
    }
}

impl Backend for Fake {
    type Chunk = (u32, u32);

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn allocate(
        &mut self,
        descriptor: BufferDescriptor,
        _config: &BufferConfig,
    ) -> Result<(), Status> {
        let mut held = self.held.borrow_mut();
        held.result()?;
        assert_eq!(held.buffers.insert(descriptor.0, None), None, "allocated twice");
        Ok(())
    }

    fn free(&mut self, descriptor: BufferDescriptor) {
        let mut held = self.held.borrow_mut();
        assert!(!held.active, "freed while tracing");
        assert_eq!(held.buffers.remove(&descriptor.0), Some(None), "freed without being idle");
    }

    fn assign(&mut self, descriptor: BufferDescriptor, thread: ThreadKoid) -> Result<(), Status> {
        let mut held = self.held.borrow_mut();
        held.result()?;
        assert!(!held.buffers.values().any(|owner| *owner == Some(thread)), "a thread twice");
        let buffer = held.buffers.get_mut(&descriptor.0).expect("it is allocated");
        assert_eq!(buffer.replace(thread), None, "assigned twice");
        Ok(())
    }

    fn release(&mut self, descriptor: BufferDescriptor) -> Result<(), Status> {
        let mut held = self.held.borrow_mut();
        let buffer = held.buffers.get_mut(&descriptor.0).expect("it is allocated");
        assert!(buffer.take().is_some(), "released without a thread");
        held.result()
    }

    fn start(&mut self) -> Result<(), Status> {
        let mut held = self.held.borrow_mut();
        held.result()?;
        assert!(!held.active && !held.buffers.is_empty(), "started twice, or without buffers");
        held.active = true;
        Ok(())
    }

    fn stop(&mut self) {
        let mut held = self.held.borrow_mut();
        assert!(held.active, "stopped while off");
        held.active = false;
    }

    fn state(&mut self, descriptor: BufferDescriptor) -> Result<BufferState, Status> {
        assert!(self.held.borrow().buffers.contains_key(&descriptor.0), "it is allocated");
        Ok(BufferState { capture_end: u64::from(descriptor.0) + 100, ..BufferState::default() })
    }

    fn chunk(&self, descriptor: BufferDescriptor, chunk: u32) -> Result<(u32, u32), Status> {
        let mut held = self.held.borrow_mut();
        held.result()?;
        assert!(held.buffers.contains_key(&descriptor.0), "it is allocated");
        Ok((descriptor.0, chunk))
    }

    fn side_data(&self, descriptor: BufferDescriptor) -> Result<SideData<(u32, u32)>, Status> {
        let mut held = self.held.borrow_mut();
        held.result()?;
        assert!(held.buffers.contains_key(&descriptor.0), "it is allocated");
        assert!(!held.active, "the buffer changes");
        Ok(SideData { written: 100, losses: Losses::default(), archive: (descriptor.0, u32::MAX) })
    }
}
