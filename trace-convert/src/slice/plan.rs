//! The first pass: selects records that depend on others.

use std::io::Read;

use trace_format::{Event, EventKind, Item, Reader, Record};

use super::before::DurationsBefore;
use super::numbers::Numbers;
use super::select::{Filter, Selection};
use crate::ConvertError;
use trace_analyze::catalog::Catalog;
use trace_analyze::pairing::{Edge, Outcome, Pairing, Track};
use trace_analyze::scheduling::border::Border;
use trace_analyze::{koids, Damage};

/// The maximum number of begins and ends that wait for their counterpart.
const MAX_WAITING: usize = 1 << 18;

/// The selected records of an archive.
///
/// It takes a bit for each begin, end, and event that is carried as JSON.
#[derive(Debug)]
pub struct Plan<'s> {
    pub(super) selection: &'s Selection<'s>,
    pub(super) kept: Marks,
    pub(super) before: DurationsBefore,
    /// The states of threads at the begin, if the slice has scheduling records.
    pub(super) border: Option<Border>,
    pub(super) unpaired: u64,
    /// Durations and operations that begin before the slice or end after it.
    pub(super) overlapping: u64,
    /// The selected processes and threads that are not in the archive.
    missing: (Vec<u64>, Vec<u64>),
}

impl<'s> Plan<'s> {
    /// Reads an archive and selects its records.
    ///
    /// # Errors
    ///
    /// The input is not an archive, or reading it failed.
    pub fn read<R: Read>(
        reader: Reader<R>,
        selection: &'s Selection<'s>,
    ) -> Result<Self, ConvertError> {
        let mut planner = Planner::new(selection);
        Damage::of_all(reader, |item| planner.record(item))?;
        Ok(planner.finish())
    }

    /// Returns a process of the selection that is not in the archive.
    #[must_use]
    pub fn missing_process(&self) -> Option<u64> {
        self.missing.0.first().copied()
    }

    /// Returns a thread of the selection that is not in the archive.
    #[must_use]
    pub fn missing_thread(&self) -> Option<u64> {
        self.missing.1.first().copied()
    }
}

/// A bit for each number, which is initially true.
#[derive(Debug, Default)]
pub(super) struct Marks(Vec<u64>);

impl Marks {
    fn set(&mut self, number: usize, mark: bool) {
        let (place, bit) = (number / 64, 1 << (number % 64));
        if self.0.len() <= place {
            self.0.resize(place + 1, u64::MAX);
        }
        if let Some(word) = self.0.get_mut(place) {
            *word = if mark { *word | bit } else { *word & !bit };
        }
    }

    pub(super) fn get(&self, number: usize) -> bool {
        self.0.get(number / 64).is_none_or(|word| word >> (number % 64) & 1 == 1)
    }
}

struct Planner<'s> {
    plan: Plan<'s>,
    filter: Filter<'s>,
    catalog: Catalog,
    numbers: Numbers,
    pairing: Pairing<(usize, bool)>,
}

impl<'s> Planner<'s> {
    fn new(selection: &'s Selection<'s>) -> Self {
        let koids = |koids: Option<&[u64]>| koids.unwrap_or_default().to_vec();
        let missing = (koids(selection.processes), koids(selection.threads));
        Self {
            plan: Plan {
                selection,
                kept: Marks::default(),
                before: DurationsBefore::default(),
                border: selection.cuts_scheduling().then(|| Border::new(selection.from)),
                unpaired: 0,
                overlapping: 0,
                missing,
            },
            filter: Filter::new(selection),
            catalog: Catalog::default(),
            numbers: Numbers::default(),
            pairing: Pairing::new(MAX_WAITING),
        }
    }

    fn record(&mut self, item: &Item<'_>) {
        self.catalog.note(item);
        self.note_koids(item);
        if let Some(border) = &mut self.plan.border {
            border.note(item);
        }
        if let Record::Event(event) = &item.record {
            self.complete(item, event);
        }
        let Some(number) = self.numbers.of(item) else { return };
        if let Record::Blob(_) = item.record {
            // A carried event is kept, unless the record after it is omitted.
            return;
        }
        self.plan.kept.set(number, self.filter.keeps(&mut self.catalog, item));
        if let Record::Event(event) = &item.record {
            self.event(item, event, number);
        }
    }

    /// Notes a complete event that is kept, and overlaps a border of the slice.
    fn complete(&mut self, item: &Item<'_>, event: &Event<'_>) {
        let EventKind::DurationComplete { end } = event.kind else { return };
        let begin = item.nanos(event.ticks);
        let selection = self.plan.selection;
        if !selection.cuts(begin, item.nanos(end)) || !self.filter.keeps(&mut self.catalog, item) {
            return;
        }
        self.plan.overlapping += 1;
        if begin < selection.from {
            let label = self.catalog.label(item, event.category, event.name);
            self.plan.before.add(&self.catalog, item.thread(event.thread), begin, label);
        }
    }

    fn event(&mut self, item: &Item<'_>, event: &Event<'_>, number: usize) {
        let is_selected = self.filter.selects(&mut self.catalog, item, event);
        // Flow events are selected separately.
        let Some(edge) = Edge::of(&mut self.catalog, item, event, (number, is_selected)) else {
            return;
        };
        if let Track::Flow { .. } = edge.track {
            return;
        }
        for outcome in self.pairing.push(&self.catalog, edge) {
            let is_begin = matches!(&outcome, Outcome::Unpaired(edge) if !edge.is_end);
            self.plan.unpaired += u64::from(is_begin);
            self.plan.keep(&self.filter, &self.catalog, &outcome);
        }
    }

    /// Removes the record's process and thread from the missing ones.
    fn note_koids(&mut self, item: &Item<'_>) {
        let (processes, threads) = &mut self.plan.missing;
        if processes.is_empty() && threads.is_empty() {
            return;
        }
        let (process, thread) = koids::named(&item.record);
        processes.retain(|koid| Some(*koid) != process);
        threads.retain(|koid| Some(*koid) != thread);
    }

    fn finish(self) -> Plan<'s> {
        let Self { mut plan, filter, catalog, pairing, .. } = self;
        pairing.finish(&catalog).for_each(|outcome| plan.keep(&filter, &catalog, &outcome));
        plan
    }
}

impl Plan<'_> {
    /// Keeps a begin and its end, or omits both.
    fn keep(&mut self, filter: &Filter<'_>, catalog: &Catalog, outcome: &Outcome<(usize, bool)>) {
        let (begin, over) = match outcome {
            Outcome::Pair { begin, end } => (begin, end.nanos),
            Outcome::Cut { begin, over } => (begin, *over),
            Outcome::Unpaired(edge) => return self.open(edge),
        };
        let (number, is_selected) = begin.value;
        let is_kept = is_selected && filter.reaches_in(begin.nanos, over);
        self.kept.set(number, is_kept);
        self.overlapping += u64::from(is_kept && self.selection.cuts(begin.nanos, over));
        if let (true, Track::Thread(thread)) = (is_kept, begin.track) {
            if begin.nanos < self.selection.from {
                self.before.add(catalog, thread, begin.nanos, begin.label);
            }
        }
        if let Outcome::Pair { end, .. } = outcome {
            self.kept.set(end.value.0, is_kept);
        }
    }

    /// Counts a begin without an end: it is kept if it is before the end of the slice, and lasts
    /// until the end of the recording.
    fn open(&mut self, begin: &Edge<(usize, bool)>) {
        let (number, is_selected) = begin.value;
        let is_kept = !begin.is_end && is_selected && self.kept.get(number);
        self.overlapping += u64::from(is_kept && self.selection.cuts(begin.nanos, u64::MAX));
    }
}
