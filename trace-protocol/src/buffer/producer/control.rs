//! The service thread's side of a recorder: slots, start, stop, and handing rolling buffers over.

use crate::buffer::header::BufferingMode;
use crate::sync::Ordering;
use crate::sys::membarrier;

use super::durable::DurableWriter;
use super::recorder::{is_recording, Recorder, NEVER, STOPPED};
use super::session::RecorderSession;
use super::slot::{Slot, FUNCTION};
use std::time::Duration;

/// Epochs of a process, so that a forked child has none of its parent's.
const EPOCHS_PER_PROCESS: u64 = 1 << 37;

/// Processes that have different epochs: those of the last one are below the lowest mark of an open
/// scope, [`FUNCTION`].
const MOST_PROCESSES: u32 = 1 << 22;

const _: () = assert!((MOST_PROCESSES as u64 + 1) * EPOCHS_PER_PROCESS < FUNCTION);

impl Recorder {
    /// Prepares the recorder, once, before the first [`Recorder::start`]. Epochs start at a number
    /// that depends on `process`. It is not 0, and no process from which this one has inherited
    /// memory has the same number.
    ///
    /// With `asymmetric` false, or where the kernel has no `membarrier`, every trace point takes a
    /// slower path with a full fence.
    pub fn provide(&self, process: u32, asymmetric: bool) {
        let asymmetric = asymmetric && membarrier::register();
        self.asymmetric.store(u64::from(asymmetric), Ordering::Relaxed);
        let process = u64::from(process.wrapping_sub(1) % MOST_PROCESSES) + 1;
        self.last.store(process * EPOCHS_PER_PROCESS, Ordering::Relaxed);
    }

    /// Whether [`Recorder::provide`] was called.
    pub fn is_provided(&self) -> bool {
        self.last.load(Ordering::Relaxed) != 0
    }

    /// Returns how many slots [`Recorder::add_slots`] should add now; `None` if enough are free.
    /// Service thread only.
    pub fn missing_slots(&self) -> Option<usize> {
        self.pool.missing().map(|count| count as usize)
    }

    /// Adds slots for more threads. Service thread only.
    pub fn add_slots(&self, slots: &'static [Slot]) {
        self.pool.add(slots);
    }

    /// Whether no slots were added yet.
    pub fn has_no_slots(&self) -> bool {
        self.pool.is_empty()
    }

    /// Whether the service thread is to be woken, since few slots are free. True for one of the
    /// threads that ask. To be asked after [`Recorder::attach`].
    pub fn asks_for_slots(&self) -> bool {
        self.pool.asks()
    }

    /// The slots that threads hold or held.
    pub fn slots(&self) -> impl Iterator<Item = &'static Slot> + '_ {
        self.pool.used()
    }

    /// The mode of the recording under way, or of the last one; `None` before the first.
    pub fn mode(&self) -> Option<BufferingMode> {
        BufferingMode::from_u8(
            u8::try_from(self.recording_mode.load(Ordering::Relaxed)).ok()?.checked_sub(1)?,
        )
    }

    pub(super) fn set_mode(&self, mode: BufferingMode) {
        self.recording_mode.store(u64::from(mode as u8) + 1, Ordering::Relaxed);
    }

    /// The last epoch that a thread has switched to, if `epoch` is or was current: a thread may
    /// have switched, and not raised the epoch.
    pub(super) fn last_switched(&self, epoch: u64) -> u64 {
        let switched = (self.allocation.load(Ordering::Acquire) >> 32) as u32;
        epoch + u64::from(switched.wrapping_sub(epoch as u32))
    }

    /// Returns whether the rolling buffer after the current one is free. A hint: others may take
    /// it.
    pub fn has_next(&self) -> bool {
        let epoch = self.epoch.load(Ordering::Relaxed);
        is_recording(epoch) && self.ready.load(Ordering::Acquire) > epoch
    }

    /// Makes `session` the buffer to record into. Service thread only; [`Recorder::end`] takes it
    /// back.
    ///
    /// # Errors
    /// The session is returned if there is one already.
    pub fn begin(&self, session: Box<RecorderSession>) -> Result<(), Box<RecorderSession>> {
        let (none, new) = (core::ptr::null_mut(), Box::into_raw(session));
        if self.session.compare_exchange(none, new, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            // SAFETY: the pointer came from `Box::into_raw` just above, and nobody else has it.
            return Err(unsafe { Box::from_raw(new) });
        }
        if let Some(session) = self.installed() {
            self.begin_losses(session);
        }
        self.base.store(self.last.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        Ok(())
    }

    /// Becomes what it was before [`Recorder::provide`]. Only in a forked child, by its only
    /// thread: the slots stay with the parent's threads, which are not in the child.
    pub fn forget(&self) {
        self.epoch.store(0, Ordering::Relaxed);
        self.session.store(core::ptr::null_mut(), Ordering::Relaxed);
        self.last.store(0, Ordering::Relaxed);
        self.pool.forget();
    }

    /// Begins to record: an epoch with all rolling buffers free. Service thread only, after
    /// [`Recorder::begin`], while stopped.
    ///
    /// Wrapped counts go on from where they were at the last stop in the same session.
    ///
    /// Returns the wrapped count that begins: threads may have switched to a later one before this
    /// returns. `None` without a session.
    pub fn start(&self) -> Option<u32> {
        let session = self.installed()?;
        self.slots().for_each(Slot::forget_recording);
        self.slotless.forget();
        let epoch = self.last.load(Ordering::Relaxed) + 1;
        let rolling = session.layout.rolling_buffers() as u64;
        self.last.store(epoch, Ordering::Relaxed);
        self.first.store(epoch, Ordering::Relaxed);
        let mode = session.layout.mode();
        self.set_mode(mode);
        let streams = mode == BufferingMode::Streaming;
        self.streams_from.store(if streams { epoch } else { NEVER }, Ordering::Relaxed);
        self.allocation.store(epoch << 32, Ordering::Relaxed);
        self.ready.store(epoch + rolling - 1, Ordering::Release);
        session.publish_wrapped_count(self.wrapped_count(epoch));
        session.publish_stop(0);
        self.epoch.store(epoch, Ordering::Release);
        Some(self.wrapped_count(epoch))
    }

    /// Ends recording and waits until no thread writes, `patience` at most. Service thread only.
    /// Returns the last epoch's wrapped count, if it recorded.
    ///
    /// A thread that a signal handler has taken out of a trace point for good is not waited for any
    /// longer than that. What it was writing is not committed; the session's memory then stays
    /// where it is for as long as the process lives.
    pub fn stop(&self, patience: Duration) -> Option<u32> {
        let session = self.installed();
        let epoch = self.epoch.fetch_or(STOPPED, Ordering::AcqRel);
        // No record begins after this time.
        let stopped_at = session.map_or(0, |session| (session.clock)());
        let quiescent = self.quiesce(patience);
        self.stuck.store(u64::from(!quiescent), Ordering::Relaxed);
        if !is_recording(epoch) {
            return None;
        }
        if let Some(session) = session {
            session.publish_stop(stopped_at);
        }
        self.report_slotless();
        let last = self.last_switched(epoch);
        self.last.store(last, Ordering::Relaxed);
        Some(self.wrapped_count(last))
    }

    /// Takes the session out. Service thread only, after [`Recorder::stop`]. `None` without one,
    /// and where a thread may still write to it.
    pub fn end(&self) -> Option<Box<RecorderSession>> {
        debug_assert!(!self.is_recording(), "stop comes before end");
        for slot in self.slots() {
            slot.forget_buffer();
        }
        let session = self.session.swap(core::ptr::null_mut(), Ordering::AcqRel);
        if session.is_null() || self.stuck.load(Ordering::Relaxed) != 0 {
            return None;
        }
        // SAFETY: the non-null pointer came from `Box::into_raw` in `begin`, the swap took it out,
        // and `stop` has seen every slot quiescent since the last epoch in which a writer could
        // follow it.
        Some(unsafe { Box::from_raw(session) })
    }

    /// The wrapped count that is being recorded. Service thread only.
    pub fn current(&self) -> Option<u32> {
        let epoch = self.epoch.load(Ordering::Acquire);
        is_recording(epoch).then(|| self.wrapped_count(epoch))
    }

    /// Hands the current rolling buffer over although it is not full, if the next one is ready.
    /// Service thread only.
    ///
    /// Returns the first wrapped count whose rolling buffer has only later records. Returns `None`
    /// if the next rolling buffer is not ready, or nothing is recorded.
    pub fn flush(&self) -> Option<u32> {
        let epoch = self.epoch.load(Ordering::Acquire);
        self.force_switch(self.session(epoch)?, epoch);
        let allocation = self.allocation.load(Ordering::Acquire);
        let ahead = ((allocation >> 32) as u32).wrapping_sub(epoch as u32);
        let is_empty = allocation as u32 == 0;
        (ahead != 0 || is_empty).then(|| self.wrapped_count(epoch + u64::from(ahead)))
    }

    /// Says that the rolling buffers which held `wrapped_count` and those before it may be written
    /// again. Service thread only, after [`Recorder::quiesce`].
    pub fn mark_saved(&self, wrapped_count: u32) {
        let Some(session) = self.installed() else { return };
        let saved = self.base.load(Ordering::Relaxed) + u64::from(wrapped_count);
        let ready = saved + session.layout.rolling_buffers() as u64;
        self.ready.fetch_max(ready, Ordering::AcqRel);
    }

    /// Writes the ends of scopes that found no room to the durable buffer, as far as it has room.
    /// Service thread only, while stopped.
    pub fn write_last_ends(&self, durable: &mut DurableWriter) {
        let Some(session) = self.installed() else { return };
        for slot in self.slots() {
            slot.write_ends_to(self, durable, session);
        }
    }

    /// The session, recording or not. Service thread only.
    pub(super) fn installed(&self) -> Option<&RecorderSession> {
        // SAFETY: only the service thread frees the session, in `end`, and it is the one that is
        // here.
        unsafe { self.session.load(Ordering::Acquire).as_ref() }
    }
}
