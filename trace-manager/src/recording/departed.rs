//! What providers recorded that have left.

use std::collections::btree_map::{BTreeMap, Entry};
use std::collections::VecDeque;

use trace_format::notes::Omission;

use crate::machine::ProviderId;
use crate::summary::ProviderSummary;

/// The most bytes of summaries, about: a session may record as many programs as a machine starts.
/// A daemon's reply has space for them. A quarter is for programs that the session does not heed,
/// whose summaries are merged first.
const MOST_BYTES: usize = 4 << 20;

/// The most programs of which statistics are returned while the session runs. A quarter is for
/// those that the session does not heed.
const MOST_STATISTICS: usize = 1000;

/// The most categories of the programs whose summaries are one. A quarter is for those that the
/// session does not heed.
const MOST_CATEGORIES: usize = 4096;

/// The summaries of providers that have left, and the sums over them.
#[derive(Debug, Default)]
pub(super) struct Departed {
    summaries: BTreeMap<ProviderId, Summary>,
    heeded: Order,
    others: Order,
    /// The sum over those that departed first, for which there was no space.
    merged: Option<Box<ProviderSummary>>,
    /// The number of these.
    merged_number: u64,
    pub(super) events: u64,
    pub(super) dropped: u64,
    /// The dropped records of programs that may cause actions of triggers.
    pub(super) heeded_losses: u64,
}

/// The summary of a connection.
#[derive(Debug)]
struct Summary {
    summary: ProviderSummary,
    /// Whether the session heeds the program.
    is_heeded: bool,
}

/// Connections of programs that a session heeds, or of the others.
#[derive(Debug, Default)]
struct Order {
    /// In the order of their first departures.
    ids: VecDeque<ProviderId>,
    /// The size of their summaries.
    bytes: usize,
}

impl Departed {
    /// Adds what a connection recorded into the buffer that it has left. `is_heeded` is whether the
    /// session heeds the program.
    pub(super) fn add(&mut self, id: ProviderId, summary: ProviderSummary, is_heeded: bool) {
        self.events = self.events.saturating_add(summary.events);
        self.dropped = self.dropped.saturating_add(summary.dropped);
        let order = if is_heeded { &mut self.heeded } else { &mut self.others };
        match self.summaries.entry(id) {
            Entry::Vacant(entry) => {
                order.bytes += size(&summary);
                entry.insert(Summary { summary, is_heeded });
                order.ids.push_back(id);
            }
            Entry::Occupied(mut earlier) => {
                order.bytes -= size(&earlier.get().summary);
                earlier.get_mut().summary.add(summary);
                order.bytes += size(&earlier.get().summary);
            }
        }
        while self.others.bytes > MOST_BYTES / 4 || self.bytes() > MOST_BYTES {
            let first = self.others.ids.pop_front().or_else(|| self.heeded.ids.pop_front());
            let Some(first) = first else { return };
            if let Some(summary) = self.summaries.remove(&first) {
                self.order_of(summary.is_heeded).bytes -= size(&summary.summary);
                self.merge(summary);
            }
        }
    }

    fn bytes(&self) -> usize {
        self.heeded.bytes + self.others.bytes
    }

    fn order_of(&mut self, is_heeded: bool) -> &mut Order {
        match is_heeded {
            true => &mut self.heeded,
            false => &mut self.others,
        }
    }

    /// Adds missing data to what a connection recorded, if that has a summary.
    pub(super) fn omit(&mut self, id: ProviderId, omission: Omission) {
        if let Some(Summary { summary, is_heeded }) = self.summaries.get_mut(&id) {
            let before = size(summary);
            summary.omitted.push((omission, 1));
            let (after, is_heeded) = (size(summary), *is_heeded);
            let order = self.order_of(is_heeded);
            order.bytes = order.bytes - before + after;
        } else if let Some(merged) = &mut self.merged {
            merged.omitted.push((omission, 1));
        }
    }

    /// Returns the summaries of those that departed last, [`MOST_STATISTICS`] at most: a controller
    /// may ask often.
    pub(super) fn newest(&self) -> impl Iterator<Item = (ProviderId, &ProviderSummary)> {
        let others = self.others.ids.len().min(MOST_STATISTICS / 4);
        let heeded = self.heeded.ids.iter().rev().take(MOST_STATISTICS - others);
        let newest = heeded.chain(self.others.ids.iter().rev().take(others));
        newest.filter_map(|id| Some((*id, &self.summaries.get(id)?.summary)))
    }

    fn merge(&mut self, Summary { mut summary, is_heeded }: Summary) {
        let most = if is_heeded { MOST_CATEGORIES } else { MOST_CATEGORIES / 4 };
        summary.known_categories = Vec::new();
        self.merged_number += 1;
        match &mut self.merged {
            None => self.merged = Some(Box::new(ProviderSummary { pid: 0, ..summary })),
            Some(merged) => {
                if merged.categories.len() >= most {
                    summary.categories.retain(|name, _| merged.categories.contains_key(name));
                }
                merged.add(summary);
            }
        }
    }

    /// Returns the summaries, by archive id. Those that are one come first.
    pub(super) fn into_summaries(self) -> Vec<ProviderSummary> {
        let mut summaries: Vec<_> = self.summaries.into_values().map(|it| it.summary).collect();
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
            departed.add(number, summary(number, categories), true);
            assert!(departed.bytes() <= MOST_BYTES, "{}", departed.bytes());
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
        (1..=1500).for_each(|number| departed.add(number, summary(number, 0), true));
        let ids: Vec<_> = departed.newest().map(|(id, _)| id).collect();
        assert_eq!((ids.len(), ids[0], ids[999]), (1000, 1500, 501));
    }

    /// As one that a server has had since the start.
    #[test]
    fn those_that_departed_first_are_one() {
        let mut departed = Departed::default();
        for number in (2..=60).chain([1]) {
            departed.add(number, summary(number, 75_000), true);
        }
        let all = departed.into_summaries();
        assert_eq!(
            all.iter().map(|it| (it.pid == 0, it.id)).collect::<Vec<_>>(),
            [(true, 2), (false, 1)]
        );
    }

    /// Else programs of other users would hide those of the session's user.
    #[test]
    fn summaries_of_programs_that_are_not_heeded_are_merged_first() {
        let mut departed = Departed::default();
        (1..=100).for_each(|number| departed.add(number, summary(number, 0), true));
        for number in 101..=50_000 {
            departed.add(number, summary(number, 3), false);
        }
        assert!(departed.others.bytes <= MOST_BYTES / 4, "{}", departed.others.bytes);
        let newest: Vec<_> = departed.newest().map(|(id, _)| id).collect();
        assert_eq!((newest.len(), newest[0], newest[99], newest[100]), (350, 100, 1, 50_000));
        (60_000..110_000).for_each(|number| departed.add(number, summary(number, 3), true));
        assert_eq!(departed.others.ids.len(), 0, "they make space for others");
        assert!(departed.bytes() <= MOST_BYTES, "{}", departed.bytes());
    }

    #[test]
    fn buffers_of_one_connection_have_one_summary() {
        let mut departed = Departed::default();
        departed.add(7, summary(1, 2), true);
        departed.add(7, summary(1, 2), true);
        assert_eq!(departed.bytes(), size(&departed.summaries[&7].summary));
        let [both] = &departed.into_summaries()[..] else { panic!("one summary") };
        assert_eq!(both.events, 2 * summary(1, 0).events);
    }
}
