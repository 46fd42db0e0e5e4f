//! Writes a part of an archive as an archive.
//!
//! A slice has the records within a time that pass the filters, and the records that are needed to
//! interpret them: providers and their clocks, names of processes and threads, clock anchors, and
//! losses that overlap the time. Records are copied unchanged. Only strings and threads in use are
//! registered.
//!
//! Durations and async operations that overlap the time are kept completely, including a begin
//! before it or an end after it, in any order of the archive, unless [`Selection::clips`]. If an
//! end is missing, the duration reaches to the archive's end. A mark is kept with its poll. Flow
//! events are kept only within the time. Records without a time and a category, such as blobs, and
//! records of unknown types are kept unless a filter requires a property that they lack.
//!
//! Of an operation, a slice has its events and those of its descendants, their polls, and all
//! events in these polls. Other records with a time are omitted, except log records in a poll.
//!
//! Clock anchors outside of the time move to its begin or end, and their clocks by as much, so that
//! viewers show the time of the slice only.
//!
//! The states that threads have at the begin follow from scheduling records before it. A slice has
//! records of these states instead, at the time of its begin, see
//! [`border`](trace_analyze::scheduling::border).
//!
//! If the archive was made of JSON, see [`tef`](crate::tef), an event that is carried as JSON is
//! kept if the record after it is kept, or if it has no such record. The form of the document and
//! its members are always kept, so that the slice can be converted to a document again.
//!
//! An archive is read twice: first for a [`Plan`], then for its records. At most 2^18 begins and
//! ends wait for their counterpart. If there are more, the oldest ones stay unpaired.

mod before;
mod clip;
mod numbers;
mod operation;
mod plan;
mod select;

use std::collections::HashMap;
use std::io::{Read, Write};

use trace_format::{Item, Metadata, Reader, Record};

use crate::rewrite::Copier;
use crate::ConvertError;
use clip::{with_moved_report, Bounds};
use numbers::Numbers;
pub use operation::Operations;
pub use plan::Plan;
use select::Filter;
pub use select::Selection;
use trace_analyze::catalog::Catalog;
use trace_analyze::extent::is_own;
use trace_analyze::scheduling::border::{Border, Known};
use trace_analyze::{is_added, is_clock_anchor, Damage, Gap};

/// The result of a slice.
#[derive(Debug, Default)]
pub struct Summary {
    /// The categories and names of all events and large blobs of the archive, as labels.
    pub catalog: Catalog,
    /// Whether the slice has an event, other than those of the tracing system itself, or a
    /// scheduling record.
    pub has_events: bool,
    /// The events.
    pub events: Kept,
    /// The other records, except string and thread records, and what describes providers.
    pub others: Kept,
    /// Records of unknown types in the slice.
    pub unknown: u64,
    /// Durations and operations whose end was not found because too many begins and ends were
    /// between.
    pub unpaired: u64,
    /// Durations and operations of the slice that begin before its first time or end after its last
    /// one. Those without an end last until the end of the recording. If the selection clips, these
    /// parts are cut off.
    pub overlapping: u64,
    /// The damage of the archive.
    pub damage: Damage,
}

/// The number of records that are kept, and of those that are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Kept {
    /// Records of the slice.
    pub kept: u64,
    /// Records that are not in the slice.
    pub removed: u64,
}

impl Kept {
    fn count(&mut self, is_kept: bool) {
        match is_kept {
            true => self.kept += 1,
            false => self.removed += 1,
        }
    }

    /// Returns the number of all records.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.kept + self.removed
    }
}

/// Writes the part of an archive that a plan of the same archive selects.
///
/// # Errors
///
/// The input is not an archive, or reading or writing failed.
pub fn write<R: Read, W: Write>(
    reader: Reader<R>,
    plan: &Plan<'_>,
    output: W,
) -> Result<Summary, ConvertError> {
    let mut slicer = Slicer::new(plan, output)?;
    let damage = Damage::of_each(reader, |item| slicer.record(item))?;
    slicer.finish()?;
    Ok(Summary { damage, catalog: slicer.catalog, ..slicer.summary })
}

struct Slicer<'p, W> {
    copier: Copier<W>,
    plan: &'p Plan<'p>,
    filter: Filter<'p>,
    catalog: Catalog,
    numbers: Numbers,
    /// The states of threads that are not written yet, by provider.
    states: HashMap<Option<u32>, Vec<Known>>,
    summary: Summary,
}

impl<'p, W: Write> Slicer<'p, W> {
    fn new(plan: &'p Plan<'p>, output: W) -> Result<Self, ConvertError> {
        Ok(Self {
            copier: Copier::new(output)?,
            plan,
            filter: Filter::new(plan.selection),
            catalog: Catalog::default(),
            numbers: Numbers::default(),
            states: plan.border.as_ref().map(Border::by_provider).unwrap_or_default(),
            summary: Summary {
                unpaired: plan.unpaired,
                overlapping: plan.overlapping,
                ..Summary::default()
            },
        })
    }

    fn record(&mut self, item: &Item<'_>) -> Result<(), ConvertError> {
        self.catalog.note_labels(item);
        match &item.record {
            Record::Metadata(Metadata::MagicNumber) => Ok(()),
            Record::Metadata(_) | Record::Initialization { .. } => self.copier.copy(item, None),
            Record::String { .. } | Record::Thread { .. } => {
                self.copier.note(item);
                Ok(())
            }
            record if is_scheduling(record) => {
                self.write_states(item)?;
                self.copy_if_kept(item)
            }
            _ => self.copy_if_kept(item),
        }
    }

    /// Writes the states that threads have when the slice begins, at the provider's first
    /// scheduling record.
    fn write_states(&mut self, item: &Item<'_>) -> Result<(), ConvertError> {
        let Some(states) = self.states.remove(&item.provider.id()) else { return Ok(()) };
        let ticks = Bounds::new(self.plan.selection, item.provider.tick_rate()).from();
        for known in states {
            known.with_record(ticks, item.nanos(ticks), |record| {
                self.copier.copy_as(item, record)
            })?;
        }
        Ok(())
    }

    fn copy_if_kept(&mut self, item: &Item<'_>) -> Result<(), ConvertError> {
        let is_kept = match self.numbers.of(item) {
            Some(number) => self.plan.kept.get(number),
            None => self.filter.keeps(&mut self.catalog, item) || self.plan.before.has_mark(item),
        };
        let is_event = matches!(&item.record, Record::Event(event) if !is_added(item, event));
        let counts = if is_event { &mut self.summary.events } else { &mut self.summary.others };
        counts.count(is_kept);
        if !is_kept {
            return Ok(());
        }
        self.summary.unknown += u64::from(matches!(item.record, Record::Unknown(_)));
        self.summary.has_events = self.summary.has_events || is_of_program(item);
        self.copy(item)
    }

    /// Copies a record. Clock anchors move into the slice, so that viewers do not show the time
    /// around it.
    fn copy(&mut self, item: &Item<'_>) -> Result<(), ConvertError> {
        let Record::Event(event) = &item.record else { return self.copier.copy(item, None) };
        let bounds = Bounds::new(self.plan.selection, item.provider.tick_rate());
        let clips = self.plan.selection.clips;
        let is_outside_anchor =
            || bounds.clamp(event.ticks) != event.ticks && is_clock_anchor(item, event);
        if is_outside_anchor() || clips && Gap::of(item, event).is_some() {
            return with_moved_report(item, event, &bounds, |moved| {
                self.copier.copy_as(item, moved)
            });
        }
        match clips {
            true => self.copier.copy(item, Some(&|word, value| bounds.change(word, value))),
            false => self.copier.copy(item, None),
        }
    }

    fn finish(&mut self) -> Result<(), ConvertError> {
        Ok(self.copier.writer().flush()?)
    }
}

/// Returns whether a record is an event of the program, not of the tracing system, or about
/// scheduling.
fn is_of_program(item: &Item<'_>) -> bool {
    match &item.record {
        Record::Event(event) => !is_own(item, event),
        record => is_scheduling(record),
    }
}

fn is_scheduling(record: &Record<'_>) -> bool {
    matches!(
        record,
        Record::ContextSwitch(_) | Record::LegacyContextSwitch(_) | Record::ThreadWakeup(_)
    )
}

#[cfg(test)]
mod tests;
