//! The sinks of a session, with a category filter each.

use trace_protocol::categories;

use crate::archive::ArchiveSink;
use crate::category_filter::CategoryFilter;
use crate::config::SessionConfig;
use crate::records::{Records, Spares};
use crate::sink::{Ending, Finish, Follower, Opening, Sink, SinkRequest};

/// The sinks of a session.
#[derive(Debug)]
pub(crate) struct Sinks {
    pub(crate) archive: ArchiveSink,
    filter: Option<CategoryFilter>,
    sinks: Vec<(Option<CategoryFilter>, Box<dyn Sink>)>,
    followers: Vec<(CategoryFilter, Follower)>,
    /// The union of the categories.
    categories: Vec<String>,
}

/// Returns the categories of the session and of all its sinks, which providers record.
fn union(categories: &[String], sinks: &[SinkRequest]) -> Vec<String> {
    let lists = sinks.iter().map(|sink| sink.categories.as_slice());
    categories::union(&[categories].into_iter().chain(lists).collect::<Vec<_>>())
}

impl Sinks {
    /// Combines the archive, which gets the session's categories, with the other sinks.
    pub(crate) fn new(
        archive: ArchiveSink,
        config: &SessionConfig,
        sinks: Vec<SinkRequest>,
        spares: &Spares,
    ) -> Self {
        let categories = &config.categories;
        let recorded = union(categories, &sinks);
        // A sink that gets all recorded categories needs no filter.
        let differs = !config.providers.is_empty() && !sinks.is_empty();
        let filter = |categories: &[String]| {
            (differs || categories != recorded)
                .then(|| CategoryFilter::new(categories, spares.clone()))
        };
        let sinks = sinks.into_iter().map(|it| (filter(&it.categories), it.sink)).collect();
        let filter = filter(categories);
        Self { archive, filter, sinks, followers: Vec::new(), categories: recorded }
    }

    /// Returns the categories of the archive and of all other sinks.
    pub(crate) fn categories(&self) -> &[String] {
        &self.categories
    }

    /// Returns whether there are others than the archive and streams.
    pub(crate) fn has_others(&self) -> bool {
        !self.sinks.is_empty()
    }

    /// Replaces the categories of the archive, which is the only sink.
    pub(crate) fn set_categories(&mut self, categories: &[String]) {
        self.categories = categories.to_vec();
    }

    /// Adds a provider to all sinks. The archive gets these categories of it.
    pub(crate) fn open(&mut self, opening: &Opening<'_>, categories: &[String]) {
        let id = opening.identity().id;
        self.archive.open(opening);
        self.filter.iter_mut().for_each(|filter| filter.add_with(id, 0, categories));
        for (filter, sink) in &mut self.sinks {
            sink.open(opening);
            filter.iter_mut().for_each(|filter| filter.add(id, 0));
        }
        for (filter, follower) in &mut self.followers {
            follower.open(opening.identity(), opening.ticks_per_second(), opening.now());
            filter.add(id, 0);
        }
    }

    /// Passes records to each sink, and to the streams.
    pub(crate) fn take(&mut self, records: &Records) {
        self.stream(records);
        self.keep(records);
    }

    /// Passes records to the streams only: these get them before the session's own limit.
    pub(crate) fn stream(&mut self, records: &Records) {
        for (filter, follower) in &mut self.followers {
            follower.take(&filter.select(records));
            if records.is_last {
                filter.remove(records.provider);
            }
        }
    }

    /// Passes records to each sink but the streams. Returns those of the archive.
    pub(crate) fn keep(&mut self, records: &Records) -> Records {
        for (filter, sink) in &mut self.sinks {
            sink.take(&select(filter, records));
        }
        let records = select(&mut self.filter, records);
        self.archive.take(&records);
        records
    }

    /// Adds a stream, which has the openings and names of all providers.
    pub(crate) fn follow(&mut self, filter: CategoryFilter, follower: Follower) {
        self.followers.push((filter, follower));
    }

    /// Removes the streams without readers. Returns the number of the others.
    pub(crate) fn followers(&mut self) -> usize {
        self.followers.retain(|(_, follower)| !follower.has_ended());
        self.followers.len()
    }

    /// Returns a copy of the archive's filter.
    pub(crate) fn filter(&self) -> Option<CategoryFilter> {
        self.filter.clone()
    }

    /// Ends the archive and the other sinks, in their order.
    pub(crate) fn finish(self, counter_rate: u64) -> (Finish, Vec<Finish>) {
        let is_discarded = self.archive.is_discarded();
        let ending = Ending { counter_rate, is_discarded };
        let sinks = self.sinks.into_iter().map(|(_, sink)| sink.finish(ending)).collect();
        (Box::new(self.archive).finish(ending), sinks)
    }
}

fn select(filter: &mut Option<CategoryFilter>, records: &Records) -> Records {
    let Some(filter) = filter else { return records.clone() };
    let selected = filter.select(records);
    if records.is_last {
        filter.remove(records.provider);
    }
    selected
}
