//! Records that found no room: counted by thread and reason, and told in the trace as soon as there
//! is room again.

use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// Why a record was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum LossReason {
    /// The buffer is full and the mode is oneshot.
    BufferFull = 0,
    /// Both rolling buffers are full, and the manager has not saved the older one. Streaming only.
    NotSaved = 1,
    /// The record is larger than a rolling buffer.
    TooLarge = 2,
    /// A signal handler traced while its thread was in the middle of a record.
    Nested = 3,
    /// Both rolling buffers are full, and threads may not yet have left the older one. Circular
    /// only.
    InUse = 4,
}

impl LossReason {
    /// All reasons, in the order of their numbers.
    pub const ALL: [Self; 5] =
        [Self::BufferFull, Self::NotSaved, Self::TooLarge, Self::Nested, Self::InUse];

    /// The reason as the trace says it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BufferFull => "buffer full",
            Self::NotSaved => "buffer not saved in time",
            Self::TooLarge => "record larger than the buffer",
            Self::Nested => "signal handler inside a record",
            Self::InUse => "older buffer still in use",
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
    runs: [Run; 5],
}

/// A run of losses that is not told yet.
#[derive(Debug)]
struct Run {
    number: AtomicU64,
    from: AtomicU64,
    thread: AtomicU32,
}

impl Run {
    crate::sync::const_new! {
        fn new() -> Self {
            Self { number: AtomicU64::new(0), from: AtomicU64::new(0), thread: AtomicU32::new(0) }
        }
    }
}

impl Losses {
    crate::sync::const_new! {
        pub(super) fn new() -> Self {
            Self { runs: [Run::new(), Run::new(), Run::new(), Run::new(), Run::new()] }
        }
    }

    /// Counts one more; reads the clock for the first of a run only.
    pub(super) fn add(&self, reason: LossReason, thread: u32, clock: impl FnOnce() -> u64) {
        let run = &self.runs[reason as usize];
        if run.number.fetch_add(1, Ordering::Relaxed) == 0 {
            run.thread.store(thread, Ordering::Relaxed);
            run.from.store(clock(), Ordering::Relaxed);
        }
    }

    /// Whether there is nothing to tell.
    pub(super) fn is_empty(&self) -> bool {
        self.runs.iter().all(|run| run.number.load(Ordering::Relaxed) == 0)
    }

    /// Takes the next run that is not yet told.
    pub(super) fn take(&self) -> Option<Loss> {
        LossReason::ALL.into_iter().zip(&self.runs).find_map(|(reason, run)| {
            let (from, thread) =
                (run.from.load(Ordering::Relaxed), run.thread.load(Ordering::Relaxed));
            let number = run.number.swap(0, Ordering::Relaxed);
            (number != 0).then_some(Loss { reason, number, thread, from })
        })
    }
}
