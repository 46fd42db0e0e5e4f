//! Places for copies of rolling buffers that the guard sees too.

use std::io;
use std::os::fd::AsFd;

use trace_protocol::buffer::consumer::SaveSlot;
use trace_protocol::buffer::header::{BufferingMode, Layout};
use trace_protocol::socket::MemoryFile;

use super::handle::GuardHandle;
use super::messages::Message;
use crate::memory::available_memory;

/// The memory for copies, in bytes, that a session may use however many providers it has.
const MEMORY: usize = 64 << 20;

/// Copies of one provider that there may be at a time however large they are: its whole buffer
/// while half of it is written.
fn min_slots(layout: &Layout) -> usize {
    layout.rolling_buffers() * 3 / 2
}

/// A session's places.
#[derive(Debug)]
pub(crate) struct SlotPool {
    guard: GuardHandle,
    slots: Vec<SaveSlot>,
    memory: usize,
}

impl SlotPool {
    /// Makes the first places, so that the first saves need not wait for memory. `layout` is the
    /// usual one.
    pub(crate) fn new(guard: GuardHandle, layout: Option<Layout>) -> Self {
        let mut pool = Self { guard, slots: Vec::new(), memory: 0 };
        let streaming = layout.filter(|layout| layout.mode() == BufferingMode::Streaming);
        let copies = streaming.map(|layout| (min_slots(&layout), SaveSlot::size(&layout)));
        if let Some((number, size)) = copies.filter(|(number, size)| number * size <= MEMORY) {
            for _ in 0..number {
                pool.add(size);
            }
        }
        pool
    }

    /// Returns a place for a copy: one that is not needed any more, else a new one. `None` if that
    /// is too much memory, or the guard does not take it.
    pub(crate) fn allocate(&mut self, layout: &Layout, providers: usize) -> Option<SaveSlot> {
        let archived = self.guard.archived_bytes();
        let mut fit = self.slots.iter().filter(|slot| slot.fits(layout));
        if let Some(free) = fit.find(|slot| slot.is_free(archived)) {
            return Some(free.clone());
        }
        let size = SaveSlot::size(layout);
        if self.memory + size > MEMORY.max(size.saturating_mul(min_slots(layout) * providers)) {
            return None;
        }
        self.add(size)
    }

    fn add(&mut self, size: usize) -> Option<SaveSlot> {
        if available_memory() / 2 < size as u64 {
            return None;
        }
        let slot = self.try_add(size).ok()?;
        self.slots.push(slot.clone());
        self.memory += size;
        Some(slot)
    }

    fn try_add(&self, size: usize) -> io::Result<SaveSlot> {
        let memory = MemoryFile::new("trace-copy", size as u64)?;
        let slot = SaveSlot::map(memory.as_fd(), size)?;
        self.guard.link.send(&Message::Slot(size as u64), &[memory.as_fd()])?;
        Ok(slot)
    }
}
