//! Copies of rolling buffers, which are checked in parts.

use trace_protocol::buffer::consumer::{Checked, Collector, RawSave, SaveSlot};

use crate::machine::SessionNumber;

/// The slots of a copy, with the sessions whose guards share them.
pub(crate) type SessionSlots = Vec<(SessionNumber, SaveSlot)>;

/// A copy of a rolling buffer, and the end of the durable data at that time.
#[derive(Debug)]
pub(super) struct BufferCopy {
    pub(super) rolling: Rolling,
    pub(super) durable_data_end: u64,
}

#[derive(Debug)]
pub(super) enum Rolling {
    Own(RawSave),
    /// In memory that guards share: the same copy in each slot.
    Shared(SessionSlots),
}

impl BufferCopy {
    /// Begins the check with the durable records up to the copy.
    pub(super) fn begin(&self, collector: &mut Collector, out: &mut Vec<u64>) -> Checked {
        collector.collect_durable(self.durable_data_end, out);
        Checked::default()
    }

    /// Appends the well-formed records of the next `words` words, or a chunk more. Returns whether
    /// there are more.
    pub(super) fn check(
        &mut self,
        collector: &mut Collector,
        checked: &mut Checked,
        words: usize,
        out: &mut Vec<u64>,
    ) -> bool {
        match &mut self.rolling {
            Rolling::Own(rolling) => collector.sanitize_part(rolling, checked, words, out),
            Rolling::Shared(slots) => slots.first().is_some_and(|(_, slot)| {
                collector.sanitize_slot_part(&slot.reader(), checked, words, out)
            }),
        }
    }

    /// Returns its slots, if it is in memory that guards share.
    pub(super) fn into_slots(self) -> SessionSlots {
        match self.rolling {
            Rolling::Own(_) => Vec::new(),
            Rolling::Shared(slots) => slots,
        }
    }
}

/// A check of a copy that has begun.
#[derive(Debug)]
pub(super) struct Check {
    pub(super) checked: Checked,
    /// A section record, and the records so far.
    pub(super) words: Vec<u64>,
}
