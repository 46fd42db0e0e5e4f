//! Which numbers the manager keeps for the guard.
//!
//! One number decides: the archive's valid length. Everything else has a place in the archive
//! (where it ends), which is noted before it is written; it is there if the valid length has
//! reached that.

use std::sync::Arc;

use trace_protocol::archive::Ledger;
use trace_protocol::buffer::consumer::SaveSlot;

use crate::buffers::SharedBuffer;

/// The session's numbers.
pub(super) mod session {
    /// Bytes of whole blocks in the archive.
    pub(in crate::guard) const LENGTH: usize = 0;
    /// How the session stands: one of the states below.
    pub(in crate::guard) const STATE: usize = 1;

    /// Records are still to come.
    pub(in crate::guard) const RUNNING: u64 = 0;
    /// All is written; only the name may be missing.
    pub(in crate::guard) const WRITTEN: u64 = 1;
    /// A part could not be written, and the archive ends before it.
    pub(in crate::guard) const FAILED: u64 = 2;
    /// The archive failed and was left as it is: nothing is to be done.
    pub(in crate::guard) const ABANDONED: u64 = 3;
}

/// A provider's numbers. Places are [`UNKNOWN`] until there is one.
pub(super) mod provider {
    /// Where the end of its opening is.
    pub(in crate::guard) const OPENING: usize = 0;
    /// How many bytes before that the word with its clock's rate is; 0 if the rate is known.
    pub(in crate::guard) const RATE_BEFORE: usize = 1;
    /// Where the end of all of it is.
    pub(in crate::guard) const CLOSING: usize = 2;
    /// The last wrapped count that was copied, plus one.
    pub(in crate::guard) const SAVED: usize = 3;
    /// What its own loss records account for, in all that was read.
    pub(in crate::guard) const REPORTED: usize = 4;
    /// Copies that the guard does not see.
    pub(in crate::guard) const UNSHARED: usize = 5;
    /// Those of them that are in the archive.
    pub(in crate::guard) const UNSHARED_WRITTEN: usize = 6;

    /// No place yet.
    pub(in crate::guard) const UNKNOWN: u64 = u64::MAX;
}

/// What is to be noted about a block that is written.
#[derive(Debug)]
pub(crate) enum LedgerUpdate {
    /// It opens a provider.
    Opening(Ledger),
    /// It holds the records of copies.
    Save(Vec<SaveSlot>),
    /// It holds the records of a copy that the guard does not see.
    Unshared(Ledger),
    /// It closes a provider.
    Closing {
        ledger: Ledger,
        /// The provider's id.
        id: u32,
        /// Copies whose records it holds, or that are ignored.
        slots: Vec<SaveSlot>,
        /// Its memory, which is not freed before the block is written.
        _buffer: Option<Arc<SharedBuffer>>,
    },
}

impl LedgerUpdate {
    /// BlockInfo that the block is going to end there.
    pub(super) fn before_write(&self, end: u64) {
        match self {
            Self::Opening(ledger) => ledger.set(provider::OPENING, end),
            Self::Save(slots) => slots.iter().for_each(|slot| slot.set_end(end)),
            Self::Unshared(_) => {}
            Self::Closing { ledger, slots, .. } => {
                slots.iter().for_each(|slot| slot.set_end(end));
                ledger.set(provider::CLOSING, end);
            }
        }
    }

    /// BlockInfo that the block is written.
    pub(super) fn after_write(&self) {
        if let Self::Unshared(ledger) = self {
            let before = ledger.get(provider::UNSHARED_WRITTEN);
            ledger.set(provider::UNSHARED_WRITTEN, before + 1);
        }
    }
}
