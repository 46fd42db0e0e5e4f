//! Whether an archive is well-formed, and what it lacks.

mod json;
mod providers;
mod report;
mod scopes;
mod tally;

use std::io::Read;

use trace_format::audit::Audit;
use trace_format::layout::ProviderEvent;
use trace_format::notes::Omitted;
use trace_format::{Item, Metadata, ReadError, Reader, Record};

use crate::loss::{self, Loss};
use providers::Providers;
pub use report::{Dropped, OpenScope, ProviderReport, Report, Verdict};
use scopes::Scopes;
use tally::Tally;

/// The most errors that a report has the text of.
const MAX_ERRORS: usize = 10;

/// Goes through all of an archive.
///
/// Memory depends on how many names of durations there are, and on how many
/// providers, threads and reasons for loss, up to a limit beyond which they are
/// counted together.
///
/// # Errors
///
/// Reading failed. An input that is no archive is a report, not an error.
pub fn check<R: Read>(mut reader: Reader<R>) -> Result<Report, ReadError> {
    let mut checker = Checker::default();
    loop {
        match reader.next() {
            Ok(Some(item)) => checker.item(&item),
            Ok(None) => break,
            Err(error @ ReadError::Io { .. }) => return Err(error),
            Err(error) => checker.error(error),
        }
    }
    Ok(checker.report(&reader))
}

/// What was found so far.
#[derive(Debug, Default)]
struct Checker {
    audit: Audit,
    events: u64,
    buffers_full: u64,
    buffers_overwritten: u64,
    errors: Vec<String>,
    no_archive: Option<ReadError>,
    error_count: u64,
    providers: Providers,
    scopes: Scopes,
    dropped: Tally,
    dropped_total: u64,
    omitted: Omitted,
}

impl Checker {
    fn item(&mut self, item: &Item<'_>) {
        self.audit.item(item);
        self.providers.count(item);
        self.scopes.record(item);
        match &item.record {
            Record::Event(event) => {
                self.events += 1;
                if let Some(loss) = Loss::of(item, event) {
                    self.loss(item, &loss);
                }
                loss::add_omitted(&mut self.omitted, item, event);
                self.buffers_overwritten += loss::overwritten(item, event).unwrap_or(0);
            }
            Record::Metadata(Metadata::ProviderEvent {
                event: ProviderEvent::BUFFER_FULL, ..
            }) => {
                self.buffers_full += 1;
            }
            _ => {}
        }
    }

    fn loss(&mut self, item: &Item<'_>, loss: &Loss<'_>) {
        self.dropped_total = self.dropped_total.saturating_add(loss.number);
        self.providers.add_loss(item, loss.number);
        self.dropped.add(item.provider.id(), loss);
    }

    fn error(&mut self, error: ReadError) {
        self.error_count += 1;
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(message(&error));
        }
        if error.is_input_error() {
            self.no_archive = Some(error);
        }
    }

    fn report<R: Read>(self, reader: &Reader<R>) -> Report {
        let scopes = self.scopes.finish();
        Report {
            bytes: reader.offset(),
            stats: reader.stats(),
            audit: self.audit,
            events: self.events,
            error_count: self.error_count,
            errors: self.errors,
            no_archive: self.no_archive,
            providers: self.providers.report(reader),
            buffers_full: self.buffers_full,
            buffers_overwritten: self.buffers_overwritten,
            records_dropped: self.dropped_total,
            omitted: self.omitted,
            dropped: self.dropped.into_rows(),
            ends_without_begin: scopes.count.ends,
            open_scopes: scopes.open_scopes,
            open_scope_count: scopes.count.begins,
        }
    }
}

/// Returns an error with what is behind it.
fn message(error: &ReadError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests;
