//! Damage of XRay logs.
//!
//! A log is translated while it is read, so an analysis sees an intact archive. The errors of the
//! log are kept here, by its path, because analyses open their inputs themselves, and several
//! times.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use trace_xray::read::ReadError;

use crate::message::{counted, describe};

static LOGS: Mutex<BTreeMap<PathBuf, LogDamage>> = Mutex::new(BTreeMap::new());

/// The errors of a log.
#[derive(Debug, Default)]
pub(crate) struct LogDamage {
    /// The first error, with its place.
    first: String,
    /// The number of errors of the pass that met the most.
    number: u64,
    is_reported: bool,
}

impl LogDamage {
    /// Returns what keeps the errors of the log at `path` during one pass.
    pub(crate) fn noting(path: &Path) -> impl FnMut(&ReadError) {
        let (path, mut number) = (path.to_owned(), 0);
        move |error| {
            number += error.number();
            let mut logs = logs();
            let log = logs.entry(path.clone()).or_insert_with(|| Self::starting_with(error));
            log.number = log.number.max(number);
        }
    }

    /// Returns the number of errors of the log at `path`. 0 for other inputs.
    pub(crate) fn number(path: &Path) -> u64 {
        logs().get(path).map_or(0, |log| log.number)
    }

    /// Returns a message about the damage of the log at `path`, unless there was one before.
    pub(crate) fn report(path: &Path) -> Option<String> {
        let mut logs = logs();
        let log = logs.get_mut(path).filter(|log| !log.is_reported)?;
        log.is_reported = true;
        Some(log.message(path))
    }

    fn starting_with(error: &ReadError) -> Self {
        Self { first: describe(error), ..Self::default() }
    }

    fn message(&self, path: &Path) -> String {
        let more = match self.number {
            0 | 1 => String::new(),
            number => format!(", and {}", counted(number - 1, "more error", "more errors")),
        };
        format!("{}: {}{more}; the other records are used", path.display(), self.first)
    }
}

fn logs() -> MutexGuard<'static, BTreeMap<PathBuf, LogDamage>> {
    LOGS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted_and_reported_once() {
        let path = Path::new("errors-are-counted.xray");
        let mut pass = LogDamage::noting(path);
        pass(&ReadError::NotABuffer { offset: 64 });
        pass(&ReadError::More { offset: 900, number: 1200 });
        // Another pass that ends earlier.
        LogDamage::noting(path)(&ReadError::NotABuffer { offset: 64 });
        assert_eq!(LogDamage::number(path), 1201);
        let message = "errors-are-counted.xray: no thread buffer starts at byte 64, and 1200 more \
            errors; the other records are used";
        assert_eq!(LogDamage::report(path).as_deref(), Some(message));
        assert_eq!((LogDamage::report(path), LogDamage::number(path)), (None, 1201));
        assert_eq!(LogDamage::number(Path::new("another.xray")), 0);
    }
}
