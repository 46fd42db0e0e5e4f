//! How a forked child differs from its parent.

use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use once_cell::race::OnceRef;

use crate::sys;

/// The generation of a process: higher than that of each process from which it has inherited
/// memory.
///
/// A process id does not have this property: the first process of a PID namespace has the id 1, and
/// so has the first one of a namespace in it. The kernel also reuses the ids of dead processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Generation(u32);

/// The generation of this process, on a page that the kernel wipes in forked children: 0 in a child
/// that has not drawn it yet. [`NO_PAGE`] if the kernel cannot wipe it (before Linux 4.14).
static CURRENT: OnceRef<'static, AtomicU32> = OnceRef::new();

/// In [`CURRENT`] of a process whose generation is made of its process id and this number of forks
/// with handlers.
static NO_PAGE: AtomicU32 = AtomicU32::new(0);

/// The bits of a process id (`PID_MAX_LIMIT` is 2²²).
const PROCESS_ID_BITS: u32 = 22;

/// The highest generation of this process and of those from which it has inherited memory.
static HIGHEST: AtomicU32 = AtomicU32::new(0);

impl Generation {
    /// Returns the generation of this process. Only the first call makes system calls, if the
    /// kernel is Linux 4.14 or later.
    #[must_use]
    pub fn current() -> Self {
        Self::of(CURRENT.get_or_init(|| sys::map_generation().unwrap_or(&NO_PAGE)))
    }

    fn of(current: &AtomicU32) -> Self {
        if ptr::eq(current, &NO_PAGE) {
            // The id is not enough: a child in another PID namespace can have its parent's id.
            let forks = NO_PAGE.load(Ordering::Relaxed);
            return Self(std::process::id() | (forks << PROCESS_ID_BITS));
        }
        // Relaxed: the number gives access to no other memory.
        match current.load(Ordering::Relaxed) {
            0 => Self::draw(current),
            drawn => Self(drawn),
        }
    }

    fn draw(current: &AtomicU32) -> Self {
        // Before this generation is stored anywhere, so that a child draws a higher one.
        let next = HIGHEST.fetch_add(1, Ordering::SeqCst) + 1;
        let drawn = current.compare_exchange(0, next, Ordering::SeqCst, Ordering::Relaxed);
        Self(drawn.map_or_else(|by_another_thread| by_another_thread, |_| next))
    }

    /// Discards the inherited generation in a forked child, in case the page was not wiped: some
    /// emulators ignore that advice. Makes no system call, for fork handlers.
    pub fn forget() {
        if let Some(current) = CURRENT.get() {
            Self::forget_in(current);
        }
    }

    fn forget_in(current: &AtomicU32) {
        match ptr::eq(current, &NO_PAGE) {
            true => _ = NO_PAGE.fetch_add(1, Ordering::Relaxed),
            false => current.store(0, Ordering::Relaxed),
        }
    }

    /// Returns whether this is the generation of this process.
    #[must_use]
    pub fn is_current(self) -> bool {
        self == Self::current()
    }

    /// Returns the generation as a number. It is not 0.
    #[must_use]
    pub fn number(self) -> u32 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::{in_child, in_cloned_child};

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no fork")]
    fn each_process_has_another_generation() {
        let own = Generation::current();
        assert!(own.is_current() && own.number() != 0);
        assert!(in_child(|| {
            let of_child = Generation::current();
            !own.is_current()
                && of_child.is_current()
                && in_cloned_child(|| !own.is_current() && !of_child.is_current())
        }));
        assert!(own.is_current());
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no pages that are wiped on fork")]
    fn a_forgotten_generation_is_not_drawn_again() {
        assert!(in_child(|| {
            let inherited = Generation::current();
            Generation::forget();
            !inherited.is_current()
        }));
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no fork")]
    fn a_forked_child_with_the_same_id_has_another_generation_without_a_page() {
        assert!(in_child(|| {
            let inherited = Generation::of(&NO_PAGE);
            Generation::forget_in(&NO_PAGE);
            inherited.number() == std::process::id() && Generation::of(&NO_PAGE) != inherited
        }));
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no fork")]
    fn the_threads_of_a_process_have_one_generation() {
        assert!(in_child(|| {
            let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(Generation::current)).collect();
            threads.into_iter().all(|thread| thread.join().unwrap().is_current())
        }));
    }
}
