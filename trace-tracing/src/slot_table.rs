//! Where slots are: each span has one home, which is found by its id alone.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use crate::slot::Slot;
use crate::spans::{self, Slots};

/// Slots in a block.
const BLOCK: usize = 256;

/// Slots, whose memory comes in blocks as they are used.
#[derive(Debug)]
pub(crate) struct Homes {
    owner: u32,
    /// Which slot is a span's home.
    place: fn(u64) -> usize,
    blocks: Box<[OnceLock<Box<[Slot]>>]>,
}

impl Homes {
    /// Room for `count` slots of the layer `owner`. `place` may exceed it: those spans have no
    /// home.
    pub(crate) fn new(owner: u32, count: usize, place: fn(u64) -> usize) -> Self {
        Self { owner, place, blocks: (0..count.div_ceil(BLOCK)).map(|_| OnceLock::new()).collect() }
    }

    #[inline]
    pub(crate) fn owner(&self) -> u32 {
        self.owner
    }

    /// The slot that a span has if no other one has it.
    #[inline]
    pub(crate) fn of(&self, id: u64) -> Option<&Slot> {
        self.at((self.place)(id))
    }

    /// The slot with this number.
    #[inline]
    pub(crate) fn at(&self, place: usize) -> Option<&Slot> {
        let block = self.blocks.get(place / BLOCK)?;
        let slots = block.get_or_init(|| (0..BLOCK).map(|_| Slot::default()).collect());
        slots.get(place % BLOCK)
    }

    /// Shows the spans that wait for something, and would else be seen only when they go on.
    fn show_waiting(&self) {
        for slot in self.blocks.iter().filter_map(OnceLock::get).flat_map(|block| block.iter()) {
            if slot.is_waiting() {
                spans::show_track(self, slot.id());
            }
        }
    }
}

impl Slots for Homes {
    #[inline]
    fn owner(&self) -> u32 {
        self.owner
    }

    #[inline]
    fn with<R>(&self, id: u64, act: impl FnOnce(&Slot) -> R) -> Option<R> {
        self.of(id).filter(|slot| slot.is_of(id)).map(act)
    }
}

/// The homes of all layers.
static ALL: Mutex<Vec<Weak<Homes>>> = Mutex::new(Vec::new());

/// Has the waiting spans in `homes` shown when a recording ends.
pub(crate) fn add(homes: &Arc<Homes>) {
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    all.retain(|homes| homes.strong_count() > 0);
    all.push(Arc::downgrade(homes));
}

/// Shows the waiting spans of all layers. For the end of a recording.
pub(crate) fn show_waiting() {
    let all: Vec<Arc<Homes>> = ALL
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .iter()
        .filter_map(Weak::upgrade)
        .collect();
    all.iter().for_each(|homes| homes.show_waiting());
}
