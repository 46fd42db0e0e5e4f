//! The limit of a oneshot session, for records that the session does not take: those of a snapshot,
//! and those that a guard completes an archive with.

use trace_protocol::archive::Loss;

use super::{Retained, Retention};
use crate::limited::{Limited, Progress};

/// The limit to the rest of a provider's records.
#[derive(Debug)]
pub(crate) struct RestLimit {
    /// Without blocks.
    retained: Retained,
    used: usize,
    limit: usize,
}

impl RestLimit {
    /// Continues with a limit of so many words, for records whose reports of losses are counted
    /// from 0.
    pub(crate) fn resume(progress: &Progress, limit: u64) -> Self {
        let words = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let retained = Retained { limited: progress.limited(), ..Retained::default() };
        Self { retained, used: words(progress.used), limit: words(limit) }
    }

    /// Takes the next records, which begin with a section record, and report losses up to
    /// `reported`. Returns those within the limit, and what later records need; `None` for all.
    pub(crate) fn take(&mut self, words: &[u64], reported: u64) -> Option<Vec<u64>> {
        self.retained.take_first(words, reported, &mut self.used, self.limit)
    }

    /// Returns the effect of the limit, also on the records that the session has taken. Only of the
    /// others are the losses that they report counted.
    pub(crate) fn limited(&self) -> Limited {
        self.retained.limited
    }
}

impl Retention {
    /// Returns how far the session has come with a provider, if it limits its records.
    pub(crate) fn progress(&self, provider: u32) -> Option<Progress> {
        let retained = self.providers.get(&provider)?;
        let Limited { dropped, overwritten, .. } = retained.limited;
        let loss = dropped.unwrap_or(Loss { thread: None, number: 0, from: 0, to: 0 });
        let Loss { number: dropped, from, to, .. } = loss;
        let used = self.used.get(&retained.connection).map_or(0, |used| *used as u64);
        Some(Progress { used, dropped, from, to, overwritten: overwritten.into() })
    }

    /// Returns the most words of a provider in oneshot mode, if the session limits its records.
    pub(crate) fn first_words(&self, provider: u32) -> Option<u64> {
        let is_limited = self.keeps_first() && self.has(provider);
        is_limited.then_some(self.limit as u64)
    }

    /// Returns the limit to the rest of a provider's records, in oneshot mode. Their reports of
    /// losses are counted as those of the records that the session has taken.
    pub(crate) fn rest(&self, provider: u32) -> Option<RestLimit> {
        self.first_words(provider)?;
        let Retained { connection, limited, reported, earlier, .. } =
            *self.providers.get(&provider)?;
        let retained = Retained { limited, reported, earlier, ..Retained::default() };
        let used = self.used.get(&connection).copied().unwrap_or(0);
        Some(RestLimit { retained, used, limit: self.limit })
    }
}
