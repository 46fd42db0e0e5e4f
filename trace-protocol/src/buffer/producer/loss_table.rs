//! The loss table, in which the recorder counts what each thread lost, why and when.

use crate::buffer::header::loss_entry;
use crate::sync::Ordering;

use super::loss::{Loss, LossReason, REASONS};
use super::publish::Word;
use super::recorder::Recorder;
use super::session::RecorderSession;
use super::slot::Slot;

impl Recorder {
    /// Counts a record that found no room. The slot is busy.
    pub(super) fn lost(&self, slot: &Slot, session: &RecorderSession, reason: LossReason) {
        let (losses, now) = (&slot.losses, (session.clock)());
        let index = losses.entry(reason, || self.claim_loss_entry(slot, session, reason, now));
        let Some(entry) = session.loss_entry(index) else { return };
        if losses.add(reason, now) {
            entry[loss_entry::FROM].store(now, Ordering::Relaxed);
        }
        count(entry, now, 1);
    }

    /// Finds an entry of the loss table for a thread and a reason: a new one, or, where the table
    /// is full, that of all other threads.
    fn claim_loss_entry(
        &self,
        slot: &Slot,
        session: &RecorderSession,
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
    pub(super) fn begin_losses(&self, session: &RecorderSession) {
        self.loss_entries.store(REASONS as u64, Ordering::Relaxed);
        for reason in LossReason::ALL {
            if let Some(entry) = session.loss_entry(reason as u16) {
                entry[loss_entry::ID].store(loss_id(reason, 0), Ordering::Release);
            }
        }
    }

    /// Remembers that an event reports a loss.
    pub(super) fn reported(&self, session: &RecorderSession, loss: &Loss) {
        let index = loss.entry.checked_sub(1);
        if let Some(entry) = index.and_then(|index| session.loss_entry(index)) {
            entry[loss_entry::REPORTED].fetch_add(loss.number, Ordering::Release);
        }
    }

    /// Counts a record of a thread that got no slot from [`Recorder::attach`].
    #[cold]
    pub fn lost_without_slot(&self, clock: impl FnOnce() -> u64) {
        if self.is_recording() {
            self.slotless.count(clock());
        }
    }

    /// Moves what threads without a slot lost to the loss table. Service thread only.
    pub fn report_slotless(&self) {
        let Some((number, first, last)) = self.slotless.take() else { return };
        let entry = self.installed().and_then(|it| it.loss_entry(LossReason::NoSlot as u16));
        if let Some(entry) = entry {
            begin(entry, first);
            count(entry, last, number);
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
