//! The slots of a process: handed to threads, taken back when they end, never freed.

use core::ptr::null_mut;

use crate::sync::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use super::slot::Slot;

/// Slots for as many threads as trace at once, lock-free.
///
/// The slot that was given back last is handed out first, so that short threads that follow one
/// another share one chunk. Slots are in segments, each as large as all segments before it. The
/// service thread adds segments ahead of need, and their addresses never change.
#[derive(Debug)]
pub(super) struct Pool {
    segments: [Segment; SEGMENTS],
    /// Slots in all segments.
    capacity: AtomicU32,
    /// Slots below this index have been handed out at least once.
    used: AtomicU32,
    /// Slots that threads hold.
    held: AtomicU32,
    /// 1 from when a thread asks for another segment until there is one.
    asked: AtomicU32,
    /// Head of the free list: one more than a slot's index in the low half; the high half counts
    /// changes, against ABA.
    free: AtomicU64,
}

/// A piece of memory with slots.
#[derive(Debug)]
struct Segment {
    slots: AtomicPtr<Slot>,
    /// One more than the index of the last slot; 0 before there is any.
    end: AtomicU32,
}

/// Enough for more threads than Linux has.
const SEGMENTS: usize = if cfg!(loom) { 2 } else { 16 };

/// Slots of the first segment: 48 KiB.
const FIRST: u32 = 128;

/// The most slots: as many as all segments have.
const MOST: u32 = FIRST << (SEGMENTS - 1);

/// Free slots that the service thread provides at least.
const SPARE: u32 = 512;

impl Segment {
    crate::sync::const_new! {
        fn new() -> Self {
            Self { slots: AtomicPtr::new(null_mut()), end: AtomicU32::new(0) }
        }
    }
}

#[cfg(not(loom))]
const fn segments() -> [Segment; SEGMENTS] {
    [const { Segment::new() }; SEGMENTS]
}

#[cfg(loom)]
fn segments() -> [Segment; SEGMENTS] {
    core::array::from_fn(|_| Segment::new())
}

impl Pool {
    crate::sync::const_new! {
        pub(super) fn new() -> Self {
            Self {
                segments: segments(),
                capacity: AtomicU32::new(0),
                used: AtomicU32::new(0),
                held: AtomicU32::new(0),
                asked: AtomicU32::new(0),
                free: AtomicU64::new(0),
            }
        }
    }

    /// Returns how many slots the next segment has, if free slots are running low. One thread at a
    /// time asks this and adds them.
    pub(super) fn missing(&self) -> Option<u32> {
        let (capacity, held) = (self.capacity.load(Ordering::Relaxed), self.held());
        let low = capacity - held.min(capacity) < held.max(SPARE);
        if !low {
            self.asked.store(0, Ordering::Relaxed);
        }
        (low && capacity < MOST).then(|| capacity.max(FIRST))
    }

    /// Adds a segment. Does nothing if the table of segments is full.
    pub(super) fn add(&self, slots: &'static [Slot]) {
        let start = self.capacity.load(Ordering::Relaxed);
        let free = self.segments.iter().find(|segment| segment.end.load(Ordering::Relaxed) == 0);
        let (Some(segment), Ok(count)) = (free, u32::try_from(slots.len())) else { return };
        let Some(end) = start.checked_add(count).filter(|end| *end < u32::MAX) else { return };
        for (index, slot) in (start..).zip(slots) {
            slot.index.store(index, Ordering::Relaxed);
        }
        segment.slots.store(slots.as_ptr().cast_mut(), Ordering::Relaxed);
        segment.end.store(end, Ordering::Release);
        self.capacity.store(end, Ordering::Release);
        self.asked.store(0, Ordering::Release);
    }

    /// Whether free slots are running low, and no other thread has asked for more.
    pub(super) fn asks(&self) -> bool {
        let (capacity, held) = (self.capacity.load(Ordering::Relaxed), self.held());
        let low = capacity - held.min(capacity) < held.max(SPARE) / 2;
        low && self.asked.swap(1, Ordering::Relaxed) == 0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.capacity.load(Ordering::Relaxed) == 0
    }

    fn held(&self) -> u32 {
        self.held.load(Ordering::Relaxed)
    }

    /// Becomes a pool without memory.
    pub(super) fn forget(&self) {
        for segment in &self.segments {
            segment.end.store(0, Ordering::Relaxed);
        }
        for number in [&self.capacity, &self.used, &self.held, &self.asked] {
            number.store(0, Ordering::Relaxed);
        }
        self.free.store(0, Ordering::Relaxed);
    }

    /// The slots that have ever been handed out.
    pub(super) fn used(&self) -> impl Iterator<Item = &'static Slot> + '_ {
        let used = self.used.load(Ordering::Acquire);
        self.runs().flat_map(move |(start, slots)| {
            slots.iter().take((used.saturating_sub(start)) as usize)
        })
    }

    /// The segments, each with the index of its first slot.
    fn runs(&self) -> impl Iterator<Item = (u32, &'static [Slot])> + '_ {
        let mut start = 0;
        self.segments.iter().map_while(move |segment| {
            // Acquired: with the end, the slots are seen.
            let end = segment.end.load(Ordering::Acquire);
            let (first, count) = (start, end.checked_sub(start).filter(|count| *count != 0)?);
            start = end;
            let slots = segment.slots.load(Ordering::Relaxed);
            // SAFETY: `add` stored a `&'static` slice of `count` slots before its release store to
            // `end`, acquired above.
            Some((first, unsafe { core::slice::from_raw_parts(slots, count as usize) }))
        })
    }

    fn get(&self, index: u32) -> Option<&'static Slot> {
        let (start, slots) =
            self.runs().find(|(start, slots)| index - start < slots.len() as u32)?;
        slots.get((index - start) as usize)
    }

    /// Hands out a slot; `None` where threads hold all of them.
    pub(super) fn take(&self) -> Option<&'static Slot> {
        let slot = self.reuse().or_else(|| self.take_new())?;
        self.held.fetch_add(1, Ordering::Relaxed);
        Some(slot)
    }

    fn take_new(&self) -> Option<&'static Slot> {
        let capacity = self.capacity.load(Ordering::Acquire);
        let next = |used| (used < capacity).then_some(used + 1);
        let index = self.used.fetch_update(Ordering::AcqRel, Ordering::Relaxed, next).ok()?;
        self.get(index)
    }

    fn reuse(&self) -> Option<&'static Slot> {
        let mut head = self.free.load(Ordering::Acquire);
        loop {
            let index = (head as u32).checked_sub(1)?;
            let slot = self.get(index)?;
            let next = next_version(head) | u64::from(slot.next_free.load(Ordering::Relaxed));
            match self.free.compare_exchange_weak(head, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(slot),
                Err(found) => head = found,
            }
        }
    }

    /// Whether the slot is one of this pool's, and not of the process that this one was forked
    /// from.
    pub(super) fn owns(&self, slot: &Slot) -> bool {
        let own = self.get(slot.index.load(Ordering::Relaxed));
        own.is_some_and(|own| core::ptr::eq(own, slot))
    }

    /// Takes a slot back.
    pub(super) fn give_back(&self, slot: &'static Slot) {
        if !self.owns(slot) {
            return;
        }
        let index = slot.index.load(Ordering::Relaxed);
        self.held.fetch_sub(1, Ordering::Relaxed);
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn slots(count: usize) -> &'static [Slot] {
        Box::leak((0..count).map(|_| Slot::new()).collect())
    }

    fn pool(capacity: usize) -> Pool {
        let pool = Pool::new();
        pool.add(slots(capacity));
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
        assert_eq!(pool.used().count(), 3);
    }

    /// Slots of the parent process stay with its threads, which are not in the child.
    #[test]
    fn a_forked_child_hands_out_no_slot_of_its_parent() {
        let pool = pool(3);
        let (held, free) = (pool.take().unwrap(), pool.take().unwrap());
        pool.give_back(free);
        pool.forget();
        assert!(pool.is_empty() && pool.take().is_none());
        assert_eq!(pool.used().count(), 0);
        pool.add(slots(1));
        pool.give_back(held);
        let own = pool.take().unwrap();
        assert!(!core::ptr::eq(own, held) && !core::ptr::eq(own, free));
        assert!(pool.take().is_none());
    }

    #[test]
    fn segments_double_and_are_added_before_slots_run_out() {
        let pool = Pool::new();
        let mut sizes = Vec::new();
        let mut held = Vec::new();
        for _ in 0..5000 {
            while let Some(count) = pool.missing() {
                sizes.push(count);
                pool.add(slots(count as usize));
            }
            held.push(pool.take().expect("a slot ahead of need"));
        }
        assert_eq!(sizes, [128, 128, 256, 512, 1024, 2048, 4096, 8192]);
        let distinct: std::collections::HashSet<_> =
            held.iter().map(|slot| core::ptr::from_ref(*slot)).collect();
        assert_eq!(distinct.len(), 5000);
        assert!(held.iter().all(|slot| pool.owns(slot)));
        assert!(!pool.owns(&Slot::new()) && pool.used().count() == 5000);
    }

    /// Linux numbers at most 2²² threads.
    #[test]
    fn there_can_be_a_slot_for_every_thread_of_linux() {
        assert_eq!(MOST, 1 << 22);
    }

    #[test]
    fn one_thread_asks_for_a_segment() {
        let pool = pool(512);
        let asked: Vec<bool> = (0..512).map(|_| (pool.take(), pool.asks()).1).collect();
        assert_eq!(asked.iter().position(|asked| *asked), Some(256), "fewer than 256 are free");
        assert_eq!(asked.iter().filter(|asked| **asked).count(), 1);
        pool.add(slots(512));
        assert!(!pool.asks(), "512 are free, and as many are held");
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
