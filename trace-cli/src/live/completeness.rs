//! Whether an archive is complete.

use std::collections::BTreeMap;

use trace_analyze::is_clock_anchor;
use trace_format::record::Metadata;
use trace_format::{Item, Record};

/// The clock anchors of a provider: one when it joins, and one when it leaves.
const ANCHORS: u32 = 2;

/// The providers of an archive.
#[derive(Debug, Default)]
pub(super) struct Completeness {
    /// The clock anchors of each provider since it joined.
    providers: BTreeMap<u32, u32>,
}

impl Completeness {
    pub(super) fn note(&mut self, item: &Item<'_>) {
        match &item.record {
            Record::Metadata(Metadata::ProviderInfo { id, .. }) => {
                self.providers.insert(*id, 0);
            }
            Record::Event(event) if is_clock_anchor(item, event) => {
                let id = item.provider.id().unwrap_or_default();
                self.providers.entry(id).and_modify(|anchors| *anchors += 1);
            }
            _ => {}
        }
    }

    /// Returns whether all providers have left.
    pub(super) fn is_complete(&self) -> bool {
        !self.providers.is_empty() && self.present() == 0
    }

    /// Returns the number of providers that have not left.
    pub(super) fn present(&self) -> u64 {
        self.providers.values().filter(|anchors| **anchors < ANCHORS).count() as u64
    }
}

#[cfg(test)]
pub(super) mod tests {
    use trace_format::layout::InstantScope;
    use trace_format::record::{Event, EventKind, Thread};
    use trace_format::ThreadKoids;
    use trace_format::{notes, Decoder};

    use super::*;

    fn anchor() -> Record<'static> {
        Record::Event(Event {
            ticks: 1,
            thread: Thread::Inline(ThreadKoids::new(1, 1)),
            category: notes::CATEGORY.into(),
            name: notes::CLOCK_ANCHOR.into(),
            kind: EventKind::Instant { scope: Some(InstantScope::Global) },
            arguments: (&[]).into(),
        })
    }

    /// Returns an archive whose only provider has left.
    pub(in crate::live) fn complete_archive() -> Vec<u8> {
        let provider = Record::Metadata(Metadata::ProviderInfo { id: 1, name: b"a" });
        let mut words = Vec::new();
        for record in [Record::Metadata(Metadata::MagicNumber), provider, anchor(), anchor()] {
            trace_format::encode::append(&mut words, &record).unwrap();
        }
        trace_protocol::words::as_bytes(&words).to_vec()
    }

    #[test]
    fn an_archive_is_complete_when_all_providers_have_left() {
        let joins = |id| Record::Metadata(Metadata::ProviderInfo { id, name: b"a" });
        let section = |id| Record::Metadata(Metadata::ProviderSection { id });
        let records = [
            (Record::Metadata(Metadata::MagicNumber), false),
            (joins(1), false),
            (anchor(), false),
            (joins(2), false),
            (anchor(), false),
            (section(1), false),
            (anchor(), false),
            (section(2), false),
            (anchor(), true),
            (joins(1), false),
            (anchor(), false),
            (anchor(), true),
        ];
        let (mut decoder, mut completeness) = (Decoder::default(), Completeness::default());
        for (number, (record, expected)) in records.iter().enumerate() {
            let mut words = Vec::new();
            trace_format::encode::append(&mut words, record).unwrap();
            decoder.feed(trace_protocol::words::as_bytes(&words));
            let item = decoder.next().unwrap().unwrap();
            completeness.note(&item);
            assert_eq!(completeness.is_complete(), *expected, "record {number}");
        }
    }
}
