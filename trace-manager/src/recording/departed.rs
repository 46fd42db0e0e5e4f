//! What providers recorded that have left.

use std::collections::btree_map::{BTreeMap, Entry};
use std::collections::VecDeque;

use trace_format::notes::Omission;

use crate::machine::ProviderId;
use crate::summary::ProviderSummary;

/// The most bytes of summaries, about: a session may record as many programs as a machine starts.
/// A daemon's reply has space for them.
const MOST_BYTES: usize = 4 << 20;

/// The most programs of which statistics are returned while the session runs.
const MOST_STATISTICS: usize = 1000;

/// The most categories of the programs whose summaries are one.
const MOST_CATEGORIES: usize = 4096;

/// The summaries of providers that have left, and the sums over them.
#[derive(Debug, Default)]
pub(super) struct Departed {
    summaries: BTreeMap<ProviderId, ProviderSummary>,
    /// The connections, in the order of their first departures.
    order: VecDeque<ProviderId>,
    bytes: usize,
    /// The sum over those that departed first, for which there was no space.
    merged: Option<Box<ProviderSummary>>,
    /// The number of these.
    merged_number: u64,
    pub(super) events: u64,
    pub(super) dropped: u64,
    /// The dropped records of programs that may cause actions of triggers.
    pub(super) heeded_losses: u64,
}

impl Departed {
    /// Adds what a connection recorded into the buffer that it has left.
    pub(super) fn add(&mut self, id: ProviderId, summary: ProviderSummary) {
        self.events = self.events.saturating_add(summary.events);
        self.dropped = self.dropped.saturating_add(summary.dropped);
        match self.summaries.entry(id) {
            Entry::Vacant(entry) => {
                self.bytes += size(&summary);
                entry.insert(summary);
                self.order.push_back(id);
            }
            Entry::Occupied(mut earlier) => {
                self.bytes -= size(earlier.get());
                earlier.get_mut().add(summary);
                self.bytes += size(earlier.get());
            }
        }
        while self.bytes > MOST_BYTES {
            let Some(first) = self.order.pop_front() else { return };
            if let Some(summary) = self.summaries.remove(&first) {
                self.bytes -= size(&summary);
                self.merge(summary);
            }
        }
    }

    /// Adds missing data to what a connection recorded, if that has a summary.
    pub(super) fn omit(&mut self, id: ProviderId, omission: Omission) {
        if let Some(summary) = self.summaries.get_mut(&id) {
            self.bytes -= size(summary);
            summary.omitted.push((omission, 1));
            self.bytes += size(summary);
        } else if let Some(merged) = &mut self.merged {
            merged.omitted.push((omission, 1));
        }
    }

    /// Returns the summaries of those that departed last, [`MOST_STATISTICS`] at most: a controller
    /// may ask often.
    pub(super) fn newest(&self) -> impl Iterator<Item = (ProviderId, &ProviderSummary)> {
        let newest = self.order.iter().rev().take(MOST_STATISTICS);
        newest.filter_map(|id| Some((*id, self.summaries.get(id)?)))
    }

    fn merge(&mut self, mut summary: ProviderSummary) {
        summary.known_categories = Vec::new();
        self.merged_number += 1;
        match &mut self.merged {
            None => self.merged = Some(Box::new(ProviderSummary { pid: 0, ..summary })),
            Some(merged) => {
                if merged.categories.len() >= MOST_CATEGORIES {
                    summary.categories.retain(|name, _| merged.categories.contains_key(name));
                }
                merged.add(summary);
            }
        }
    }

    /// Returns the summaries, by archive id. Those that are one come first.
    pub(super) fn into_summaries(self) -> Vec<ProviderSummary> {
        let mut summaries: Vec<_> = self.summaries.into_values().collect();
        summaries.sort_by_key(|summary| summary.id);
        let name = format!("{} earlier programs", self.merged_number);
        let merged = self.merged.map(|merged| ProviderSummary { name, ..*merged });
        merged.into_iter().chain(summaries).collect()
    }
}

/// Returns about how many bytes a summary has.
fn size(summary: &ProviderSummary) -> usize {
    const WORD: usize = size_of::<u64>();
    let categories = summary.categories.keys().map(|name| name.len() + 4 * WORD);
    let known = summary.known_categories.iter().map(|name| name.len() + 3 * WORD);
    let texts = summary.name.len() + categories.chain(known).sum::<usize>();
    let numbers = summary.omitted.len() + summary.rejected.len() + summary.dropped_by_reason.len();
    size_of::<ProviderSummary>() + texts + numbers * 2 * WORD
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::provider_summary;
    use crate::machine::End;

    fn summary(id: u32, categories: usize) -> ProviderSummary {
        let name = |number| format!("category {number} of {id}");
        let known_categories = (0..categories).map(name).collect();
        ProviderSummary { id, known_categories, ..provider_summary(End::Terminated) }
    }

    /// Adds such programs, and returns their summaries.
    fn summaries(programs: u32, categories: usize) -> Vec<ProviderSummary> {
        let mut departed = Departed::default();
        for number in 1..=programs {
            departed.add(number, summary(number, categories));
            assert!(departed.bytes <= MOST_BYTES, "{}", departed.bytes);
        }
        let one = summary(1, 0);
        let programs = u64::from(programs);
        assert_eq!(departed.events, programs * one.events);
        let all = departed.into_summaries();
        let sum = |of: fn(&ProviderSummary) -> u64| all.iter().map(of).sum::<u64>();
        assert_eq!(sum(|it| it.events), programs * one.events);
        assert_eq!(sum(|it| it.dropped), programs * one.dropped);
        assert_eq!(sum(|it| it.categories["web"]), programs * one.categories["web"]);
        all
    }

    #[test]
    fn each_program_has_a_summary() {
        let all = summaries(1000, 3);
        assert_eq!(all.len(), 1000);
        assert!(all.iter().all(|it| it.pid != 0) && all.is_sorted_by_key(|it| it.id));
    }

    #[test]
    fn the_earliest_programs_of_very_many_are_one() {
        let all = summaries(50_000, 3);
        assert!(all.len() > 5000, "{}", all.len());
        let name = format!("{} earlier programs", 50_001 - all.len());
        assert_eq!((all[0].pid, &all[0].name), (0, &name));
        assert_eq!(all[all.len() - 1].id, 50_000);
    }

    #[test]
    fn many_names_of_categories_take_no_more_memory() {
        let all = summaries(60, 75_000);
        assert_eq!((all.len(), all[0].name.as_str()), (2, "59 earlier programs"));
        assert!(all[0].known_categories.is_empty());
    }

    #[test]
    fn statistics_are_those_of_the_last_thousand() {
        let mut departed = Departed::default();
        (1..=1500).for_each(|number| departed.add(number, summary(number, 0)));
        let ids: Vec<_> = departed.newest().map(|(id, _)| id).collect();
        assert_eq!((ids.len(), ids[0], ids[999]), (1000, 1500, 501));
    }

    /// As one that a server has had since the start.
    #[test]
    fn those_that_departed_first_are_one() {
        let mut departed = Departed::default();
        for number in (2..=60).chain([1]) {
            departed.add(number, summary(number, 75_000));
        }
        let all = departed.into_summaries();
        assert_eq!(
            all.iter().map(|it| (it.pid == 0, it.id)).collect::<Vec<_>>(),
            [(true, 2), (false, 1)]
        );
    }

    #[test]
    fn buffers_of_one_connection_have_one_summary() {
        let mut departed = Departed::default();
        departed.add(7, summary(1, 2));
        departed.add(7, summary(1, 2));
        assert_eq!(departed.bytes, size(&departed.summaries[&7]));
        let [both] = &departed.into_summaries()[..] else { panic!("one summary") };
        assert_eq!(both.events, 2 * summary(1, 0).events);
    }
}
