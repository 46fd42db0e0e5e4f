//! The recorder of this process.

use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};

use trace_protocol::buffer::producer::Recorder;

/// The recorder of this process, on pages of its own that the kernel wipes in forked children.
///
/// A child so finds a recorder that records nothing, from its first instruction on, and can't write to its parent's buffer.
pub(crate) static RECORDER: OwnPages = OwnPages(Recorder::new());

/// The largest page of Linux on this architecture, so that nothing else is on these.
#[cfg_attr(target_arch = "x86_64", repr(C, align(4096)))]
#[cfg_attr(not(target_arch = "x86_64"), repr(C, align(65536)))]
#[derive(Debug)]
pub(crate) struct OwnPages(Recorder);

impl Deref for OwnPages {
    type Target = Recorder;

    #[inline(always)]
    fn deref(&self) -> &Recorder {
        &self.0
    }
}

impl OwnPages {
    /// Has the kernel wipe the recorder in forked children, where it can (Linux 4.14). Elsewhere the fork handler alone does.
    pub(crate) fn wipe_on_fork(&self) {
        let start = std::ptr::from_ref(self).cast_mut().cast();
        // SAFETY: the range is this static's, whole pages by its alignment; the advice changes nothing in this process.
        unsafe { libc::madvise(start, size_of::<Self>(), libc::MADV_WIPEONFORK) };
    }
}

/// Whether anything is being recorded.
#[inline(always)]
pub fn is_recording() -> bool {
    RECORDER.is_recording()
}

/// Bits of a nonce that count within a process; the id of the process is above them.
const NONCE_BITS: u32 = 42;

/// The last nonce, or a value below `1 << NONCE_BITS` in a process that has given none.
static NONCE: AtomicU64 = AtomicU64::new(0);

/// A number that is unique on this machine, and not 0.
#[inline]
pub fn nonce() -> u64 {
    let nonce = NONCE.fetch_add(1, Ordering::Relaxed) + 1;
    if nonce >> NONCE_BITS != 0 {
        nonce
    } else {
        first_nonce(nonce)
    }
}

#[cold]
fn first_nonce(count: u64) -> u64 {
    let base = u64::from(std::process::id()) << NONCE_BITS;
    let without_base = |last: u64| (last >> NONCE_BITS == 0).then_some(last | base);
    let _by_another = NONCE.fetch_update(Ordering::Relaxed, Ordering::Relaxed, without_base);
    base | count
}

/// Has a forked child give nonces of its own.
pub(crate) fn forget_nonces() {
    NONCE.store(0, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn nonces_are_unique_and_not_zero() {
        let threads: Vec<_> =
            (0..4).map(|_| std::thread::spawn(|| (0..1000).map(|_| nonce()).collect::<Vec<_>>())).collect();
        let nonces: HashSet<u64> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        assert_eq!(nonces.len(), 4000);
        assert!(!nonces.contains(&0));
    }
}
