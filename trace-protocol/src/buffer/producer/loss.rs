//! Records that found no room: counted by thread and reason in the loss table, and reported by an
//! event as soon as there is room again.
//!
//! The loss table is the account: whoever reads the buffer, also after a kill, finds in it what
//! each thread lost, why and when. The events say where in the trace the gaps are.

use crate::buffer::header::loss_entry;
use crate::sync::{AtomicU16, AtomicU32, AtomicU64, Ordering};

use super::recorder::Recorder;
use super::session::Session;
use super::slot::{Slot, Word};

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
    /// The entry of the loss table that counts them.
    entry: u16,
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

    /// The index of the entry for `reason`, which `claim` finds for the first loss.
    fn entry(&self, reason: LossReason, claim: impl FnOnce() -> u16) -> u16 {
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
}

impl Recorder {
    /// Counts a record that found no room. The slot is busy.
    pub(super) fn lost(&self, slot: &Slot, session: &Session, reason: LossReason) {
        let (losses, now) = (&slot.losses, (session.clock)());
        let index = losses.entry(reason, || self.claim_loss_entry(slot, session, reason, now));
        let Some(entry) = session.loss_entry(index) else { return };
        let run = &losses.runs[reason as usize];
        if run.number.fetch_add(1, Ordering::Relaxed) == 0 {
            run.from.store(now, Ordering::Relaxed);
            entry[loss_entry::FROM].store(now, Ordering::Relaxed);
        }
        count(entry, now, 1);
    }

    /// Finds an entry of the loss table for a thread and a reason: a new one, or, where the table
    /// is full, that of all other threads.
    fn claim_loss_entry(
        &self,
        slot: &Slot,
        session: &Session,
        reason: LossReason,
        now: u64,
    ) -> u16 {
        let entries = session.layout.loss_entries() as u64;
        let next = |used| (used < entries).then_some(used + 1);
        let claimed = self.loss_entries.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        let index = claimed.map_or(reason as u16, |index| index as u16);
        if let Some(entry) = session.loss_entry(index) {
            begin(entry, now);
            if claimed.is_ok() {
                entry[loss_entry::ID].store(loss_id(reason, slot.thread()), Ordering::Release);
            }
        }
        index
    }

    /// Prepares the loss table of a new session. Service thread only.
    pub(super) fn begin_losses(&self, session: &Session) {
        self.loss_entries.store(REASONS as u64, Ordering::Relaxed);
        for reason in LossReason::ALL {
            if let Some(entry) = session.loss_entry(reason as u16) {
                entry[loss_entry::ID].store(loss_id(reason, 0), Ordering::Release);
            }
        }
    }

    /// Remembers that an event reports a loss.
    pub(super) fn reported(&self, session: &Session, loss: &Loss) {
        let index = loss.entry.checked_sub(1);
        if let Some(entry) = index.and_then(|index| session.loss_entry(index)) {
            entry[loss_entry::REPORTED].fetch_add(loss.number, Ordering::Release);
        }
    }

    /// Counts a record of a thread that got no slot from [`Recorder::attach`].
    #[cold]
    pub fn lost_without_slot(&self, clock: impl FnOnce() -> u64) {
        if self.is_recording() {
            let now = clock();
            self.slotless.last.store(now, Ordering::Relaxed);
            if self.slotless.number.fetch_add(1, Ordering::Relaxed) == 0 {
                self.slotless.first.store(now, Ordering::Relaxed);
            }
        }
    }

    /// Moves what threads without a slot lost to the loss table. Service thread only.
    pub fn report_slotless(&self) {
        let number = self.slotless.number.swap(0, Ordering::Relaxed);
        let entry = self.installed().and_then(|it| it.loss_entry(LossReason::NoSlot as u16));
        if let (Some(entry), 1..) = (entry, number) {
            let first = self.slotless.first.load(Ordering::Relaxed);
            begin(entry, first);
            count(entry, self.slotless.last.load(Ordering::Relaxed), number);
        }
    }
}

/// Stores when the first loss of an entry was. Threads may share the entry: the first one counts.
fn begin(entry: &[Word], now: u64) {
    let _already =
        entry[loss_entry::FIRST].compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
}

/// Adds losses to an entry. Released: a reader that sees the number sees the times.
fn count(entry: &[Word], last: u64, number: u64) {
    entry[loss_entry::LAST].store(last, Ordering::Relaxed);
    entry[loss_entry::NUMBER].fetch_add(number, Ordering::Release);
}

fn loss_id(reason: LossReason, thread: u32) -> u64 {
    (reason as u64 + 1) << 32 | u64::from(thread)
}
