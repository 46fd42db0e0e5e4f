//! Memory for the states of threads, made before threads need it: a traced call makes no system
//! call.
//!
//! Free states are a list whose head has a number of changes beside the address, so that a thread
//! that is interrupted between its load and its store finds that the list has changed.

use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// A state in the list, with the next one. All zeros is valid if that is so for `T`.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Entry<T> {
    /// Rules: stored by the owner of the entry, before it puts it into the list. On the page that
    /// a value's first use takes.
    next: AtomicPtr<Entry<T>>,
    pub(crate) value: T,
}

/// The free states, of which there are always some.
#[derive(Debug)]
pub(crate) struct Pool<T: 'static> {
    /// The address of the first free entry, in the lower 48 bits, and the number of changes.
    ///
    /// Rules: entries are never freed, so a thread may read the `next` of one that is taken.
    head: AtomicU64,
    made: AtomicUsize,
    /// The number of free entries, for [`Pool::missing`] only.
    free: AtomicUsize,
    entries: PhantomData<AtomicPtr<Entry<T>>>,
}

const ADDRESS: u64 = (1 << 48) - 1;
const CHANGE: u64 = 1 << 48;
/// The least number of entries that are made at once, in which no memory is used.
const LEAST: usize = 64;

impl<T> Pool<T> {
    pub(crate) const fn new() -> Self {
        Self {
            head: AtomicU64::new(0),
            made: AtomicUsize::new(0),
            free: AtomicUsize::new(0),
            entries: PhantomData,
        }
    }

    /// Takes a free entry. Works in signal handlers.
    pub(crate) fn take(&self) -> Option<&'static Entry<T>> {
        let mut head = self.head.load(Ordering::Acquire);
        loop {
            let first: *const Entry<T> = ptr::with_exposed_provenance((head & ADDRESS) as usize);
            // SAFETY: an address in the list is 0 or that of an entry from `put`, never freed.
            let first = unsafe { first.as_ref() }?;
            let next = first.next.load(Ordering::Relaxed);
            match self.replace(head, next) {
                Ok(()) => {
                    self.free.fetch_sub(1, Ordering::Relaxed);
                    return Some(first);
                }
                Err(now) => head = now,
            }
        }
    }

    /// Puts an entry into the list, which its owner uses no more. Works in signal handlers.
    pub(crate) fn put(&self, entry: &'static Entry<T>) {
        self.free.fetch_add(1, Ordering::Relaxed);
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            let next = ptr::with_exposed_provenance_mut((head & ADDRESS) as usize);
            entry.next.store(next, Ordering::Relaxed);
            match self.replace(head, ptr::from_ref(entry).cast_mut()) {
                Ok(()) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Replaces the first entry. The order makes an entry's contents visible to who takes it.
    fn replace(&self, head: u64, first: *mut Entry<T>) -> Result<(), u64> {
        let changed = (head & !ADDRESS).wrapping_add(CHANGE) | first.expose_provenance() as u64;
        self.head.compare_exchange(head, changed, Ordering::AcqRel, Ordering::Acquire).map(drop)
    }

    /// Returns how many entries must be made: when few are free, as many as there are.
    pub(crate) fn missing(&self) -> usize {
        let (made, free) = (self.made.load(Ordering::Relaxed), self.free.load(Ordering::Relaxed));
        let used = made.saturating_sub(free);
        if free >= used.max(LEAST / 2) {
            return 0;
        }
        made.max(LEAST)
    }

    /// Adds new entries.
    pub(crate) fn add(&self, entries: &'static [Entry<T>]) {
        self.made.fetch_add(entries.len(), Ordering::Relaxed);
        entries.iter().for_each(|entry| self.put(entry));
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn entries(count: usize) -> &'static [Entry<AtomicUsize>] {
        let entry = || Entry { value: AtomicUsize::new(0), next: AtomicPtr::default() };
        Vec::leak((0..count).map(|_| entry()).collect())
    }

    #[test]
    fn as_many_are_made_as_there_are() {
        let pool = Pool::new();
        assert!(pool.take().is_none());
        assert_eq!(pool.missing(), LEAST);
        pool.add(entries(LEAST));
        assert_eq!(pool.missing(), 0);
        let taken: Vec<_> = (0..LEAST / 2).filter_map(|_| pool.take()).collect();
        assert_eq!((taken.len(), pool.missing()), (LEAST / 2, 0));
        let another = pool.take().unwrap();
        assert_eq!(pool.missing(), LEAST);
        pool.put(another);
        assert_eq!(pool.missing(), 0);
    }

    #[test]
    fn an_entry_has_one_owner() {
        static POOL: Pool<AtomicUsize> = Pool::new();
        POOL.add(entries(4));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        let [a, b] = [POOL.take(), POOL.take()];
                        for entry in [a, b].into_iter().flatten() {
                            assert_eq!(entry.value.fetch_add(1, Ordering::Relaxed), 0);
                            entry.value.store(0, Ordering::Relaxed);
                            POOL.put(entry);
                        }
                    }
                });
            }
        });
        assert_eq!((0..5).filter_map(|_| POOL.take()).count(), 4);
    }
}
