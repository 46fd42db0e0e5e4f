//! What is remembered of a span, and where.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::callsite::{self, Callsite};
use crate::values::Values;

/// What is remembered of one span. Any thread may enter and close a span, and so all of it is shared.
///
/// Rules: `id` is stored last when a span begins, with release, and becomes 0 when it closes. The rest is read by threads that have
/// found their span's id in it. A span's handle reaches another thread by something that orders memory.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Slot {
    id: AtomicU64,
    callsite: AtomicU32,
    /// The session in which the beginning of the track was written; 0 while it was not, [`REFUSED`] if it will not be.
    begun_in: AtomicU32,
    pub(crate) created: AtomicU64,
    /// The id of the span's parent, or 0.
    pub(crate) parent: AtomicU64,
    /// The id of the span's track, or 0 while nobody needed one. Stored under the lock of `values`, before `begun_in`.
    pub(crate) track: AtomicU64,
    /// Handles of the span, where there is no registry to count them.
    pub(crate) handles: AtomicU64,
    /// How many spans have had the slot, where ids are made of that.
    uses: AtomicU64,
    pub(crate) was_entered: AtomicBool,
    /// Whether a thread is in the span, as far as threads enter it one after another.
    pub(crate) is_inside: AtomicBool,
    pub(crate) has_values: AtomicBool,
    values: Mutex<Values>,
}

/// The session of a track that will never begin.
const REFUSED: u32 = u32::MAX;

impl Slot {
    /// Whether it is that of span `id`.
    #[inline]
    pub(crate) fn is_of(&self, id: u64) -> bool {
        self.id.load(Ordering::Acquire) == id
    }

    /// The span whose slot it is, or 0.
    pub(crate) fn id(&self) -> u64 {
        self.id.load(Ordering::Acquire)
    }

    /// Takes the slot for a span, unless another one has it.
    #[inline]
    pub(crate) fn claim(&self, id: u64) -> bool {
        self.id.load(Ordering::Relaxed) == 0
            && self.id.compare_exchange(0, id, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Takes a slot that nobody else can take, for the next of its ids: numbers that have its place below `places`.
    #[inline]
    pub(crate) fn claim_next(&self, place: u32, places: usize) -> u64 {
        let uses = self.uses.load(Ordering::Relaxed) + 1;
        self.uses.store(uses, Ordering::Relaxed);
        let id = (uses.wrapping_mul(places as u64) % (1 << 63)) | u64::from(place);
        self.id.store(id, Ordering::Relaxed);
        id
    }

    /// Drops a handle. Returns whether it was the last one.
    #[inline]
    pub(crate) fn drop_handle(&self) -> bool {
        // Who has the only handle is alone with it.
        self.handles.load(Ordering::Acquire) == 1
            || self.handles.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Sets what a new span begins with. Called by the only thread that knows the span.
    #[inline]
    pub(crate) fn begin(&self, callsite: &Callsite, parent: u64, created: u64) {
        self.callsite.store(callsite.index, Ordering::Relaxed);
        self.begun_in.store(0, Ordering::Relaxed);
        self.created.store(created, Ordering::Relaxed);
        self.parent.store(parent, Ordering::Relaxed);
        self.track.store(0, Ordering::Relaxed);
        self.was_entered.store(false, Ordering::Relaxed);
        self.is_inside.store(false, Ordering::Relaxed);
        self.has_values.store(false, Ordering::Relaxed);
    }

    /// Whether the beginning of the span's track was written in this session.
    pub(crate) fn has_track(&self, session: u32) -> bool {
        self.begun_in.load(Ordering::Acquire) == session
    }

    /// Whether the span ever had a track.
    #[inline]
    pub(crate) fn has_track_of_any_session(&self) -> bool {
        self.begun_in.load(Ordering::Relaxed) != 0
    }

    /// Whether the beginning of the track is still to be written, by who called this; `None` if there will be none.
    pub(crate) fn begin_track(&self, session: u32) -> Option<bool> {
        let begin = |begun| (begun != session && begun != REFUSED).then_some(session);
        match self.begun_in.fetch_update(Ordering::Release, Ordering::Relaxed, begin) {
            Ok(_) => Some(true),
            Err(REFUSED) => None,
            Err(_) => Some(false),
        }
    }

    /// Has the span have no track, if it has none. Returns whether that is so.
    #[inline]
    pub(crate) fn refuse_track(&self) -> bool {
        self.begun_in.compare_exchange(0, REFUSED, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Gives the slot back.
    #[inline]
    pub(crate) fn release(&self) {
        self.id.store(0, Ordering::Release);
    }

    /// Whether the span is open, and no thread is in it.
    pub(crate) fn is_waiting(&self) -> bool {
        self.id() != 0 && !self.is_inside.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn callsite(&self) -> Option<&'static Callsite> {
        callsite::by_index(self.callsite.load(Ordering::Relaxed))
    }

    /// The values of the span, while [`Slot::has_values`]; else those of an earlier one. No code of the application runs under this lock.
    pub(crate) fn values(&self) -> MutexGuard<'_, Values> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
