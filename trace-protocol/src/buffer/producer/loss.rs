//! Records that found no room: counted by thread and reason, and told in the trace as soon as there is room again.

use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// Why a record was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum LossReason {
    /// The buffer is full and the mode is oneshot.
    BufferFull = 0,
    /// Both rolling buffers are taken: the manager has not saved, or a thread has not left, the older one.
    NotSaved = 1,
    /// The record is larger than a rolling buffer.
    TooLarge = 2,
    /// A signal handler traced while its thread was in the middle of a record.
    Nested = 3,
}

impl LossReason {
    /// All reasons, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::BufferFull, Self::NotSaved, Self::TooLarge, Self::Nested];

    /// The reason as the trace says it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BufferFull => "buffer full",
            Self::NotSaved => "buffer not saved in time",
            Self::TooLarge => "record larger than the buffer",
            Self::Nested => "signal handler inside a record",
        }
    }
}

/// A run of lost records with one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Loss {
    /// Why.
    pub(super) reason: LossReason,
    /// How many.
    pub(super) number: u64,
    /// Whose: the thread of the first of them.
    pub(super) thread: u32,
    /// Ticks of the first of them.
    pub(super) from: u64,
}

/// The losses of one slot.
///
/// Adding is atomic, since a signal handler may add while its thread does or takes.
#[derive(Debug)]
pub(super) struct Losses {
    numbers: [AtomicU64; 4],
    from: [AtomicU64; 4],
    threads: [AtomicU32; 4],
}

impl Losses {
    crate::sync::const_new! {
        pub(super) fn new() -> Self {
            Self {
                numbers: [AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0)],
                from: [AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0)],
                threads: [AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0)],
            }
        }
    }

    /// Counts one more; reads the clock for the first of a run only.
    pub(super) fn add(&self, reason: LossReason, thread: u32, clock: impl FnOnce() -> u64) {
        if self.numbers[reason as usize].fetch_add(1, Ordering::Relaxed) == 0 {
            self.threads[reason as usize].store(thread, Ordering::Relaxed);
            self.from[reason as usize].store(clock(), Ordering::Relaxed);
        }
    }

    /// Whether there is nothing to tell.
    pub(super) fn is_empty(&self) -> bool {
        self.numbers.iter().all(|number| number.load(Ordering::Relaxed) == 0)
    }

    /// Takes the next run that is not yet told.
    pub(super) fn take(&self) -> Option<Loss> {
        LossReason::ALL.into_iter().find_map(|reason| {
            let from = self.from[reason as usize].load(Ordering::Relaxed);
            let thread = self.threads[reason as usize].load(Ordering::Relaxed);
            let number = self.numbers[reason as usize].swap(0, Ordering::Relaxed);
            (number != 0).then_some(Loss { reason, number, thread, from })
        })
    }
}
