//! Counts by provider.

use std::collections::HashMap;
use std::io::Read;

use trace_format::{Item, Metadata, Reader, Record};

use super::ProviderReport;
use crate::own;

/// Counts by provider. The reader limits how many providers there are.
#[derive(Debug, Default)]
pub(super) struct Providers {
    /// By id. The names are added last.
    counts: HashMap<Option<u32>, ProviderReport>,
}

impl Providers {
    pub(super) fn count(&mut self, item: &Item<'_>) {
        // These two belong to the archive, not to the provider before them.
        use Metadata::{MagicNumber, ProviderEvent};
        if let Record::Metadata(MagicNumber | ProviderEvent { .. }) = item.record {
            return;
        }
        let provider = self.of(item);
        provider.records += 1;
        let is_event = matches!(&item.record, Record::Event(event) if !own::is_added(item, event));
        provider.events += u64::from(is_event);
    }

    pub(super) fn add_loss(&mut self, item: &Item<'_>, number: u64) {
        let dropped = &mut self.of(item).records_dropped;
        *dropped = dropped.saturating_add(number);
    }

    fn of(&mut self, item: &Item<'_>) -> &mut ProviderReport {
        self.counts.entry(item.provider.id()).or_default()
    }

    pub(super) fn report<R: Read>(mut self, reader: &Reader<R>) -> Vec<ProviderReport> {
        let before_sections = self.counts.remove(&None);
        let named = reader.providers().map(|provider| {
            let id = provider.id();
            let counts = self.counts.remove(&id).unwrap_or_default();
            ProviderReport { id, name: provider.name().to_owned(), ..counts }
        });
        before_sections.into_iter().chain(named).collect()
    }
}
