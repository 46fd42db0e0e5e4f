//! CPUs of switches whose records have none.
//!
//! A running thread has the lowest number that no other running thread has. So threads that run at
//! the same time are on different CPUs.

use std::collections::{BTreeSet, HashMap};

/// The numbers of running threads.
#[derive(Debug, Default)]
pub(super) struct Slots {
    running: HashMap<u32, u16>,
    /// Numbers below `next` that no thread has.
    free: BTreeSet<u16>,
    next: u16,
}

impl Slots {
    /// Returns the number of a thread that runs.
    pub(super) fn enter(&mut self, thread: u32) -> u16 {
        if let Some(slot) = self.running.get(&thread) {
            return *slot;
        }
        let slot = self.free.pop_first().unwrap_or_else(|| {
            let next = self.next;
            self.next = next.saturating_add(1);
            next
        });
        // The last number is that of all threads beyond it.
        if slot < u16::MAX {
            self.running.insert(thread, slot);
        }
        slot
    }

    /// Returns the number of a thread that does not run from now on.
    pub(super) fn leave(&mut self, thread: u32) -> u16 {
        let slot = self.enter(thread);
        if self.running.remove(&thread).is_some() {
            self.free.insert(slot);
        }
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_run_have_different_numbers() {
        let mut slots = Slots::default();
        assert_eq!([7, 8, 7, 9].map(|thread| slots.enter(thread)), [0, 1, 0, 2]);
        assert_eq!((slots.leave(8), slots.enter(10), slots.enter(8)), (1, 1, 3));
        assert_eq!((slots.leave(11), slots.enter(12)), (4, 4));
        for thread in 100..100 + u32::from(u16::MAX) {
            slots.enter(thread);
        }
        assert_eq!((slots.enter(1), slots.leave(2)), (u16::MAX, u16::MAX));
        assert!(slots.running.len() <= usize::from(u16::MAX) && slots.free.is_empty());
    }
}
