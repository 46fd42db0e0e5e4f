//! What is in a connected provider's buffer at one moment.

use trace_protocol::archive::{ClockSample, Identity};
use trace_protocol::buffer::consumer::{Collector, LiveCopy};

use super::ProviderData;
use crate::category_filter::CategoryFilter;
use crate::limited::Limited;
use crate::machine::SessionNumber;
use crate::records::{Records, Spares};
use crate::retention::RestLimit;
use crate::window::Window;

/// The uncollected contents of a connected provider's buffer at one moment.
#[derive(Debug)]
pub(crate) struct Extract {
    identity: Identity,
    collector: Collector,
    copy: LiveCopy,
    window: Window,
    now: ClockSample,
    /// The effect of the session's own limit on the records that it has taken.
    pub(crate) limited: Limited,
    /// The limit of a oneshot session, for these ones.
    pub(crate) rest: Option<RestLimit>,
}

impl Extract {
    /// Returns the provider's archive id.
    pub(crate) fn id(&self) -> u32 {
        self.identity.id
    }

    /// Returns the records between a section record and the provider's closing records, of those
    /// that all `filters` select.
    pub(crate) fn into_words(self, filters: &mut [Option<CategoryFilter>]) -> Vec<u64> {
        let Self { identity, mut collector, copy, window, now, mut limited, rest } = self;
        let mut words = Records::begin(&Spares::default(), identity.id);
        collector.finish_copy(copy, &mut words);
        let mut words = select(filters, identity.id, words);
        if let Some(mut rest) = rest {
            if let Some(kept) = rest.take(&words, collector.stats().reported_losses) {
                words = kept;
            }
            limited = rest.limited();
        }
        let mut closing = window.closing_of_part(&collector, now.ticks(identity.clock));
        limited.limit(&mut closing);
        let mut last = Vec::new();
        limited.write(&mut last, &identity);
        closing.write_now(&mut last, &identity, &now);
        words.extend(select(filters, identity.id, last));
        words
    }
}

/// Returns the records of a provider that all filters select.
fn select(filters: &mut [Option<CategoryFilter>], provider: u32, words: Vec<u64>) -> Vec<u64> {
    let filters = filters.iter_mut().flatten();
    filters.fold(words, |words, filter| filter.select_words(provider, &words).unwrap_or(words))
}

/// The buffer of a provider whose events are counted on another thread.
#[derive(Debug)]
pub(crate) struct UncountedBuffer {
    id: u32,
    collector: Collector,
}

impl UncountedBuffer {
    /// Returns the provider's id and the number of its events so far, of which `filter` selects
    /// those of the session. The provider may continue.
    pub(crate) fn count_events(self, filter: &mut CategoryFilter) -> (u32, u64) {
        let Self { id, mut collector } = self;
        let mut words = Vec::new();
        collector.finish_copy(collector.copy_live(), &mut words);
        // Counts them.
        let _selected = filter.select_words(id, &words);
        (id, filter.events(id).unwrap_or_else(|| collector.stats().events))
    }
}

impl ProviderData {
    /// Copies the rest of the buffer for a session as if the provider ended now. All copies are
    /// checked before the call.
    pub(crate) fn extract(&self, session: SessionNumber) -> Option<Extract> {
        Some(Extract {
            identity: self.identity.clone(),
            copy: self.collector.copy_live(),
            collector: self.collector.clone(),
            window: self.sessions.get(&session)?.clone(),
            now: ClockSample::now(),
            limited: Limited::default(),
            rest: None,
        })
    }

    /// Returns the buffer for a count on another thread.
    pub(crate) fn uncounted(&self) -> UncountedBuffer {
        UncountedBuffer { id: self.identity.id, collector: self.collector.clone() }
    }
}
