//! The task in whose poll a thread is.

use std::cell::Cell;

thread_local! {
    /// It needs no destructor, so that it can be used at any time in the life of a thread.
    static CURRENT: Cell<Current> = const { Cell::new(Current::NONE) };
}

/// A task that is being polled, in one recording.
#[derive(Clone, Copy, Debug)]
pub(super) struct Current {
    /// The task's id; 0 for none.
    pub(super) id: u64,
    /// The recording in which it has that id.
    pub(super) recording: u64,
}

/// Makes `task` the current one. Returns the one that was.
#[inline(always)]
pub(super) fn replace(task: Current) -> Current {
    CURRENT.replace(task)
}

/// Makes `task` the current one, as it was before.
#[inline(always)]
pub(super) fn restore(task: Current) {
    CURRENT.set(task);
}

/// The task in whose poll the calling thread is.
#[inline(always)]
pub(super) fn get() -> Current {
    CURRENT.get()
}

impl Current {
    /// No task.
    pub(super) const NONE: Self = Self { id: 0, recording: 0 };

    /// The id in `recording`.
    #[inline(always)]
    pub(super) fn in_recording(self, recording: u64) -> Option<u64> {
        (self.id != 0 && self.recording == recording).then_some(self.id)
    }
}
