//! What the threads of a process share: the epoch that is being recorded, and where its next chunk
//! is.
//!
//! # Epochs
//!
//! An epoch is the time during which one rolling buffer is written. Epochs are numbered upwards for
//! the life of the process, over sessions too, so that whatever a thread or a scope remembers of an
//! earlier epoch never equals the current one:
//!
//! ```text
//!            start                      rolling buffer full: the thread that finds it switches
//! stopped ───────────► epoch e ───────► epoch e + 1 ───────► …
//!    ▲                    │ stop             │ stop
//!    └────────────────────┴──────────────────┘
//! ```
//!
//! A switch needs the next rolling buffer to be *ready*: nobody writes to it and, in streaming
//! mode, the manager has saved it. The service thread says so, after [`Recorder::quiesce`]. In
//! circular mode a thread that needs the rolling buffer also looks itself: it is free if every
//! thread has entered a later epoch, or never entered the one that it held.

use std::time::Duration;

use crossbeam_utils::CachePadded;

use crate::buffer::header::BufferingMode;
use crate::fence::heavy_fence;
use crate::sync::{fence, AtomicPtr, AtomicU64, Ordering};

use super::backoff::Backoff;
use super::loss::{LossReason, Slotless};
use super::pool::Pool;
use super::publish::Word;
use super::session::{Chunk, RecorderSession};
use super::slot::Slot;

/// In [`Recorder::epoch`]: not recording. Higher than every epoch.
pub(super) const STOPPED: u64 = 1 << 63;

/// In [`Slot::epoch`]: equals no epoch of the recorder, so that each trace point takes the slow
/// path.
pub(super) const SLOW: u64 = 1 << 62;

/// In [`Recorder::streams_from`]: higher than every epoch.
pub(super) const NEVER: u64 = u64::MAX;

/// Handles a record if the buffer is full.
pub(super) type Full = fn(&Recorder, &Slot, &RecorderSession, LossReason);

/// Slots that a thread looks at once a switch, to find that all threads have left a rolling buffer.
/// With more of them the service thread does it.
const FEW_SLOTS: usize = 64;

/// Refusals of one epoch in circular mode for each look at the slots: a loss stays cheap.
const REFUSALS_PER_LOOK: u64 = 16;

/// The state that the threads of a process share, and nothing else shares.
///
/// Its all-zero state means that nothing is recorded, which is what a forked child finds where the
/// memory is wiped on fork.
#[derive(Debug)]
#[repr(C)]
pub struct Recorder {
    /// The epoch that is being recorded, or anything with [`STOPPED`], or 0 before the first.
    ///
    /// Rules: read by each trace point. Stored by the service thread at start and stop; raised by
    /// one, with [`AtomicU64::fetch_max`], by whoever sees that `allocation` is ahead.
    pub(super) epoch: CachePadded<AtomicU64>,
    /// Low half of the epoch in the high half; in the low half, units of its rolling buffer that
    /// are reserved.
    ///
    /// Rules: stored by the service thread while stopped; changed by compare and exchange by
    /// threads that reserve or switch.
    pub(super) allocation: CachePadded<AtomicU64>,
    /// The last epoch that may begin.
    ///
    /// Rules: stored by the service thread only; a release store says that the rolling buffer of
    /// that epoch may be overwritten.
    pub(super) ready: AtomicU64,
    /// The epoch that was refused last, times [`REFUSALS_PER_LOOK`], plus the refusals since the
    /// slots were looked at; 0 for none.
    ///
    /// Rules: a hint, stored by threads that switch or enter an epoch.
    refused: AtomicU64,
    /// The buffer. Valid while a slot is busy in a current epoch: the service thread frees it after
    /// quiescence only.
    pub(super) session: AtomicPtr<RecorderSession>,
    /// The epoch whose wrapped count is 0.
    pub(super) base: AtomicU64,
    /// The last epoch that was ever current, for the next start to go on from. Service thread only.
    pub(super) last: AtomicU64,
    /// The first epoch of the recording under way, or of the last one: scopes of earlier epochs are
    /// of no interest any more.
    pub(super) first: AtomicU64,
    /// One more than the recording's mode. The service thread changes it during a circular
    /// recording that begins to stream.
    pub(super) recording_mode: AtomicU64,
    /// The first epoch whose rolling buffer is saved, so that the scopes that begin in it or later
    /// end with a duration end. [`NEVER`] in circular mode.
    ///
    /// Rules: stored by the service thread; before `ready`, whose release makes it visible to the
    /// threads that write to later rolling buffers.
    pub(super) streams_from: AtomicU64,
    /// 1 if the last stop left a thread in a trace point. Service thread only.
    pub(super) stuck: AtomicU64,
    /// 1 where the kernel has membarrier, so that the hot path does without a fence. Fixed at
    /// [`Recorder::provide`].
    pub(super) asymmetric: AtomicU64,
    /// Entries of the session's loss table that are in use.
    pub(super) loss_entries: AtomicU64,
    pub(super) slotless: Slotless,
    pub(super) pool: Pool,
}

impl Recorder {
    crate::sync::const_new! {
        /// A recorder that records nothing and has no slots.
        pub fn new() -> Self {
            Self {
                epoch: CachePadded::new(AtomicU64::new(0)),
                allocation: CachePadded::new(AtomicU64::new(0)),
                ready: AtomicU64::new(0),
                refused: AtomicU64::new(0),
                session: AtomicPtr::new(core::ptr::null_mut()),
                base: AtomicU64::new(0),
                last: AtomicU64::new(0),
                first: AtomicU64::new(0),
                recording_mode: AtomicU64::new(0),
                streams_from: AtomicU64::new(0),
                stuck: AtomicU64::new(0),
                asymmetric: AtomicU64::new(0),
                loss_entries: AtomicU64::new(0),
                slotless: Slotless::new(),
                pool: Pool::new(),
            }
        }
    }

    /// Whether records are being recorded.
    #[inline(always)]
    pub fn is_recording(&self) -> bool {
        is_recording(self.epoch.load(Ordering::Relaxed))
    }

    /// Returns the number of the current or last recording; 0 before the first. Each recording has
    /// another number.
    ///
    /// Exact while the caller has a [`Reservation`](super::Reservation) open, whose recording it
    /// then is; at other times a recording may begin or end right behind the question.
    #[inline(always)]
    pub fn recording(&self) -> u64 {
        self.first.load(Ordering::Relaxed)
    }

    /// Hands the calling thread, `thread` as Linux numbers it, a slot of its own.
    ///
    /// `None` where no slot is free; the thread may ask again later.
    pub fn attach(&self, thread: u32) -> Option<&'static Slot> {
        let slot = self.pool.take()?;
        slot.thread.store(thread, Ordering::Relaxed);
        slot.losses.own(thread);
        // The thread may end a scope that it began with another slot: in this epoch at the latest.
        slot.entered.store(self.epoch.load(Ordering::Relaxed), Ordering::Relaxed);
        // Either `Recorder::is_left` sees the store above, or the thread sees a later epoch.
        fence(Ordering::SeqCst);
        if slot.chunk_thread.load(Ordering::Relaxed) != thread {
            // The chunk has yet to name this thread: no record fits before that.
            slot.set_epoch(slot.epoch.load(Ordering::Relaxed) | SLOW);
        }
        Some(slot)
    }

    /// Takes the slot of a thread that ends. The thread must not use it any more.
    pub fn detach(&self, slot: &'static Slot) {
        // A thread can end in a signal handler, or after a jump out of one.
        slot.leave_above(self, usize::MAX);
        slot.lose_ends(self);
        slot.thread.store(0, Ordering::Relaxed);
        self.pool.give_back(slot);
    }

    /// The slow path of [`Slot::open`]: finds room for `words` words. Null, after `full`, where
    /// there is none.
    ///
    /// The slot is busy, which is what keeps the session alive in here.
    #[cold]
    #[inline(never)]
    pub(super) fn refill(&self, slot: &Slot, words: usize, full: Full) -> *mut Word {
        if self.asymmetric.load(Ordering::Relaxed) == 0 {
            // There is no membarrier to make up for the light fence.
            fence(Ordering::SeqCst);
        }
        if !self.pool.owns(slot) {
            // A forked child's thread has it from the parent, whose epochs no child has: it comes
            // here first. Nobody would wait for it.
            return core::ptr::null_mut();
        }
        loop {
            let epoch = self.epoch.load(Ordering::Acquire);
            let Some(session) = self.session(epoch) else { return core::ptr::null_mut() };
            if let Some(at) = slot.room_in_chunk(self, session, epoch, words) {
                return at;
            }
            match self.reserve(session, epoch, slot, words) {
                Reserved::Chunk(chunk) => slot.install(epoch, &chunk),
                Reserved::Moved => {}
                Reserved::Full(reason) => {
                    full(self, slot, session, reason);
                    return core::ptr::null_mut();
                }
            }
        }
    }

    /// The session, if `epoch` is being recorded. The caller is busy since before it read `epoch`,
    /// or is the service thread.
    pub(super) fn session(&self, epoch: u64) -> Option<&RecorderSession> {
        if !is_recording(epoch) {
            return None;
        }
        // SAFETY: `start` stored a valid pointer before it stored the epoch, and `end` frees it
        // after `stop` has seen every slot quiescent; the caller read a current epoch while busy,
        // so that this has not happened yet.
        unsafe { self.session.load(Ordering::Acquire).as_ref() }
    }

    /// Whether `epoch` is of the current recording, or of the last one.
    pub(super) fn has_recorded(&self, epoch: u64) -> bool {
        (self.first.load(Ordering::Relaxed)..=self.epoch.load(Ordering::Relaxed)).contains(&epoch)
    }

    pub(super) fn wrapped_count(&self, epoch: u64) -> u32 {
        epoch.wrapping_sub(self.base.load(Ordering::Relaxed)) as u32
    }

    /// Reserves a chunk for `words` words in the rolling buffer of `epoch`, or switches to the next
    /// one.
    fn reserve<'a>(
        &self,
        session: &'a RecorderSession,
        epoch: u64,
        slot: &Slot,
        words: usize,
    ) -> Reserved<'a> {
        if slot.entered.load(Ordering::Relaxed) != epoch {
            // Others may have waited for this thread.
            self.refused.store(0, Ordering::Relaxed);
        }
        // Whoever switches from this epoch acquires the reservation below, and with it this store.
        slot.entered.store(epoch, Ordering::Release);
        let (least, total) = (session.units_for(words), session.layout.units());
        if least > total {
            return Reserved::Full(LossReason::TooLarge);
        }
        let preferred = slot.preferred_units(epoch).min(session.most_units()).max(least);
        let allocation = self.allocation.load(Ordering::Acquire);
        let ahead = ((allocation >> 32) as u32).wrapping_sub(epoch as u32);
        if ahead != 0 {
            // Another thread is between switching and raising the epoch: finish for it, so that
            // nobody waits for a preempted thread.
            self.epoch.fetch_max(epoch + u64::from(ahead), Ordering::AcqRel);
            return Reserved::Moved;
        }
        let first = allocation as u32;
        let units = preferred.min(total - first);
        if units < least {
            return self.switch(session, epoch, allocation);
        }
        match self.replace_allocation(allocation, allocation + u64::from(units)) {
            true => Reserved::Chunk(session.publish_chunk(self.wrapped_count(epoch), first, units)),
            false => Reserved::Moved,
        }
    }

    /// Goes on in the next rolling buffer, if there is one and it is ready.
    fn switch<'a>(&self, session: &RecorderSession, epoch: u64, allocation: u64) -> Reserved<'a> {
        let mode = self.mode();
        if mode == Some(BufferingMode::Oneshot) {
            return Reserved::Full(LossReason::BufferFull);
        }
        let (next, is_circular) = (epoch + 1, mode == Some(BufferingMode::Circular));
        // Acquired: what the service thread saw of that rolling buffer's last readers and writers
        // is over before it is written again.
        let is_ready = self.ready.load(Ordering::Acquire) >= next;
        if !(is_ready || is_circular && self.is_left(session, next)) {
            return match self.allocation.load(Ordering::Acquire) == allocation {
                true if is_circular => Reserved::Full(LossReason::InUse),
                true => Reserved::Full(LossReason::NotSaved),
                false => Reserved::Moved,
            };
        }
        // Before anybody can write there: who reads that rolling buffer meanwhile looks for this
        // behind it. It follows the check of all conditions: from then on, readers take the older
        // records of that rolling buffer for overwritten.
        session.publish_wrapped_count(self.wrapped_count(next));
        if self.replace_allocation(allocation, next << 32) {
            session.publish_end(self.wrapped_count(epoch), allocation as u32);
            self.epoch.fetch_max(next, Ordering::AcqRel);
            if !is_circular || session.wakes_at(self.wrapped_count(next)) {
                session.wake.wake();
            }
        }
        Reserved::Moved
    }

    /// Whether no thread can write any more to the rolling buffer that `next` would overwrite, in
    /// circular mode. Threads that paused in its epoch may: the service thread finds out.
    ///
    /// After a refusal the slots are looked at again only now and then.
    fn is_left(&self, session: &RecorderSession, next: u64) -> bool {
        let of_next = next.wrapping_mul(REFUSALS_PER_LOOK);
        let before = self.refused.load(Ordering::Relaxed);
        let refusals = before.wrapping_sub(of_next);
        if refusals < REFUSALS_PER_LOOK - 1 {
            self.refused.store(before + 1, Ordering::Relaxed);
            return false;
        }
        let is_left = self.have_all_left(session, next);
        if !is_left {
            self.refused.store(of_next, Ordering::Relaxed);
        }
        is_left
    }

    /// Looks at the slots for [`Recorder::is_left`].
    fn have_all_left(&self, session: &RecorderSession, next: u64) -> bool {
        let overwritten = next - session.layout.rolling_buffers() as u64;
        fence(Ordering::SeqCst);
        let mut slots = self.pool.used();
        // Acquired: what a thread wrote before it entered a later epoch is over.
        slots.by_ref().take(FEW_SLOTS).all(|it| it.entered.load(Ordering::Acquire) != overwritten)
            && slots.next().is_none()
    }

    /// Switches although the rolling buffer is not full, if it holds something.
    pub(super) fn force_switch(&self, session: &RecorderSession, epoch: u64) {
        let mut allocation = self.allocation.load(Ordering::Acquire);
        while allocation >> 32 == epoch & u64::from(u32::MAX) && allocation as u32 != 0 {
            if let Reserved::Full(_) = self.switch(session, epoch, allocation) {
                return;
            }
            allocation = self.allocation.load(Ordering::Acquire);
        }
    }

    fn replace_allocation(&self, old: u64, new: u64) -> bool {
        self.allocation.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Counts a record of a signal handler that interrupted a trace point of its thread.
    #[cold]
    #[inline(never)]
    pub(super) fn lost_nested(&self, slot: &Slot) {
        if let Some(session) = self.busy_session() {
            self.lost(slot, session, LossReason::Nested);
        }
    }

    /// The session, if there is a recording. The caller's slot is busy, since a trace point was
    /// interrupted, so that what holds for `refill` holds here.
    pub(super) fn busy_session(&self) -> Option<&RecorderSession> {
        fence(Ordering::SeqCst);
        self.session(self.epoch.load(Ordering::Acquire))
    }

    /// Waits until no thread writes to, or turns a header in, the rolling buffer of an epoch that
    /// is over; `patience` at most. Returns whether that came to pass: if not, a thread is in the
    /// middle of a trace point, preempted or interrupted by a signal handler.
    ///
    /// Service thread only; the epoch was raised, or stopped, before. Every writer stores its busy
    /// mark and then reads the epoch, with a compiler fence between; here the epoch was stored, the
    /// heavy fence follows, and then the marks are read. So a writer that this misses has read the
    /// new epoch. Idle threads are not busy, and cost one load each.
    pub fn quiesce(&self, patience: Duration) -> bool {
        heavy_fence(self.asymmetric.load(Ordering::Relaxed) != 0);
        let mut backoff = Backoff::new(patience);
        self.pool.used().all(|slot| slot.wait_until_quiescent(&mut backoff))
    }
}

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}

/// What came of reserving.
enum Reserved<'a> {
    Chunk(Chunk<'a>),
    /// Somebody was faster: look again.
    Moved,
    Full(LossReason),
}

pub(super) fn is_recording(epoch: u64) -> bool {
    epoch != 0 && epoch < STOPPED
}
