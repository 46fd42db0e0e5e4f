//! What a session's own limit leaves out of a provider's records.

use trace_protocol::archive::{self, Closing, Identity, Loss};
use trace_protocol::buffer::producer::LossReason;

/// The effect on a provider's records of a limit that the session keeps itself.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Limited {
    /// Records beyond the limit, in oneshot mode.
    pub(crate) dropped: Option<Loss>,
    /// Removed blocks, in circular mode.
    pub(crate) overwritten: u32,
    /// The losses that dropped and removed records report.
    pub(crate) unreported: u64,
}

impl Limited {
    /// Returns the number of records beyond the limit.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.map_or(0, |loss| loss.number)
    }

    /// Adds it to the results of a provider.
    pub(crate) fn limit(&self, closing: &mut Closing) {
        closing.overwritten = closing.overwritten.saturating_add(self.overwritten);
        closing.reported = closing.reported.saturating_sub(self.unreported);
    }

    /// Appends the report of the records beyond the limit.
    pub(crate) fn write(&self, words: &mut Vec<u64>, provider: &Identity) {
        if let Some(lost) = self.dropped {
            archive::loss(words, provider, LossReason::BufferFull.as_str(), lost);
        }
    }
}
