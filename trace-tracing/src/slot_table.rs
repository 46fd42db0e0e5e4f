//! The slots of a layer's spans, found by the span's id alone.

use std::sync::{Arc, Weak};

use once_cell::race::OnceBox;

use crate::slot::Slot;
use crate::spans::{self, Slots};
use crate::thread::{self, Key};

/// Slots per block.
const BLOCK: usize = 256;

/// Returns the slot number of a span id in a table with this many slots.
type Place = fn(u64, usize) -> usize;

/// Slots in blocks, which are allocated at their first use.
#[derive(Debug)]
pub(crate) struct SlotTable {
    owner: u32,
    count: usize,
    place: Place,
    blocks: Box<[OnceBox<[Slot; BLOCK]>]>,
    /// A table of twice the size, for spans whose slot here belongs to another span.
    next: OnceBox<SlotTable>,
}

impl SlotTable {
    /// Creates a table for `count` slots of the layer `owner`. `place` returns less than `count`.
    pub(crate) fn new(owner: u32, count: usize, place: Place) -> Self {
        let blocks = (0..count.div_ceil(BLOCK)).map(|_| OnceBox::new()).collect();
        Self { owner, count, place, blocks, next: OnceBox::new() }
    }

    /// Returns the slot with this number.
    #[inline]
    pub(crate) fn at(&self, place: usize) -> Option<&Slot> {
        let block = self.blocks.get(place / BLOCK)?;
        block.get_or_init(new_block).get(place % BLOCK)
    }

    /// Takes a slot for the span `id`, in this table or in a larger one of up to `most` slots.
    #[inline]
    pub(crate) fn claim(&self, id: u64, most: usize) -> Option<&Slot> {
        let slot = self.at((self.place)(id, self.count)).filter(|slot| slot.claim());
        slot.or_else(|| self.claim_next(id, most))
    }

    #[cold]
    fn claim_next(&self, id: u64, most: usize) -> Option<&Slot> {
        let count = Some(2 * self.count).filter(|count| *count <= most)?;
        let next = self.next.get_or_init(|| Box::new(Self::new(self.owner, count, self.place)));
        next.claim(id, most)
    }

    /// Returns the slot of the open span `id`.
    #[inline]
    fn of(&self, id: u64) -> Option<&Slot> {
        let place = (self.place)(id, self.count);
        let slot = self.blocks.get(place / BLOCK)?.get().and_then(|block| block.get(place % BLOCK));
        match slot.filter(|slot| slot.is_of(id)) {
            None => self.of_next(id),
            slot => slot,
        }
    }

    #[cold]
    fn of_next(&self, id: u64) -> Option<&Slot> {
        self.next.get()?.of(id)
    }

    /// Writes the tracks of waiting spans, which would otherwise appear only when the spans
    /// continue. `slots` has all slots of the layer.
    fn show_waiting(&self, slots: &Self) {
        for slot in self.blocks.iter().filter_map(OnceBox::get).flat_map(|block| block.iter()) {
            if slot.is_waiting() {
                spans::show_track(slots, slot.id());
            }
        }
        if let Some(next) = self.next.get() {
            next.show_waiting(slots);
        }
    }
}

/// Creates a block on the heap. It is too large for some threads' stacks.
fn new_block() -> Box<[Slot; BLOCK]> {
    let slots: Vec<Slot> = (0..BLOCK).map(|_| Slot::default()).collect();
    slots.try_into().expect("the block has `BLOCK` slots")
}

impl Slots for SlotTable {
    #[inline]
    fn owner(&self) -> u32 {
        self.owner
    }

    #[inline]
    fn with<R>(&self, id: u64, act: impl FnOnce(&Slot) -> R) -> Option<R> {
        self.of(id).map(act)
    }
}

/// The most layers of a process that are registered.
const MAX_LAYERS: usize = 1024;

/// The slots of each layer, by the layer's number. Entries are set once.
static ALL: [OnceBox<Weak<SlotTable>>; MAX_LAYERS] = [const { OnceBox::new() }; MAX_LAYERS];

/// Registers `slots`: the layer's spans can be parents of traced futures, and when a recording
/// ends, the tracks of its waiting spans are written. Has no effect for layers beyond
/// [`MAX_LAYERS`].
pub(crate) fn add(slots: &Arc<SlotTable>) {
    if let Some(place) = ALL.get(slots.owner as usize) {
        let _is_new = place.set(Box::new(Arc::downgrade(slots)));
    }
}

/// Returns the slots of the layer with this number, unless it was dropped. Takes no lock.
fn of(owner: u32) -> Option<Arc<SlotTable>> {
    ALL.get(owner as usize)?.get()?.upgrade()
}

/// Writes the tracks of all layers' waiting spans, when a recording ends.
pub(crate) fn show_waiting() {
    let all = ALL.iter().filter_map(|slots| slots.get()?.upgrade());
    all.for_each(|slots| slots.show_waiting(&slots));
}

/// Returns the id of the operation of the innermost span that the thread is in, for a traced future
/// that begins in it. The span gets a track.
pub(crate) fn operation() -> Option<u64> {
    let Key { owner, id } = thread::innermost()?;
    spans::show_track(&*of(owner)?, id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_layer_is_found_by_its_number_until_it_is_dropped() {
        let layer = |owner| {
            let slots = Arc::new(SlotTable::new(owner, 1, |_, _| 0));
            add(&slots);
            slots
        };
        let first = MAX_LAYERS as u32 - 3;
        let all: Vec<_> = (first..first + 5).map(layer).collect();
        let found = |owner| of(owner).map(|slots| slots.owner);
        let kept: Vec<_> = (first..first + 3).map(Some).collect();
        assert_eq!((first..first + 3).map(found).collect::<Vec<_>>(), kept);
        assert_eq!((found(first + 3), found(first + 4)), (None, None));
        drop(all);
        assert_eq!(found(first), None);
    }
}
