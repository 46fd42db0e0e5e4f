//! The threads of the tracer, by their ids: a process can wait until they have ended, also without
//! `/proc`.
//!
//! The list needs no lock, which a forked child could find held for ever.

use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

/// A thread. The id is stored by the thread that starts it, then by itself.
#[derive(Debug)]
pub(crate) struct Started {
    /// The id of the thread, [`NONE`], or [`STARTING`].
    id: AtomicI32,
    /// Rules: stored before the entry is in the list, and never changed.
    next: *const Started,
}

// SAFETY: `next` is never changed once threads share the entry.
unsafe impl Sync for Started {}

const NONE: i32 = 0;
const STARTING: i32 = -1;

/// Rules: entries are never removed, so that a thread may follow the list at any time.
static LIST: AtomicPtr<Started> = AtomicPtr::new(ptr::null_mut());

/// Announces a thread that is about to be started.
pub(crate) fn announce() -> &'static Started {
    entries().find(|entry| entry.take()).unwrap_or_else(add)
}

/// Announces the calling thread.
pub fn announce_own_thread() {
    announce().runs_here();
}

/// Returns whether all threads of the tracer have ended, so that the kernel has forgotten them.
pub fn have_threads_ended() -> bool {
    entries().all(|entry| has_ended(entry.id.load(Ordering::Acquire)))
}

impl Started {
    /// Stores that the calling thread is the one.
    pub(crate) fn runs_here(&self) {
        // SAFETY: the call has no arguments.
        let id = unsafe { libc::syscall(libc::SYS_gettid) } as i32;
        self.id.store(id, Ordering::Release);
    }

    /// Stores that the thread was not started.
    pub(crate) fn has_failed(&self) {
        self.id.store(NONE, Ordering::Release);
    }

    /// Takes the entry of a thread that has ended.
    fn take(&self) -> bool {
        let id = self.id.load(Ordering::Acquire);
        has_ended(id)
            && self.id.compare_exchange(id, STARTING, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

fn has_ended(id: i32) -> bool {
    id == NONE || (id != STARTING && !is_thread(id))
}

/// Returns whether this process has a thread with this id.
fn is_thread(id: i32) -> bool {
    let process = std::process::id();
    // SAFETY: the call takes integers, and sends no signal.
    let result = unsafe { libc::syscall(libc::SYS_tgkill, process, id, 0) };
    result == 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH)
}

fn entries() -> impl Iterator<Item = &'static Started> {
    let mut next = LIST.load(Ordering::Acquire).cast_const();
    std::iter::from_fn(move || {
        // SAFETY: entries of the list are never freed.
        let entry: &'static Started = unsafe { next.as_ref() }?;
        next = entry.next;
        Some(entry)
    })
}

fn add() -> &'static Started {
    let mut first = LIST.load(Ordering::Acquire);
    let entry = Box::into_raw(Box::new(Started { id: AtomicI32::new(STARTING), next: first }));
    loop {
        match LIST.compare_exchange(first, entry, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: the entry was made above, and is never freed.
            Ok(_) => return unsafe { &*entry },
            Err(now) => {
                first = now;
                // SAFETY: no other thread has the entry yet.
                unsafe { (*entry).next = now };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_thread_has_ended_when_the_kernel_has_forgotten_it() {
        let entry = announce();
        assert!(!has_ended(entry.id.load(Ordering::Relaxed)), "it starts");
        let thread = thread::spawn(|| {
            entry.runs_here();
            assert!(is_thread(entry.id.load(Ordering::Relaxed)));
            assert!(!have_threads_ended());
        });
        thread.join().unwrap();
        while !has_ended(entry.id.load(Ordering::Relaxed)) {
            thread::yield_now();
        }
        assert!(entry.take(), "another thread may have the entry");
        assert!(!entry.take());
        entry.has_failed();
        assert!(has_ended(entry.id.load(Ordering::Relaxed)));
    }
}
