//! The sinks of a session, each with its categories.

use trace_protocol::categories;

use crate::archive::ArchiveSink;
use crate::category_filter::CategoryFilter;
use crate::records::{Records, Spares};
use crate::sink::{Ending, Finish, Opening, Sink, SinkRequest};

/// The sinks of a session.
#[derive(Debug)]
pub(crate) struct Sinks {
    pub(crate) archive: ArchiveSink,
    filter: Option<CategoryFilter>,
    sinks: Vec<(Option<CategoryFilter>, Box<dyn Sink>)>,
}

/// Returns the categories that providers are asked for: those of the session and of its sinks.
pub(crate) fn union(categories: &[String], sinks: &[SinkRequest]) -> Vec<String> {
    let lists = sinks.iter().map(|sink| sink.categories.as_slice());
    categories::union(&[categories].into_iter().chain(lists).collect::<Vec<_>>())
}

impl Sinks {
    /// Puts the archive, which gets `categories`, and the other sinks together.
    pub(crate) fn new(
        archive: ArchiveSink,
        categories: &[String],
        sinks: Vec<SinkRequest>,
        spares: &Spares,
    ) -> Self {
        let asked = union(categories, &sinks);
        // Providers record nothing else than what is asked for.
        let filter = |categories: &[String]| {
            (categories != asked).then(|| CategoryFilter::new(categories, spares.clone()))
        };
        let sinks = sinks.into_iter().map(|it| (filter(&it.categories), it.sink)).collect();
        Self { archive, filter: filter(categories), sinks }
    }

    /// Gives all sinks a provider that joins.
    pub(crate) fn open(&mut self, opening: &Opening<'_>) {
        self.archive.open(opening);
        for (_, sink) in &mut self.sinks {
            sink.open(opening);
        }
    }

    /// Gives each sink its records. Returns those of the archive.
    pub(crate) fn take(&mut self, records: &Records) -> Records {
        for (filter, sink) in &mut self.sinks {
            sink.take(&select(filter, records));
        }
        let records = select(&mut self.filter, records);
        self.archive.take(&records);
        records
    }

    /// Returns the filter of the archive as it is now.
    pub(crate) fn filter(&self) -> Option<CategoryFilter> {
        self.filter.clone()
    }

    /// Ends the sinks: the archive, and the others in their order.
    pub(crate) fn finish(self, counter_rate: u64) -> (Finish, Vec<Finish>) {
        let is_discarded = self.archive.is_discarded();
        let ending = Ending { counter_rate, is_discarded };
        let sinks = self.sinks.into_iter().map(|(_, sink)| sink.finish(ending)).collect();
        (Box::new(self.archive).finish(ending), sinks)
    }
}

fn select(filter: &mut Option<CategoryFilter>, records: &Records) -> Records {
    match filter {
        Some(filter) => filter.select(records),
        None => records.clone(),
    }
}
