//! Sources of the kernel's events.

use std::fmt;
use std::sync::Mutex;

use super::clock::TraceClock;
use super::sink::ContextSink;
use super::totals::{lock, note_loss, note_lost_samples, Totals};
use crate::fxt::Translator;
use crate::page::Missed;

/// The reason of samples that are missing because the kernel paused them.
pub(crate) const THROTTLED: &str = "sampling throttled: at least one";

/// The reason of samples that the CPU lost, for which a larger buffer has no effect.
pub(crate) const LOST_SAMPLES: &str = "samples lost by the CPU";

/// The reason of events that are missing because a CPU came online.
const CAME_ONLINE: &str = "CPU came online: at least one";

/// A source of the kernel's events. An error is a text for the user: other events follow it.
pub(super) trait Backend: fmt::Debug + Send {
    /// Starts recording.
    fn start(&mut self) -> Result<(), String>;

    /// Stops recording. The events until now can still be read.
    fn stop(&mut self) -> Result<(), String>;

    /// Reads events of all CPUs. It is after the ticks `now`.
    fn read(&mut self, clock: &TraceClock, now: u64) -> Progress;

    /// Writes the records of the events before the ticks `end`.
    fn write(&mut self, end: u64, output: &mut Output<'_, '_>) -> Result<(), String>;

    /// Writes the losses at the end of a recording.
    fn finish(&mut self, now: u64, output: &mut Output<'_, '_>) -> Result<(), String>;

    /// Discards the events that have not been written. Returns their number.
    fn discard(&mut self) -> u64;

    /// Returns whether the ids of threads are those that `/proc` has.
    fn has_ids_of_proc(&self) -> bool {
        true
    }
}

/// The result of reading events.
#[derive(Debug)]
pub(super) struct Progress {
    /// Whether there may be more events, which the next round reads.
    pub(super) has_more: bool,
    /// The last error, which made events missing.
    pub(super) result: Result<(), String>,
}

/// The destination of records.
#[derive(Debug)]
pub(super) struct Output<'a, 'w> {
    pub(super) translator: &'a mut Translator,
    pub(super) sink: ContextSink<'a, 'w>,
    pub(super) totals: &'a Mutex<Totals>,
}

impl Output<'_, '_> {
    /// Reports events of a CPU that are missing between two times.
    pub(super) fn missed(
        &mut self,
        cpu: u16,
        missed: Missed,
        times: (u64, u64),
    ) -> Result<(), String> {
        note_loss(self.totals, missed);
        let written = self.translator.missed(&mut self.sink, cpu, missed, times);
        written.map_err(|error| error.to_string())
    }

    /// Reports samples that a CPU lost between two times.
    pub(super) fn lost_samples(
        &mut self,
        cpu: u16,
        number: u64,
        times: (u64, u64),
    ) -> Result<(), String> {
        note_lost_samples(self.totals, number);
        let written = self.translator.gap(&mut self.sink, cpu, (number, LOST_SAMPLES), times);
        written.map_err(|error| error.to_string())
    }

    /// Reports that the events of a CPU, which had come online, were not recorded between two
    /// times. Returns that as an error: a larger buffer has no effect on them.
    pub(super) fn came_online(&mut self, cpu: u16, times: (u64, u64)) -> Result<(), String> {
        let written = self.translator.gap(&mut self.sink, cpu, (1, CAME_ONLINE), times);
        written.map_err(|error| error.to_string())?;
        Err(format!("CPU {cpu} came online, and its first events were not recorded"))
    }

    /// Reports that the kernel took no samples on a CPU between two times.
    pub(super) fn throttled(&mut self, cpu: u16, times: (u64, u64)) -> Result<(), String> {
        lock(self.totals).throttled += 1;
        let written = self.translator.gap(&mut self.sink, cpu, (1, THROTTLED), times);
        written.map_err(|error| error.to_string())
    }
}
