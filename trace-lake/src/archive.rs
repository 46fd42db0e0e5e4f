//! An archive that queries read.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::OnceLock;

use datafusion::error::{DataFusionError, Result};
use trace_analyze::schedule::Schedule;
use trace_analyze::Damage;
use trace_format::{Item, ReadError};

use crate::directory::{Directory, Reading};
use crate::input::Input;

/// An archive, with what was read of it for earlier queries.
#[derive(Debug)]
pub struct Archive {
    input: Input,
    directory: OnceLock<std::result::Result<Directory, String>>,
    schedule: OnceLock<std::result::Result<Schedule, String>>,
    /// That of a reader which needs no directory.
    damage: OnceLock<Damage>,
    /// Whether a reader has started.
    is_read: AtomicBool,
}

impl Archive {
    /// Creates an archive, of which nothing is read yet.
    #[must_use]
    pub fn new(input: Input) -> Self {
        let (directory, schedule, damage) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self { input, directory, schedule, damage, is_read: AtomicBool::new(false) }
    }

    /// Returns the input.
    #[must_use]
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// Returns the threads, processes and clocks. The first call reads the archive.
    ///
    /// # Errors
    ///
    /// Reading failed, or the input is not an archive.
    pub fn directory(&self) -> Result<&Directory> {
        let directory = self.directory.get_or_init(|| self.read_directory().map_err(text));
        directory.as_ref().map_err(|error| external(anyhow::anyhow!(error.clone())))
    }

    /// Returns missing and unreadable data, if a query has read records. Reads the archive if the
    /// query needed only the first ones.
    pub(crate) fn damage(&self) -> Option<&Damage> {
        if self.is_read.load(Ordering::Relaxed) && self.known_damage().is_none() {
            // The query has read without an error as far as it needed to.
            let _ = self.directory();
        }
        self.known_damage()
    }

    /// Returns missing and unreadable data, if a query has read the whole archive.
    pub(crate) fn known_damage(&self) -> Option<&Damage> {
        let directory = self.directory.get().and_then(|directory| directory.as_ref().ok());
        directory.map(|directory| &directory.damage).or(self.damage.get())
    }

    /// Keeps the missing and unreadable data that a reader of the whole archive has found.
    pub(crate) fn note_damage(&self, damage: Damage) {
        // Each reader finds the same.
        let _ = self.damage.set(damage);
    }

    /// Returns the times at which threads were on a processor. The first call reads the archive.
    ///
    /// # Errors
    ///
    /// Reading failed, or the input is not an archive.
    pub(crate) fn schedule(&self) -> Result<&Schedule> {
        let schedule = self.schedule.get_or_init(|| {
            let read = self.input.open().map(Schedule::read);
            read.and_then(|read| read.map_err(|error| self.input.explain(error))).map_err(text)
        });
        schedule.as_ref().map_err(|error| external(anyhow::anyhow!(error.clone())))
    }

    /// Reads the archive to its end, or until `look` returns an error. `look` gets each readable
    /// record with its number, from 1 on. Missing and unreadable data is counted once.
    pub(crate) fn each(&self, mut look: impl FnMut(&Item<'_>, i64) -> Result<()>) -> Result<()> {
        let reader = self.input.open().map_err(external)?;
        self.is_read.store(true, Ordering::Relaxed);
        let mut number = 0;
        let look = |item: &Item<'_>| {
            number += 1;
            look(item, number).map_err(Stop::Look)
        };
        let read = match self.known_damage() {
            Some(_) => Damage::skip_each(reader, look),
            None => Damage::of_each(reader, look).map(|damage| self.note_damage(damage)),
        };
        read.map_err(|stop| match stop {
            Stop::Look(error) => error,
            Stop::Read(error) => external(self.input.explain(error)),
        })
    }

    fn read_directory(&self) -> anyhow::Result<Directory> {
        let mut reading = Reading::default();
        let damage = Damage::of_all(self.input.open()?, |item| reading.item(item));
        Ok(reading.finish(damage.map_err(|error| self.input.explain(error))?))
    }
}

/// Why reading ends early.
enum Stop {
    Look(DataFusionError),
    Read(ReadError),
}

impl From<ReadError> for Stop {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

fn text(error: anyhow::Error) -> String {
    crate::message::describe(error.as_ref())
}

/// Returns an error of an input as one of a query.
pub(crate) fn external(error: anyhow::Error) -> DataFusionError {
    DataFusionError::External(error.into())
}
