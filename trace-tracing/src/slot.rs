//! What is remembered of a span, and where.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::callsite::Callsite;
use crate::callsites;
use crate::values::Values;

/// What is remembered of one span. Any thread may enter and close a span, and so all of it is
/// shared.
///
/// Rules: who begins a span has taken its slot first, by [`Slot::claim`] or from a list of free
/// ones, and stores `id` last, with release. It becomes 0 when the span closes. Who has a handle of
/// the span, or has begun its track, reads what is the span's. All others, as those that look at
/// ancestors or at spans that wait, may find that the slot is another span's meanwhile, and look at
/// `id` again after what they read with acquire. A span's handle reaches another thread by
/// something that orders memory.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Slot {
    id: AtomicU64,
    callsite: AtomicU32,
    pub(crate) was_entered: AtomicBool,
    /// Whether a thread is in the span, as far as threads enter it one after another.
    pub(crate) is_inside: AtomicBool,
    pub(crate) has_values: AtomicBool,
    /// Whose the track is, and the session in which its beginning was written: [`state`]. Rules:
    /// whoever changes the session by [`Slot::begin_track`] or [`Slot::end_track`] has the lock of
    /// `values` until the record is written, so that a beginning is before its end, and the slot is
    /// the span's until then.
    state: AtomicU64,
    pub(crate) created: AtomicU64,
    /// The id of the span's parent, or 0.
    parent: AtomicU64,
    /// The id of the span's track, or 0 while nobody needed one. Stored under the lock of `values`,
    /// before `state`.
    pub(crate) track: AtomicU64,
    /// Handles of the span, where there is no registry to count them.
    pub(crate) handles: AtomicU64,
    /// How many spans have had the slot, where ids are made of that.
    uses: AtomicU64,
    values: Mutex<Values>,
}

/// The id in a slot that is taken, and whose span has not begun. No span has it.
const TAKEN: u64 = u64::MAX;

/// The session of a track that will never begin, or is over.
const REFUSED: u32 = u32::MAX;

/// A session and, above it, bits by which spans that have the same slot one after another differ.
/// The session is 0 while the beginning of the track was not written.
#[inline]
fn state(id: u64, session: u32) -> u64 {
    let owner = (id >> 32) ^ id;
    (owner << 32) | u64::from(session)
}

impl Slot {
    /// Whether it is that of span `id`.
    #[inline]
    pub(crate) fn is_of(&self, id: u64) -> bool {
        self.id.load(Ordering::Acquire) == id
    }

    /// The open span whose slot it is, or 0.
    pub(crate) fn id(&self) -> u64 {
        Some(self.id.load(Ordering::Acquire)).filter(|id| *id != TAKEN).unwrap_or(0)
    }

    /// Takes the slot, unless a span has it, or is about to.
    #[inline]
    pub(crate) fn claim(&self) -> bool {
        self.id.load(Ordering::Relaxed) == 0
            && self.id.compare_exchange(0, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// The next id of a slot that nobody else can take: a number that has its place below `places`.
    #[inline]
    pub(crate) fn next_id(&self, place: u32, places: usize) -> u64 {
        let uses = self.uses.load(Ordering::Relaxed) + 1;
        self.uses.store(uses, Ordering::Relaxed);
        (uses.wrapping_mul(places as u64) % (1 << 63)) | u64::from(place)
    }

    /// Drops a handle. Returns whether it was the last one.
    #[inline]
    pub(crate) fn drop_handle(&self) -> bool {
        // Who has the only handle is alone with it.
        self.handles.load(Ordering::Acquire) == 1
            || self.handles.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Sets what a new span begins with, and then its id, by which others find it. Called by who
    /// has taken the slot. What is stored with release tells who reads it with acquire that the
    /// span before is closed.
    #[inline]
    pub(crate) fn begin(&self, id: u64, callsite: &Callsite, parent: u64, created: u64) {
        self.callsite.store(callsite.index, Ordering::Relaxed);
        self.created.store(created, Ordering::Relaxed);
        self.parent.store(parent, Ordering::Release);
        self.track.store(0, Ordering::Relaxed);
        self.was_entered.store(false, Ordering::Relaxed);
        self.is_inside.store(false, Ordering::Relaxed);
        self.state.store(state(id, 0), Ordering::Release);
        self.id.store(id, Ordering::Release);
    }

    /// The parent of span `id`, or 0; `None` if the slot is not its any more.
    pub(crate) fn parent_of(&self, id: u64) -> Option<u64> {
        let parent = self.parent.load(Ordering::Acquire);
        self.is_of(id).then_some(parent)
    }

    /// Whether the beginning of the track of span `id` was written in this session.
    pub(crate) fn has_track(&self, id: u64, session: u32) -> bool {
        self.state.load(Ordering::Acquire) == state(id, session)
    }

    /// Whether the span ever had a track.
    #[inline]
    pub(crate) fn has_track_of_any_session(&self) -> bool {
        self.state.load(Ordering::Relaxed) as u32 != 0
    }

    /// Whether the beginning of the track of span `id` is still to be written, by who called this;
    /// `None` if there will be none.
    pub(crate) fn begin_track(&self, id: u64, session: u32) -> Option<bool> {
        let (begun, refused) = (state(id, session), state(id, REFUSED));
        let begin = |now: u64| {
            (now >> 32 == begun >> 32 && now != begun && now != refused).then_some(begun)
        };
        match self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, begin) {
            Ok(_) => Some(true),
            Err(now) => (now == begun).then_some(false),
        }
    }

    /// Has span `id`, which closes, begin no track from now on. Returns whether the end of one is
    /// still to be written.
    pub(crate) fn end_track(&self, id: u64, session: u32) -> bool {
        self.state.swap(state(id, REFUSED), Ordering::AcqRel) == state(id, session)
    }

    /// Has span `id` have no track, if it has none. Returns whether that is so.
    #[inline]
    pub(crate) fn refuse_track(&self, id: u64) -> bool {
        let (none, refused) = (state(id, 0), state(id, REFUSED));
        self.state.compare_exchange(none, refused, Ordering::Relaxed, Ordering::Relaxed).is_ok()
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
        callsites::by_index(self.callsite.load(Ordering::Relaxed))
    }

    /// The values of the span, while [`Slot::has_values`]; else those of an earlier one. No code of
    /// the application runs under this lock.
    pub(crate) fn values(&self) -> MutexGuard<'_, Values> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
