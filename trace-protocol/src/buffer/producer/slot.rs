//! A writer slot: what one thread needs to write records.

use core::ptr::null_mut;

use crate::sync::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use super::ends::Ends;
use super::loss::Losses;
use super::publish::Word;

/// In the epoch of an open scope: equals no epoch of the recorder, so that the end of the scope
/// takes the path on which its duration is passed on.
pub(super) const WATCHED: u64 = 1 << 61;

/// In the epoch of an open scope: equals no epoch of the recorder, so that the end of the scope is
/// found to be that of a function record.
pub(super) const FUNCTION: u64 = 1 << 60;

/// What one thread needs to write records.
///
/// Rules: only the thread that holds the slot stores to it, but for `next_free` and `index`, which
/// belong to the pool, and `named`. The service thread reads `sequence`, and takes `losses` once
/// the slot is quiescent; other threads read `entered`. The fields are atomics so that this, and a
/// signal handler on the owner's thread, is no data race; no store but those to `sequence` and
/// `entered` needs an order.
#[repr(C, align(128))]
#[derive(Debug)]
pub struct Slot {
    /// While the owner writes, it has [`BUSY`](super::interrupted::BUSY) and the address of a
    /// frame. Each trace point adds [`TURN`](super::interrupted::TURN), so that the service thread
    /// can distinguish one from the next.
    pub(super) sequence: AtomicU64,
    /// The epoch of the chunk, with [`SLOW`](super::recorder::SLOW) where each trace point has to
    /// take the slow path; 0 without a chunk.
    pub(super) epoch: AtomicU64,
    /// Where the next record goes. The word there is 0.
    pub(super) cursor: AtomicPtr<Word>,
    /// Last word of the chunk, which stays 0: a record may reach up to here.
    pub(super) limit: AtomicPtr<Word>,
    /// The epoch that a scope begins with: `epoch`, with [`WATCHED`] from the begin of a watched
    /// scope to the next end of one.
    ///
    /// The scopes that begin in between also have it, and no condition is found at their end. In
    /// return, the begin of a scope need not know whether the scope is watched.
    pub(super) scope_epoch: AtomicU64,
    /// The epoch that a scope with a function record begins with: `epoch`, with [`FUNCTION`].
    pub(super) call_epoch: AtomicU64,
    /// The time that the ticks of function records count from: the last base in the chunk.
    pub(super) base: AtomicU64,

    /// The last epoch in which the owner may have written to the rolling buffer. Stored before a
    /// chunk is reserved, with release, since it says that earlier ones were left.
    pub(super) entered: AtomicU64,
    /// Units of the chunk before this one, or 0: what the next chunk's size grows from.
    pub(super) units: AtomicU32,
    /// The thread that holds the slot, as Linux numbers threads.
    pub(super) thread: AtomicU32,
    /// The thread that the chunk's last thread record names.
    pub(super) chunk_thread: AtomicU32,
    /// The thread whose name the recording knows.
    pub(super) named: AtomicU32,
    /// One more than the index of the next slot of the free list.
    pub(super) next_free: AtomicU32,
    /// The slot's index in its pool, fixed before the slot is handed out.
    pub(super) index: AtomicU32,
    /// Records that found no room and are not yet accounted for in the trace.
    pub(super) losses: Losses,
    /// Ends of scopes that found no room.
    pub(super) ends: Ends,
}

impl Slot {
    crate::sync::const_new! {
        /// A slot that no thread holds.
        pub fn new() -> Self {
            Self {
                sequence: AtomicU64::new(0),
                epoch: AtomicU64::new(0),
                cursor: AtomicPtr::new(null_mut()),
                limit: AtomicPtr::new(null_mut()),
                scope_epoch: AtomicU64::new(0),
                call_epoch: AtomicU64::new(0),
                base: AtomicU64::new(0),
                entered: AtomicU64::new(0),
                units: AtomicU32::new(0),
                thread: AtomicU32::new(0),
                chunk_thread: AtomicU32::new(0),
                named: AtomicU32::new(0),
                next_free: AtomicU32::new(0),
                index: AtomicU32::new(0),
                losses: Losses::new(),
                ends: Ends::new(),
            }
        }
    }

    /// Sets the epoch of the chunk.
    pub(super) fn set_epoch(&self, epoch: u64) {
        self.epoch.store(epoch, Ordering::Relaxed);
        self.scope_epoch.store(epoch, Ordering::Relaxed);
        self.call_epoch.store(epoch | FUNCTION, Ordering::Relaxed);
    }

    /// Has the scopes that begin from now on passed on at their end, or not.
    #[inline(always)]
    pub(super) fn watch_scopes(&self, watched: bool) {
        let mark = if watched { WATCHED } else { 0 };
        self.scope_epoch.store(self.epoch.load(Ordering::Relaxed) | mark, Ordering::Relaxed);
    }

    /// The thread that holds the slot; 0 for none.
    pub fn thread(&self) -> u32 {
        self.thread.load(Ordering::Relaxed)
    }

    /// Whether [`Slot::set_named`] was called for the thread that holds the slot, since the
    /// recording began.
    pub fn is_named(&self) -> bool {
        self.named.load(Ordering::Relaxed) == self.thread()
    }

    /// Remembers that the recording knows the name of `thread`.
    pub fn set_named(&self, thread: u32) {
        self.named.store(thread, Ordering::Relaxed);
    }
}

impl Default for Slot {
    fn default() -> Self {
        Self::new()
    }
}
