//! The totals of a recording, which two threads share.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::page::Missed;

/// The totals of a recording.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Scheduling records. They have no category.
    pub scheduling: u64,
    /// Samples of call stacks. They have no category.
    pub samples: u64,
    /// Lines of the kernel's log. They have no category.
    pub logs: u64,
    /// The least number of events that the kernel dropped because its buffer was full.
    pub dropped: u64,
    /// Samples that the CPU lost before the kernel could write them.
    pub lost_samples: u64,
    /// How often the kernel paused sampling, because it took too much time.
    pub throttled: u64,
    /// The first error that made other events missing.
    pub error: Option<String>,
    /// The first such error since the last start.
    pub(super) latest: Option<String>,
}

pub(super) fn lock(totals: &Mutex<Totals>) -> MutexGuard<'_, Totals> {
    totals.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn note_loss(totals: &Mutex<Totals>, missed: Missed) {
    let number = match missed {
        Missed::None => 0,
        Missed::Count(number) => number,
        Missed::Unknown => 1,
    };
    let mut totals = lock(totals);
    totals.dropped = totals.dropped.saturating_add(number);
}

/// Keeps the first error.
pub(super) fn note_error(totals: &Mutex<Totals>, result: Result<(), String>) {
    if let Err(error) = result {
        let mut totals = lock(totals);
        totals.error.get_or_insert_with(|| error.clone());
        totals.latest.get_or_insert(error);
    }
}

pub(super) fn note_lost_samples(totals: &Mutex<Totals>, number: u64) {
    let mut totals = lock(totals);
    totals.lost_samples = totals.lost_samples.saturating_add(number);
}
