//! A part of an archive, as an archive.
//!
//! What is in the time, and passes the filters, stays; with it stays what it
//! takes to understand it: providers and their clocks, names of processes and
//! threads, clock anchors, and what is told about loss in that time. Records are
//! copied as they are; only strings and threads in use are there.
//!
//! Durations and async operations that reach into the time stay whole, with
//! their begin before it or their end behind it, in whatever order the archive
//! has them. What has not ended reaches to the archive's end. Of flows only the
//! events in the time stay. Records without a time and a category, such as
//! blobs, stay unless a filter is about what they do not have; so do records of
//! types that are not known here.
//!
//! Of an archive that was JSON, see [`tef`](crate::tef), events that are carried
//! whole stay if the record behind them does, or if there is none. The form of
//! the document and its members stay in any case, so that the slice becomes
//! such a document again.
//!
//! An archive is read twice: first for a [`Plan`], then for its records. Halves
//! are looked for among the next 100,000; one that is further away is missing.

mod numbers;
mod plan;
mod select;

use std::collections::BTreeSet;
use std::io::{Read, Write};

use trace_format::{Item, Metadata, Reader, Record};

use crate::rewrite::Copier;
use crate::ConvertError;
use numbers::Numbers;
pub use plan::Plan;
use select::Filter;
pub use select::Selection;
use trace_analyze::catalog::Catalog;
use trace_analyze::extent::is_own;
use trace_analyze::Damage;

/// What a slice has come to.
#[derive(Debug, Default)]
pub struct Summary {
    /// The categories of all events of the archive.
    pub categories: BTreeSet<String>,
    /// An event is left, other than those of the tracing system itself.
    pub has_events: bool,
    /// Records of the slice, without those about its tables.
    pub written: u64,
    /// Records that were left out.
    pub left_out: u64,
    /// Records of unknown types that stay.
    pub unknown: u64,
    /// Durations and operations whose end was too far away to be found.
    pub forgotten: u64,
    /// What is missing in the archive.
    pub damage: Damage,
}

/// Writes the part of an archive that a plan of the same archive says.
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
    Ok(Summary { damage, categories: slicer.catalog.categories(), ..slicer.summary })
}

struct Slicer<'p, W> {
    copier: Copier<W>,
    plan: &'p Plan<'p>,
    filter: Filter<'p>,
    catalog: Catalog,
    numbers: Numbers,
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
            summary: Summary { forgotten: plan.forgotten, ..Summary::default() },
        })
    }

    fn record(&mut self, item: &Item<'_>) -> Result<(), ConvertError> {
        self.catalog.note(item);
        match &item.record {
            Record::Metadata(Metadata::MagicNumber) => Ok(()),
            Record::Metadata(_) | Record::Initialization { .. } => self.copier.copy(item, None),
            Record::String { .. } | Record::Thread { .. } => {
                self.copier.note(item);
                Ok(())
            }
            Record::Event(event) => {
                self.catalog.label(item, event.category, event.name);
                self.keep_or_leave_out(item)
            }
            _ => self.keep_or_leave_out(item),
        }
    }

    fn keep_or_leave_out(&mut self, item: &Item<'_>) -> Result<(), ConvertError> {
        let stays = match self.numbers.of(item) {
            Some(number) => self.plan.kept.get(number),
            None => self.filter.stays(&mut self.catalog, item),
        };
        if !stays {
            self.summary.left_out += 1;
            return Ok(());
        }
        self.summary.written += 1;
        self.summary.unknown += u64::from(matches!(item.record, Record::Unknown(_)));
        self.summary.has_events = self.summary.has_events || is_of_program(item);
        self.copier.copy(item, None)
    }

    fn finish(&mut self) -> Result<(), ConvertError> {
        Ok(self.copier.writer().flush()?)
    }
}

/// Tells whether a record is an event, and not one of the tracing system's own.
fn is_of_program(item: &Item<'_>) -> bool {
    matches!(&item.record, Record::Event(event) if !is_own(item, event))
}

#[cfg(test)]
mod tests;
