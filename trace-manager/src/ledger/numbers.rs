//! The numbers of a ledger, which the manager updates for the guard.
//!
//! The decisive number is the archive's valid length. The end of each block is noted before it is
//! written; the block is archived if the valid length has reached that end.

use std::sync::Arc;

use trace_protocol::archive::Ledger;
use trace_protocol::buffer::consumer::SaveSlot;

use crate::buffers::SharedBuffer;
use crate::limited::Progress;

/// The session's numbers.
pub(crate) mod session {
    /// Bytes of complete blocks in the archive.
    pub(crate) const LENGTH: usize = 0;
    /// The state of the session, one of the following.
    pub(crate) const STATE: usize = 1;

    /// Records are being written.
    pub(crate) const RUNNING: u64 = 0;
    /// All records are written, but the file may not be renamed.
    pub(crate) const WRITTEN: u64 = 1;
    /// A block could not be written, and the archive ends before it.
    pub(crate) const FAILED: u64 = 2;
    /// The archive failed, and the manager left it as it is. The guard does nothing.
    pub(crate) const ABANDONED: u64 = 3;
}

/// A provider's numbers. Offsets are [`UNKNOWN`] at first.
pub(crate) mod provider {
    /// The offset of the end of its opening block.
    pub(crate) const OPENING: usize = 0;
    /// The distance in bytes from the word with its clock's rate to that end; 0 if the rate is
    /// final.
    pub(crate) const RATE_BEFORE: usize = 1;
    /// The offset of the end of its last block.
    pub(crate) const CLOSING: usize = 2;
    /// The last wrapped count that was copied, plus one.
    pub(crate) const SAVED: usize = 3;
    /// The losses that its own records report, in archived copies.
    pub(crate) const REPORTED: usize = 4;
    /// Copies in the manager's own memory.
    pub(crate) const UNSHARED: usize = 5;
    /// Copies of these that are archived.
    pub(crate) const UNSHARED_WRITTEN: usize = 6;
    /// The losses that parts before the one with its opening report.
    pub(crate) const REPORTED_BEFORE: usize = 7;
    /// 1 if the provider has replied to Stop, or has stopped by itself.
    pub(crate) const STOPPED: usize = 8;
    /// The offset of the end of the last block with a copy.
    pub(crate) const COPY: usize = 9;
    /// What [`REPORTED`] is once that block is archived.
    pub(crate) const COPY_REPORTED: usize = 10;
    /// What [`UNSHARED_WRITTEN`] is once that block is archived.
    pub(crate) const COPY_UNSHARED_WRITTEN: usize = 11;

    /// The first rolling buffer that a circular buffer saves, plus one, once it streams. Set before
    /// that is copied.
    pub(crate) const STREAMS_FROM: usize = 12;

    /// Losses from before the session whose reports were overwritten. Decreases at most once, when
    /// the manager has read the reports that were not.
    pub(crate) const OVERWRITTEN_REPORTS: usize = 13;

    /// The most words of the provider in a oneshot session that keeps the limit itself; 0 for none.
    pub(crate) const FIRST_WORDS: usize = 14;
    /// How far the session has come with its own limit, in archived copies: a [`Progress`].
    ///
    /// [`Progress`]: crate::limited::Progress
    pub(crate) const LIMITED: usize = 15;
    /// What [`LIMITED`] is once the last block with a copy is archived.
    pub(crate) const COPY_LIMITED: usize = LIMITED + super::LIMIT_NUMBERS;

    /// The offset is not known yet.
    pub(crate) const UNKNOWN: u64 = u64::MAX;
}

/// The numbers of a [`Progress`].
const LIMIT_NUMBERS: usize = 5;

impl Progress {
    /// Writes it to the numbers from `first` on.
    pub(super) fn set(&self, ledger: &Ledger, first: usize) {
        let Self { used, dropped, from, to, overwritten } = *self;
        let numbers: [u64; LIMIT_NUMBERS] = [used, dropped, from, to, overwritten];
        (first..).zip(numbers).for_each(|(at, number)| ledger.set(at, number));
    }

    /// Reads it from the numbers from `first` on, each of which `get` returns.
    pub(crate) fn read(get: impl Fn(usize) -> u64, first: usize) -> Self {
        let [used, dropped, from, to, overwritten] =
            std::array::from_fn::<u64, LIMIT_NUMBERS, _>(|at| get(first + at));
        Self { used, dropped, from, to, overwritten }
    }
}

/// The update of a ledger for one block.
#[derive(Debug)]
pub(crate) enum LedgerUpdate {
    /// The block opens a provider.
    Opening {
        ledger: Ledger,
        /// The losses that earlier parts of the archive report.
        reported_before: u64,
    },
    /// The block has the records of a copy.
    Save {
        ledger: Ledger,
        /// Where the copy is; empty if it is in the manager's own memory.
        slots: Vec<SaveSlot>,
        /// The losses that the provider's own records report up to its end.
        reported: u64,
        /// How far the session has come with its own limit.
        progress: Progress,
    },
    /// The block closes a provider.
    Closing {
        ledger: Ledger,
        /// The provider's id.
        id: u32,
        /// Copies whose records are in the block, or are ignored.
        slots: Vec<SaveSlot>,
        /// The provider's buffer, which must not be freed before the block is written.
        _buffer: Option<Arc<SharedBuffer>>,
    },
}

impl LedgerUpdate {
    /// Notes the offset at which the block will end.
    pub(crate) fn before_write(&self, end: u64) {
        match self {
            Self::Opening { ledger, reported_before } => {
                // The part before this one is complete: its results are in the archive.
                ledger.set(provider::REPORTED_BEFORE, *reported_before);
                ledger.set(provider::OPENING, end);
            }
            Self::Save { ledger, slots, reported, progress } => {
                slots.iter().for_each(|slot| slot.set_end(end));
                ledger.set(provider::COPY, provider::UNKNOWN);
                ledger.set(provider::COPY_REPORTED, *reported);
                let unshared = ledger.get(provider::UNSHARED_WRITTEN);
                let unshared = unshared + u64::from(slots.is_empty());
                ledger.set(provider::COPY_UNSHARED_WRITTEN, unshared);
                progress.set(ledger, provider::COPY_LIMITED);
                ledger.set(provider::COPY, end);
            }
            Self::Closing { ledger, slots, .. } => {
                slots.iter().for_each(|slot| slot.set_end(end));
                ledger.set(provider::CLOSING, end);
            }
        }
    }

    /// Notes that the block is written.
    pub(crate) fn after_write(&self) {
        if let Self::Save { ledger, progress, .. } = self {
            ledger.set(provider::REPORTED, ledger.get(provider::COPY_REPORTED));
            let unshared = ledger.get(provider::COPY_UNSHARED_WRITTEN);
            ledger.set(provider::UNSHARED_WRITTEN, unshared);
            progress.set(ledger, provider::LIMITED);
        }
    }
}
