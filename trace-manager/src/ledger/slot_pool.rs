//! Memory for copies of rolling buffers, which the guard shares.

use std::io;
use std::os::fd::AsFd;

use trace_protocol::buffer::consumer::SaveSlot;
use trace_protocol::buffer::header::{BufferingMode, Layout};
use trace_protocol::socket::MemoryFile;

use super::handle::GuardHandle;
use super::messages::Message;
use crate::memory::available_memory;

/// The memory for copies, in bytes, of a session with any number of providers.
const MEMORY: usize = 64 << 20;

/// The number of copies that one provider always gets: its whole buffer, and half of it again,
/// which is written meanwhile.
fn min_slots(layout: &Layout) -> usize {
    layout.rolling_buffers() * 3 / 2
}

/// The slots of a session.
#[derive(Debug)]
pub(crate) struct SlotPool {
    guard: GuardHandle,
    slots: Vec<SaveSlot>,
    memory: usize,
}

impl SlotPool {
    /// Creates the first slots in advance, so that the first saves do not wait for memory. `layout`
    /// is the default layout of a buffer.
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

    /// Returns a slot for a copy: a free one, else a new one. Returns `None` if the memory limit is
    /// reached, or the guard does not accept the slot.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{buffer, collector, layout_with};
    use crate::ledger::Guard;
    use crate::output::{ArchiveOutput, ArchiveTarget};

    /// Allocates slots and uses them, until the pool has none. Returns their number.
    fn allocate_all(rolling_size: usize, providers: usize, prepared: bool) -> (usize, usize) {
        let directory = tempfile::tempdir().unwrap();
        let target = ArchiveTarget::File(directory.path().join("a.fxt"));
        let (guard, _theirs) = Guard::pair().unwrap();
        let output = ArchiveOutput::open(target).unwrap();
        let handle = GuardHandle::begin(guard, &output, &[]).unwrap();
        let layout = layout_with(BufferingMode::Streaming, rolling_size);
        let mut pool = SlotPool::new(handle, prepared.then_some(layout));
        let at_first = pool.slots.len();
        let mut collector = collector(&buffer(&layout), layout);
        let mut number = 0;
        while let Some(slot) = pool.allocate(&layout, providers) {
            slot.set_end(u64::MAX);
            collector.copy_rolling_into(number as u32, &slot, 7);
            slot.set_end(u64::MAX);
            number += 1;
        }
        (at_first, number)
    }

    #[test]
    fn slots_share_the_memory_of_the_session() {
        assert_eq!(allocate_all(10 << 20, 1, true), (3, 6), "64 MiB have space for six");
        assert_eq!(allocate_all(10 << 20, 1, false), (0, 6));
    }

    #[test]
    fn each_provider_gets_its_least_number_of_slots() {
        assert_eq!(allocate_all(24 << 20, 1, true), (0, 3), "more than 64 MiB are not prepared");
        assert_eq!(allocate_all(24 << 20, 2, false), (0, 6));
    }
}
