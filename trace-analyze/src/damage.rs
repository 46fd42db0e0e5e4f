//! Missing and unreadable data of an archive.

use std::collections::HashMap;
use std::io::Read;

use trace_format::audit::Audit;
use trace_format::layout::ProviderEvent;
use trace_format::notes::{Missing, Omitted};
use trace_format::{EventKind, Item, Metadata, ReadError, Reader, Record, Stats};

use crate::own::{is_own, is_written_anchor};
use crate::{loss, Loss};

/// Missing and unreadable data of an archive.
#[derive(Debug, Default)]
pub struct Damage {
    /// The reader's counts.
    pub stats: Stats,
    /// The references to unknown strings and threads.
    pub audit: Audit,
    /// The dropped records that the archive reports.
    pub records_dropped: u64,
    /// The number of full buffers that the archive reports.
    pub buffers_full: u64,
    /// Other missing data, by [`Omission`](trace_format::notes::Omission).
    pub omitted: Omitted,
    /// The number of clock anchors of each provider that has one, by its id. The writer adds one
    /// when a provider joins, and one after the provider's last record.
    pub anchors: HashMap<Option<u32>, u64>,
    /// The first malformed record, or one beyond the reader's limit. `stats` counts all of them.
    pub first_bad_record: Option<ReadError>,
    /// The error after which the archive could not be read.
    pub cut: Option<ReadError>,
}

impl Damage {
    /// Returns whether the archive could be read to its end, without malformed records and unknown
    /// references.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        let Audit { unknown_strings, unknown_threads, .. } = self.audit;
        self.cut.is_none() && self.stats.bad_records + unknown_strings + unknown_threads == 0
    }

    /// Returns whether the archive is readable and complete.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.is_readable() && self.missing().is_empty()
    }

    /// Returns the missing data that the archive reports.
    #[must_use]
    pub fn missing(&self) -> Missing {
        Missing {
            records: self.records_dropped,
            buffers_full: self.buffers_full,
            ends_early: self.ends_early(),
            omitted: self.omitted,
        }
    }

    /// Returns the number of providers whose records end before their last clock anchor.
    #[must_use]
    pub fn ends_early(&self) -> u64 {
        self.anchors.values().filter(|anchors| **anchors == 1).count() as u64
    }

    /// Reads an archive to its end. `look` gets every readable record.
    ///
    /// # Errors
    ///
    /// The input is not an archive, or reading it failed.
    pub fn of_all<R: Read>(
        reader: Reader<R>,
        mut look: impl FnMut(&Item<'_>),
    ) -> Result<Self, ReadError> {
        Self::of_each(reader, |item| {
            look(item);
            Ok(())
        })
    }

    /// Reads an archive to its end or to the first error of `look`, which gets every readable
    /// record.
    ///
    /// # Errors
    ///
    /// The input is not an archive, or reading it or `look` failed.
    pub fn of_each<R: Read, E: From<ReadError>>(
        mut reader: Reader<R>,
        mut look: impl FnMut(&Item<'_>) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut damage = Self::default();
        reader.visit(|item| match item {
            Ok(item) => {
                damage.item(item);
                look(item)
            }
            Err(error) => Ok(damage.read_error(error)?),
        })?;
        damage.stats = reader.stats();
        Ok(damage)
    }

    /// Reads an archive whose damage is known, like [`Damage::of_each`].
    ///
    /// # Errors
    ///
    /// The input is not an archive, or reading it or `look` failed.
    pub fn skip_each<R: Read, E: From<ReadError>>(
        mut reader: Reader<R>,
        mut look: impl FnMut(&Item<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut damage = Self::default();
        reader.visit(|item| match item {
            Ok(item) => look(item),
            Err(error) => Ok(damage.read_error(error)?),
        })
    }

    /// Counts the missing data that a record reports, and its unknown references.
    #[inline]
    pub fn item(&mut self, item: &Item<'_>) {
        self.audit.item(item);
        let is_report = match &item.record {
            Record::Event(event) => matches!(event.kind, EventKind::Instant { .. }),
            record => matches!(record, Record::Metadata(_)),
        };
        if is_report {
            self.report(item);
        }
    }

    fn report(&mut self, item: &Item<'_>) {
        match &item.record {
            Record::Event(event) if is_own(item, event) => {
                if is_written_anchor(item, event) {
                    *self.anchors.entry(item.provider.id()).or_default() += 1;
                }
                loss::add_omitted(&mut self.omitted, item, event);
                let dropped = Loss::of(item, event).map_or(0, |loss| loss.number);
                self.records_dropped = self.records_dropped.saturating_add(dropped);
            }
            Record::Metadata(Metadata::ProviderEvent {
                event: ProviderEvent::BUFFER_FULL, ..
            }) => {
                self.buffers_full += 1;
            }
            _ => {}
        }
    }

    /// Keeps an error. Returns it if the input is not an archive.
    fn read_error(&mut self, error: ReadError) -> Result<(), ReadError> {
        if error.is_input_error() {
            return Err(error);
        }
        let first = match error.is_fatal() {
            true => &mut self.cut,
            false => &mut self.first_bad_record,
        };
        first.get_or_insert(error);
        Ok(())
    }
}
