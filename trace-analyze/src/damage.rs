//! What is missing in an archive, or cannot be read of it.

use std::io::Read;

use trace_format::audit::Audit;
use trace_format::layout::ProviderEvent;
use trace_format::notes::{Missing, Omitted};
use trace_format::{EventKind, Item, Metadata, ReadError, Reader, Record, Stats};

use crate::{loss, Loss};

/// What is missing in an archive, or cannot be read of it.
#[derive(Debug, Default)]
pub struct Damage {
    /// What was read.
    pub stats: Stats,
    /// The references to strings and threads that lead nowhere.
    pub audit: Audit,
    /// Records that are missing, of which the archive tells itself.
    pub records_dropped: u64,
    /// How often the archive says that a provider's buffer was full.
    pub buffers_full: u64,
    /// What else is missing, by [`Omission`](trace_format::notes::Omission).
    pub omitted: Omitted,
    /// The first malformed record, or one beyond the reader's limit. All of
    /// them are counted in `stats`.
    pub first_bad_record: Option<ReadError>,
    /// Why the rest of the archive could not be read.
    pub cut: Option<ReadError>,
}

impl Damage {
    /// Tells whether all that the archive is could be read, and all that it
    /// refers to was there.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        let Audit { unknown_strings, unknown_threads, .. } = self.audit;
        self.cut.is_none() && self.stats.bad_records + unknown_strings + unknown_threads == 0
    }

    /// Tells whether nothing is missing either.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.is_readable() && self.missing().is_empty()
    }

    /// Returns what is missing, as the archive reports itself.
    #[must_use]
    pub fn missing(&self) -> Missing {
        Missing {
            records: self.records_dropped,
            buffers_full: self.buffers_full,
            omitted: self.omitted,
        }
    }

    /// Reads all of an archive; `look` sees every record that can be read.
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

    /// Reads an archive to its end, or to the first error of `look`, which sees every record that
    /// can be read.
    ///
    /// # Errors
    ///
    /// The input is not an archive, or reading it or `look` failed.
    pub fn of_each<R: Read, E: From<ReadError>>(
        mut reader: Reader<R>,
        mut look: impl FnMut(&Item<'_>) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut damage = Self::default();
        loop {
            match reader.next() {
                Ok(Some(item)) => {
                    damage.item(&item);
                    look(&item)?;
                }
                Ok(None) => break,
                Err(error) => damage.read_error(error)?,
            }
        }
        damage.stats = reader.stats();
        Ok(damage)
    }

    /// Takes note of what is missing according to a record, or to what it
    /// refers to.
    #[inline]
    fn item(&mut self, item: &Item<'_>) {
        self.audit.item(item);
        let is_note = match &item.record {
            Record::Event(event) => matches!(event.kind, EventKind::Instant { .. }),
            record => matches!(record, Record::Metadata(_)),
        };
        if is_note {
            self.note(item);
        }
    }

    /// Takes note of what a record of the tracing system itself says.
    fn note(&mut self, item: &Item<'_>) {
        match &item.record {
            Record::Event(event) => {
                if let Some(loss) = Loss::of(item, event) {
                    self.records_dropped = self.records_dropped.saturating_add(loss.number);
                }
                loss::add_omitted(&mut self.omitted, item, event);
            }
            Record::Metadata(Metadata::ProviderEvent {
                event: ProviderEvent::BUFFER_FULL, ..
            }) => {
                self.buffers_full += 1;
            }
            _ => {}
        }
    }

    /// Takes note of damage; an error that is more than that is passed on.
    fn read_error(&mut self, error: ReadError) -> Result<(), ReadError> {
        if error.is_input_error() {
            return Err(error);
        }
        let place = match error.is_fatal() {
            true => &mut self.cut,
            false => &mut self.first_bad_record,
        };
        place.get_or_insert(error);
        Ok(())
    }
}
