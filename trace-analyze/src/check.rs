//! Checks whether an archive is well-formed and complete.

mod json;
mod providers;
mod report;
mod scopes;
mod tally;

use std::io::Read;

use trace_format::{Event, Item, ReadError, Reader, Record};

use crate::own::{is_added, is_own};
use crate::schedule::threads::MissingSwitches;
use crate::{loss, Damage, Kinds, Loss};
use providers::Providers;
pub use report::{Dropped, OpenScope, ProviderReport, Report, Verdict};
use scopes::Scopes;
use tally::Tally;

/// The most errors in a report. Further ones are counted.
const MAX_ERRORS: usize = 10;

/// Checks an archive.
///
/// Memory grows with the number of names of durations, and of providers, threads and reasons for
/// loss, up to limits, and with up to 8 Mi scheduling records.
///
/// # Errors
///
/// Reading failed. An input that is not an archive is a report, not an error.
pub fn check<R: Read>(mut reader: Reader<R>) -> Result<Report, ReadError> {
    let (mut checker, mut missing) = (Checker::default(), MissingSwitches::default());
    loop {
        match reader.next() {
            Ok(Some(item)) => {
                checker.item(&item);
                missing.note(&item);
            }
            Ok(None) => break,
            Err(error @ ReadError::Io { .. }) => return Err(error),
            Err(error) => checker.error(error),
        }
    }
    let mut report = checker.report(&reader);
    report.kinds.missing_switches = missing.count();
    Ok(report)
}

#[derive(Debug, Default)]
struct Checker {
    damage: Damage,
    events: u64,
    buffers_overwritten: u64,
    errors: Vec<String>,
    no_archive: Option<ReadError>,
    error_count: u64,
    providers: Providers,
    scopes: Scopes,
    dropped: Tally,
    kinds: Kinds,
}

impl Checker {
    fn item(&mut self, item: &Item<'_>) {
        self.providers.count(item);
        self.scopes.record(item);
        self.damage.item(item);
        self.kinds.count(item);
        if let Record::Event(event) = &item.record {
            self.events += u64::from(!is_added(item, event));
            if is_own(item, event) {
                self.own_event(item, event);
            }
        }
    }

    fn own_event(&mut self, item: &Item<'_>, event: &Event<'_>) {
        if let Some(loss) = Loss::of(item, event) {
            self.providers.add_loss(item, loss.number);
            self.dropped.add(item.provider.id(), &loss);
        }
        self.buffers_overwritten += loss::overwritten(item, event).unwrap_or(0);
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
            damage: Damage { stats: reader.stats(), ..self.damage },
            events: self.events,
            kinds: self.kinds,
            error_count: self.error_count,
            errors: self.errors,
            no_archive: self.no_archive,
            providers: self.providers.report(reader),
            buffers_overwritten: self.buffers_overwritten,
            dropped: self.dropped.into_rows(),
            ends_without_begin: scopes.durations.ends,
            open_scopes: scopes.open_scopes,
            open_scope_count: scopes.durations.begins,
            unpaired_operations: scopes.operations,
            names: scopes.catalog,
        }
    }
}

/// Returns an error with its source.
fn message(error: &ReadError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests;
