//! The state of a span.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use trace_runtime::context::{SignalGuard, SignalLock};

use crate::callsite::Callsite;
use crate::callsites;
use crate::values::Values;

/// The state of one span. Any thread may enter and close a span, so all state is shared.
///
/// Rules: the thread that begins a span first takes its slot, by [`Slot::claim`] or from a list of
/// free slots, and stores `id` last, with release. `id` becomes 0 when the span closes. A thread
/// with a handle of the span, or the one that has begun its track, can read the slot without a
/// check. Other readers, such as those of ancestors or waiting spans, may race with the reuse of
/// the slot: they check `id` after reading with acquire. Passing a handle to another thread orders
/// memory.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Slot {
    id: AtomicU64,
    callsite: AtomicU32,
    /// The number of times that the span was entered.
    polls: AtomicU32,
    /// Whether a thread is in the span. Exact if threads enter the span one after another.
    pub(crate) is_inside: AtomicBool,
    pub(crate) has_values: AtomicBool,
    /// The owner of the track, and the session in which its begin was written: [`state`]. Rules: a
    /// caller of [`Slot::begin_track`] or [`Slot::end_track`] holds the lock of `values` until the
    /// record is written, so that a begin precedes its end. A signal handler that does not get the
    /// lock continues without it: it may end the track, and free the slot, before the thread that
    /// it interrupts writes the begin. That thread has therefore read the slot before.
    state: AtomicU64,
    pub(crate) created: AtomicU64,
    /// The id of the span's parent, or 0.
    parent: AtomicU64,
    /// The id of the traced future, within the parent, that the thread polled at the creation of
    /// the span, or 0.
    task: AtomicU64,
    /// The session in which `task` has this id.
    task_session: AtomicU32,
    /// The id of the span's track, or 0 if it has none yet. Set once, before `state`.
    track: AtomicU64,
    /// The number of the span's handles, if no registry counts them.
    pub(crate) handles: AtomicU64,
    /// The number of spans that have used the slot, for ids that depend on it.
    uses: AtomicU64,
    values: SignalLock<Values>,
}

/// The innermost operations around a new span.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outer {
    /// The id of the parent, or 0.
    pub(crate) span: u64,
    /// The id of the traced future within the parent, or 0.
    pub(crate) task: u64,
    /// The session in which the future has this id.
    pub(crate) session: u32,
}

/// The id in a slot that is taken and whose span has not begun. No span has this id.
const TAKEN: u64 = u64::MAX;

/// The session of a track that has ended or will never begin.
const REFUSED: u32 = u32::MAX;

/// A session in the lower bits. The upper bits differ between successive spans of the slot. The
/// session is 0 until the begin of the track is written.
#[inline]
fn state(id: u64, session: u32) -> u64 {
    let owner = (id >> 32) ^ id;
    (owner << 32) | u64::from(session)
}

impl Slot {
    /// Returns whether the slot belongs to span `id`.
    #[inline]
    pub(crate) fn is_of(&self, id: u64) -> bool {
        self.id.load(Ordering::Acquire) == id
    }

    /// Returns the id of the open span in the slot, or 0.
    pub(crate) fn id(&self) -> u64 {
        Some(self.id.load(Ordering::Acquire)).filter(|id| *id != TAKEN).unwrap_or(0)
    }

    /// Takes the slot if it is free.
    #[inline]
    pub(crate) fn claim(&self) -> bool {
        self.id.load(Ordering::Relaxed) == 0
            && self.id.compare_exchange(0, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Returns the next id of a slot that only the caller can take. The id is `place` modulo
    /// `places`.
    #[inline]
    pub(crate) fn next_id(&self, place: u32, places: usize) -> u64 {
        let uses = self.uses.load(Ordering::Relaxed) + 1;
        self.uses.store(uses, Ordering::Relaxed);
        (uses.wrapping_mul(places as u64) % (1 << 63)) | u64::from(place)
    }

    /// Drops a handle. Returns whether it was the last one.
    #[inline]
    pub(crate) fn drop_handle(&self) -> bool {
        // The owner of the only handle has no concurrent users.
        self.handles.load(Ordering::Acquire) == 1
            || self.handles.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Sets the state of a new span, and then its id, which publishes it. The caller has taken the
    /// slot. The release stores let readers with acquire see that the previous span is closed.
    #[inline]
    pub(crate) fn begin(&self, id: u64, callsite: &Callsite, outer: Outer, created: u64) {
        self.callsite.store(callsite.index, Ordering::Relaxed);
        self.created.store(created, Ordering::Relaxed);
        self.parent.store(outer.span, Ordering::Release);
        self.task.store(outer.task, Ordering::Relaxed);
        self.task_session.store(outer.session, Ordering::Relaxed);
        self.track.store(0, Ordering::Relaxed);
        self.polls.store(0, Ordering::Relaxed);
        self.is_inside.store(false, Ordering::Relaxed);
        self.state.store(state(id, 0), Ordering::Release);
        self.id.store(id, Ordering::Release);
    }

    /// Returns the parent of span `id`, or 0. `None` if the slot belongs to another span.
    pub(crate) fn parent_of(&self, id: u64) -> Option<u64> {
        let parent = self.parent.load(Ordering::Acquire);
        self.is_of(id).then_some(parent)
    }

    /// Returns the id of the traced future within the parent in this session, if it has one.
    pub(crate) fn task(&self, session: u32) -> Option<u64> {
        let task = self.task.load(Ordering::Relaxed);
        (task != 0 && self.task_session.load(Ordering::Relaxed) == session).then_some(task)
    }

    /// Returns the number of times that the span was entered. Exact if threads enter the span one
    /// after another.
    #[inline]
    pub(crate) fn polls(&self) -> u32 {
        self.polls.load(Ordering::Relaxed)
    }

    /// Counts an entry, and returns its number, from 1.
    #[inline]
    pub(crate) fn count_poll(&self) -> u32 {
        let polls = self.polls().saturating_add(1);
        self.polls.store(polls, Ordering::Relaxed);
        polls
    }

    /// Returns whether the begin of span `id`'s track was written in this session.
    pub(crate) fn has_track(&self, id: u64, session: u32) -> bool {
        self.state.load(Ordering::Acquire) == state(id, session)
    }

    /// Returns whether the span has had a track in any session.
    #[inline]
    pub(crate) fn has_track_of_any_session(&self) -> bool {
        self.state.load(Ordering::Relaxed) as u32 != 0
    }

    /// Returns the id of the span's track, or 0 if it has none yet.
    #[inline]
    pub(crate) fn track(&self) -> u64 {
        self.track.load(Ordering::Relaxed)
    }

    /// Returns the id of the span's track, which is `new` if it has none yet.
    pub(crate) fn track_or(&self, new: impl FnOnce() -> u64) -> u64 {
        match self.track() {
            0 => {
                let new = new();
                let set = self.track.compare_exchange(0, new, Ordering::Relaxed, Ordering::Relaxed);
                set.map_or_else(|track| track, |_| new)
            }
            track => track,
        }
    }

    /// Returns whether the caller must write the begin of span `id`'s track. `None` if the track is
    /// refused.
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

    /// Refuses further tracks of span `id`, which closes. Returns whether the caller must write the
    /// end of a track.
    pub(crate) fn end_track(&self, id: u64, session: u32) -> bool {
        self.state.swap(state(id, REFUSED), Ordering::AcqRel) == state(id, session)
    }

    /// Refuses tracks of span `id`, unless it has one. Returns whether the span has none.
    #[inline]
    pub(crate) fn refuse_track(&self, id: u64) -> bool {
        let (none, refused) = (state(id, 0), state(id, REFUSED));
        self.state.compare_exchange(none, refused, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Frees the slot.
    #[inline]
    pub(crate) fn release(&self) {
        self.id.store(0, Ordering::Release);
    }

    /// Returns whether the span is open, and no thread is in it.
    pub(crate) fn is_waiting(&self) -> bool {
        self.id() != 0 && !self.is_inside.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn callsite(&self) -> Option<&'static Callsite> {
        callsites::by_index(self.callsite.load(Ordering::Relaxed))
    }

    /// Returns whether the span has values.
    #[inline]
    pub(crate) fn has_values(&self) -> bool {
        self.has_values.load(Ordering::Relaxed)
    }

    /// Returns the values of the span if [`Slot::has_values`], else those of an earlier span.
    /// `None` in a signal handler that has interrupted a thread with a lock:
    /// [`SignalLock::lock_unless_nested`].
    pub(crate) fn values(&self) -> Option<SignalGuard<'_, Values>> {
        self.values.lock_unless_nested()
    }
}
