//! Records that found no room: counted by thread and reason in the loss table, and reported by an
//! event as soon as there is room again.
//!
//! The loss table is the account: whoever reads the buffer, also after a kill, finds in it what
//! each thread lost, why and when. The events say where in the trace the gaps are.

use crate::sync::{AtomicU16, AtomicU32, AtomicU64, Ordering};

/// Why a record was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(usize)]
pub enum LossReason {
    /// The buffer is full and the mode is oneshot.
    BufferFull = 0,
    /// All rolling buffers are full, and the manager has not saved the oldest one. Streaming only.
    NotSaved = 1,
    /// The record is larger than a rolling buffer.
    TooLarge = 2,
    /// A signal handler traced while its thread was in the middle of a record.
    Nested = 3,
    /// All rolling buffers are full, and threads may not yet have left the oldest one. Circular
    /// only.
    InUse = 4,
    /// The thread has no slot: more threads came at once than slots were mapped for.
    NoSlot = 5,
}

/// How many reasons there are.
pub(super) const REASONS: usize = LossReason::ALL.len();

impl LossReason {
    /// All reasons, in the order of their numbers.
    pub const ALL: [Self; 6] =
        [Self::BufferFull, Self::NotSaved, Self::TooLarge, Self::Nested, Self::InUse, Self::NoSlot];

    /// The reason as the trace says it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BufferFull => "buffer full",
            Self::NotSaved => "buffer not saved in time",
            Self::TooLarge => "record larger than the buffer",
            Self::Nested => "signal handler inside a record",
            Self::InUse => "older buffer still in use",
            Self::NoSlot => "no memory for the thread yet",
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
    /// Ticks of the first of them.
    pub(super) from: u64,
    /// One more than the entry of the loss table that counts them.
    pub(super) entry: u16,
}

/// The losses of the thread that holds a slot.
///
/// Adding is atomic, since a signal handler may add while its thread does or takes.
#[derive(Debug)]
pub(super) struct Losses {
    /// The thread.
    thread: AtomicU32,
    /// By reason, one more than the index of the thread's entry in the loss table; 0 for none.
    entries: [AtomicU16; REASONS],
    runs: [Run; REASONS],
}

/// A run of losses that no event reports yet.
#[derive(Debug)]
struct Run {
    number: AtomicU64,
    from: AtomicU64,
}

impl Run {
    crate::sync::const_new! {
        fn new() -> Self {
            Self { number: AtomicU64::new(0), from: AtomicU64::new(0) }
        }
    }
}

impl Losses {
    crate::sync::const_new! {
        pub(super) fn new() -> Self {
            Self {
                thread: AtomicU32::new(0),
                entries: [
                    AtomicU16::new(0), AtomicU16::new(0), AtomicU16::new(0),
                    AtomicU16::new(0), AtomicU16::new(0), AtomicU16::new(0),
                ],
                runs: [Run::new(), Run::new(), Run::new(), Run::new(), Run::new(), Run::new()],
            }
        }
    }

    /// Makes these the losses of `thread`, which holds the slot from now on. Those of another
    /// thread that no event reports are in the loss table.
    pub(super) fn own(&self, thread: u32) {
        if self.thread.swap(thread, Ordering::Relaxed) != thread {
            self.forget();
        }
    }

    /// Forgets the entries of the loss table, which go with the buffer.
    pub(super) fn forget(&self) {
        for (entry, run) in self.entries.iter().zip(&self.runs) {
            entry.store(0, Ordering::Relaxed);
            run.number.store(0, Ordering::Relaxed);
        }
    }

    /// Whether events report all of them.
    pub(super) fn is_empty(&self) -> bool {
        self.runs.iter().all(|run| run.number.load(Ordering::Relaxed) == 0)
    }

    /// Takes the next run that no event reports.
    pub(super) fn take(&self) -> Option<Loss> {
        let runs = self.entries.iter().zip(&self.runs);
        LossReason::ALL.into_iter().zip(runs).find_map(|(reason, (entry, run))| {
            let from = run.from.load(Ordering::Relaxed);
            let number = run.number.swap(0, Ordering::Relaxed);
            let entry = entry.load(Ordering::Relaxed);
            (number != 0).then_some(Loss { reason, number, from, entry })
        })
    }

    /// Adds a record that was lost now. Returns whether a run begins with it.
    pub(super) fn add(&self, reason: LossReason, now: u64) -> bool {
        let run = &self.runs[reason as usize];
        let begins = run.number.fetch_add(1, Ordering::Relaxed) == 0;
        if begins {
            run.from.store(now, Ordering::Relaxed);
        }
        begins
    }

    /// The index of the entry for `reason`, which `claim` finds for the first loss.
    pub(super) fn entry(&self, reason: LossReason, claim: impl FnOnce() -> u16) -> u16 {
        let entry = &self.entries[reason as usize];
        match entry.load(Ordering::Relaxed) {
            0 => {
                let new = claim() + 1;
                // A signal handler may have been faster; what was claimed then stays unused.
                match entry.compare_exchange(0, new, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => new - 1,
                    Err(found) => found - 1,
                }
            }
            found => found - 1,
        }
    }
}

/// What threads without a slot lose: counted here, since they can keep no session alive, and moved
/// to the loss table by the service thread.
#[derive(Debug)]
pub(super) struct Slotless {
    number: AtomicU64,
    first: AtomicU64,
    last: AtomicU64,
}

impl Slotless {
    crate::sync::const_new! {
        pub(super) fn new() -> Self {
            Self { number: AtomicU64::new(0), first: AtomicU64::new(0), last: AtomicU64::new(0) }
        }
    }

    /// Forgets what was lost before a recording.
    pub(super) fn forget(&self) {
        self.number.store(0, Ordering::Relaxed);
    }

    /// Counts a record that was lost now.
    pub(super) fn count(&self, now: u64) {
        self.last.store(now, Ordering::Relaxed);
        if self.number.fetch_add(1, Ordering::Relaxed) == 0 {
            self.first.store(now, Ordering::Relaxed);
        }
    }

    /// Takes what was lost, if anything was: how many, and when the first and the last were.
    pub(super) fn take(&self) -> Option<(u64, u64, u64)> {
        let number = self.number.swap(0, Ordering::Relaxed);
        let [first, last] = [&self.first, &self.last].map(|time| time.load(Ordering::Relaxed));
        (number != 0).then_some((number, first, last))
    }
}
