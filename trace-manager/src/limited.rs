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
    /// Dropped and removed records, with those that name a chunk's thread.
    pub(crate) records: u64,
    /// The events among them.
    pub(crate) events: u64,
    /// Those among them that are neither events nor names.
    pub(crate) others: u64,
}

impl Limited {
    /// Returns the number of records beyond the limit.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.map_or(0, |loss| loss.number)
    }

    /// Adds the records beyond the limit to the provider's own losses by reason.
    pub(crate) fn add_dropped(&self, losses: &mut Vec<(LossReason, u64)>) {
        let dropped = self.dropped();
        match losses.iter_mut().find(|(reason, _)| *reason == LossReason::BufferFull) {
            Some((_, number)) => *number = number.saturating_add(dropped),
            None if dropped != 0 => losses.push((LossReason::BufferFull, dropped)),
            None => {}
        }
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

/// How far a session has come with its limit to a provider's records.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Words of the provider's connection, in oneshot mode.
    pub(crate) used: u64,
    /// Records beyond the limit, in oneshot mode, with the times of their events.
    pub(crate) dropped: u64,
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// Removed blocks, in circular mode.
    pub(crate) overwritten: u64,
}

impl Progress {
    fn loss(&self) -> Option<Loss> {
        let Self { dropped: number, from, to, .. } = *self;
        (number != 0).then_some(Loss { thread: None, number, from, to })
    }

    /// Returns the effect of the limit so far, without the losses that records beyond it report.
    pub(crate) fn limited(&self) -> Limited {
        let overwritten = u32::try_from(self.overwritten).unwrap_or(u32::MAX);
        Limited { dropped: self.loss(), overwritten, ..Limited::default() }
    }
}
