//! Trace points that a signal handler has interrupted, and left for good by a jump (`siglongjmp`).
//!
//! Their slot is busy, and nobody would make it idle again: the thread would record nothing any
//! more, and no rolling buffer could be handed over. So the sequence number of a busy slot has the
//! address of a frame, that of its trace point. Only a signal handler runs inside of a trace point,
//! and its frames are far below, behind what the kernel saves on the stack. So a later trace point
//! whose frame is not that far below the address, or is above it, shows that the frame is gone.
//!
//! This does not hold on an alternate signal stack, which can be anywhere: records there are those
//! of a handler. It also says nothing of trace points far below: until one is not, or the thread
//! ends, their records are counted as lost. It is wrong if a handler changes to another stack near
//! the interrupted one, or has one with `SS_AUTODISARM`, which the kernel does not tell of, traces
//! there, and comes back: the interrupted record and those of the handler may damage each other.

use crate::sync::Ordering;

use super::recorder::Recorder;
use super::slot::Slot;

/// In a sequence number: the slot is busy.
pub(super) const BUSY: u64 = 1;

/// What each trace point adds to the sequence number, whose other bits are 0 while the slot is
/// idle.
pub(super) const TURN: u64 = 1 << 48;

/// In the sequence number of a busy slot: the address in a frame. Higher bits are none of
/// addresses, or are tags of them.
pub(super) const FRAME: u64 = TURN - 1 - BUSY;

/// How far below the address a frame may be that is not a handler's. The kernel saves at least 1072
/// bytes on the stack before it calls one, on x86-64: the red zone (128), `siginfo_t` (128),
/// `ucontext_t` (304) and the state of the FPU (512 or more). The rest is for the frames of
/// functions that opened the record, and returned it: the address is in one of them if they are not
/// inlined.
const NEAR: u64 = if cfg!(target_pointer_width = "64") { 256 } else { 0 };

/// How far above the address a frame may be, at most: it is of another stack if it is farther.
const STACK: u64 = 64 << 20;

/// An address in the frame of the function that this is inlined into.
#[inline(always)]
pub(super) fn here() -> usize {
    let here = 0_u8;
    (&raw const here).addr()
}

impl Slot {
    /// Leaves the trace point that the calling thread was interrupted in, if the address `here` on
    /// the thread's own stack, in the frame of a function that is being called now, shows that its
    /// frame is gone. A record that it has not committed is counted as lost.
    ///
    /// The slot is the thread's.
    #[cold]
    pub fn leave_above(&self, recorder: &Recorder, here: usize) {
        if !self.is_above(here) {
            return;
        }
        // What interrupts this is inside of it.
        let idle = self.sequence.load(Ordering::Relaxed) & !(FRAME | BUSY);
        self.sequence.store(idle | here as u64 & FRAME | BUSY, Ordering::Relaxed);
        let epoch = self.chunk_epoch();
        let is_of_recording = epoch == 0 || recorder.has_recorded(epoch);
        if recorder.busy_session().is_some() && is_of_recording && !self.has_committed() {
            recorder.lost_nested(self);
        }
        // The record is half there, or complete and not passed over: nothing follows it.
        self.forget_chunk();
        self.leave();
    }

    /// Whether the slot is busy, and what runs at `here` cannot be inside of its trace point.
    pub(super) fn is_above(&self, here: usize) -> bool {
        let sequence = self.sequence.load(Ordering::Relaxed);
        let (frame, here) = (sequence & FRAME, here as u64 & FRAME);
        let is_near = here == FRAME || here < frame + STACK;
        sequence & BUSY != 0 && frame < here + NEAR && is_near
    }

    /// Leaves the trace point that the calling thread was interrupted in, and to which it does not
    /// return. The slot is the thread's.
    ///
    /// What it was writing is not committed; nothing of it is seen.
    pub fn leave(&self) {
        let sequence = self.sequence.load(Ordering::Relaxed);
        if sequence & BUSY != 0 {
            self.close(sequence & !(FRAME | BUSY));
        }
    }
}

/// Whether the calling thread is on its alternate signal stack. Also true where the kernel does not
/// say.
pub(super) fn is_on_signal_stack() -> bool {
    let mut stack = libc::stack_t { ss_sp: core::ptr::null_mut(), ss_flags: 0, ss_size: 0 };
    // SAFETY: the first pointer may be null, and the second is to a live structure.
    let failed = unsafe { libc::sigaltstack(core::ptr::null(), &mut stack) } != 0;
    failed || stack.ss_flags & libc::SS_ONSTACK != 0
}
