//! The task that the calling thread polls.

use std::cell::Cell;

thread_local! {
    /// It has no destructor, so it can be used at any time in the life of a thread.
    static CURRENT: Cell<Current> = const { Cell::new(Current::NONE) };
}

/// A task that is being polled, in one recording.
#[derive(Clone, Copy, Debug)]
pub(super) struct Current {
    /// The task's id, or 0 if there is no task.
    pub(super) id: u64,
    /// The recording in which it has that id.
    pub(super) recording: u64,
}

/// Makes `task` the current task. Returns the previous one.
#[inline(always)]
pub(super) fn replace(task: Current) -> Current {
    CURRENT.replace(task)
}

/// Makes the previous task the current one.
#[inline(always)]
pub(super) fn restore(task: Current) {
    CURRENT.set(task);
}

/// Returns the task that the calling thread polls.
#[inline(always)]
pub(super) fn get() -> Current {
    CURRENT.get()
}

impl Current {
    /// No task.
    pub(super) const NONE: Self = Self { id: 0, recording: 0 };

    /// A span of a bridge, which has the id. No recording has this number.
    pub(super) const SPAN: Self = Self { id: u64::MAX, recording: u64::MAX };

    /// Returns whether a span of a bridge is within all tasks.
    #[inline(always)]
    pub(super) fn is_span(self) -> bool {
        self.recording == u64::MAX
    }

    /// Returns the task's id if it is in `recording`.
    #[inline(always)]
    pub(super) fn in_recording(self, recording: u64) -> Option<u64> {
        (self.id != 0 && self.recording == recording).then_some(self.id)
    }
}
