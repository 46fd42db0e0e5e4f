//! The slots of a process: handed to threads, taken back when they end, never freed.

use core::ptr::null_mut;

use crate::sync::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use super::slot::Slot;

/// Slots for as many threads as trace at once, lock-free.
///
/// The slot that was given back last is handed out first, so that short threads that follow one
/// another share one chunk.
#[derive(Debug)]
pub(super) struct Pool {
    slots: AtomicPtr<Slot>,
    capacity: AtomicU32,
    /// Slots below this index have been handed out at least once.
    used: AtomicU32,
    /// Head of the free list: one more than a slot's index in the low half; the high half counts
    /// changes, against ABA.
    free: AtomicU64,
}

impl Pool {
    crate::sync::const_new! {
        pub(super) fn new() -> Self {
            Self {
                slots: AtomicPtr::new(null_mut()),
                capacity: AtomicU32::new(0),
                used: AtomicU32::new(0),
                free: AtomicU64::new(0),
            }
        }
    }

    /// Gives the pool its memory, once.
    pub(super) fn provide(&self, slots: &'static [Slot]) {
        let capacity = u32::try_from(slots.len()).unwrap_or(u32::MAX - 1);
        self.slots.store(slots.as_ptr().cast_mut(), Ordering::Relaxed);
        self.capacity.store(capacity, Ordering::Release);
    }

    /// Becomes a pool without memory.
    pub(super) fn forget(&self) {
        self.capacity.store(0, Ordering::Relaxed);
        self.used.store(0, Ordering::Relaxed);
        self.free.store(0, Ordering::Relaxed);
    }

    pub(super) fn is_provided(&self) -> bool {
        self.capacity.load(Ordering::Acquire) != 0
    }

    /// The slots that have ever been handed out.
    pub(super) fn used(&self) -> &'static [Slot] {
        let used = self.used.load(Ordering::Acquire).min(self.capacity.load(Ordering::Acquire));
        if used == 0 {
            return &[];
        }
        // SAFETY: `provide` stored a `&'static` slice of `capacity` slots before its release store
        // to `capacity`, acquired above, and `used` does not exceed that.
        unsafe { core::slice::from_raw_parts(self.slots.load(Ordering::Relaxed), used as usize) }
    }

    /// Hands out a slot; `None` where as many threads as there are slots hold one.
    pub(super) fn take(&self) -> Option<&'static Slot> {
        self.reuse().or_else(|| {
            let capacity = self.capacity.load(Ordering::Acquire);
            let index = self
                .used
                .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |used| {
                    (used < capacity).then_some(used + 1)
                })
                .ok()?;
            self.used().get(index as usize)
        })
    }

    fn reuse(&self) -> Option<&'static Slot> {
        let mut head = self.free.load(Ordering::Acquire);
        loop {
            let index = (head as u32).checked_sub(1)?;
            let slot = self.used().get(index as usize)?;
            let next = next_version(head) | u64::from(slot.next_free.load(Ordering::Relaxed));
            match self.free.compare_exchange_weak(head, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(slot),
                Err(found) => head = found,
            }
        }
    }

    /// Whether the slot is one of this pool's.
    pub(super) fn owns(&self, slot: &Slot) -> bool {
        position(self.used(), slot).is_some()
    }

    /// Takes a slot back.
    pub(super) fn give_back(&self, slot: &'static Slot) {
        let Some(index) = position(self.used(), slot) else { return };
        let mut head = self.free.load(Ordering::Relaxed);
        loop {
            slot.next_free.store(head as u32, Ordering::Relaxed);
            let new = next_version(head) | u64::from(index + 1);
            match self.free.compare_exchange_weak(head, new, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return,
                Err(found) => head = found,
            }
        }
    }
}

fn next_version(head: u64) -> u64 {
    (head & !u64::from(u32::MAX)).wrapping_add(1 << 32)
}

/// The index of a slot by its address.
fn position(slots: &[Slot], slot: &Slot) -> Option<u32> {
    let offset = (slot as *const Slot as usize).checked_sub(slots.as_ptr() as usize)?;
    let index = offset / size_of::<Slot>();
    (index < slots.len()).then_some(index as u32)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn pool(capacity: usize) -> Pool {
        let pool = Pool::new();
        pool.provide(Box::leak((0..capacity).map(|_| Slot::new()).collect()));
        pool
    }

    #[test]
    fn the_last_slot_given_back_is_handed_out_first() {
        let pool = pool(3);
        let (a, b) = (pool.take().unwrap(), pool.take().unwrap());
        assert!(!core::ptr::eq(a, b));
        pool.give_back(a);
        pool.give_back(b);
        assert!(core::ptr::eq(pool.take().unwrap(), b));
        assert!(core::ptr::eq(pool.take().unwrap(), a));
        assert!(pool.take().is_some());
        assert!(pool.take().is_none());
        assert_eq!(pool.used().len(), 3);
    }

    #[test]
    fn no_slot_is_handed_out_twice_at_once() {
        let pool = pool(4);
        let rounds = if cfg!(miri) { 50 } else { 20_000 };
        std::thread::scope(|scope| {
            for thread in 1..=4 {
                let pool = &pool;
                scope.spawn(move || {
                    for _ in 0..rounds {
                        let slot = pool.take().expect("there are as many slots as threads");
                        assert_eq!(slot.thread.swap(thread, Ordering::Relaxed), 0);
                        assert_eq!(slot.thread.swap(0, Ordering::Relaxed), thread);
                        pool.give_back(slot);
                    }
                });
            }
        });
    }
}
