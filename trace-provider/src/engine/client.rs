//! The owner of the trace points, or of whatever else writes records through an engine.

use std::fmt;
use std::iter;

use trace_protocol::message::{CategoryInfo, ClockSource};
use trace_protocol::packet::AlertName;

use crate::engine::alert::AlertCount;
use crate::engine::table::Table;

/// The clock of a provider's records.
#[derive(Clone, Copy, Debug)]
pub struct RecordClock {
    /// What the archive says of it.
    pub source: ClockSource,
    /// Reads it. Called on threads that write records, in signal handlers too.
    pub ticks: fn() -> u64,
}

/// What a service thread asks of the owner of the trace points, on the service thread.
///
/// That has file descriptors of its own, and every signal blocked.
pub trait Client: fmt::Debug + Send + Sync {
    /// Prepares what is needed before the first recording. Returns the clock of the records.
    fn prepare(&self) -> RecordClock;

    /// Returns the categories that it has.
    fn categories(&self) -> Vec<CategoryInfo>;

    /// Returns about how many bytes of the durable buffer it needs.
    fn durable_bytes(&self) -> usize;

    /// Forgets what is left from before a recording, such as alerts.
    fn forget(&self) {}

    /// Turns all trace points on or off, as the table says.
    fn turn(&self, _table: &mut Table) {}

    /// A recording is about to begin, and the trace points are on: writes names to its durable
    /// buffer.
    fn begin(&self) {}

    /// A recording goes on: writes names that have changed.
    fn serve(&self) {}

    /// A recording has ended, but for its durable buffer: writes the last names.
    fn end(&self) {}

    /// Names a thread, or has `kernel` write the name that the kernel knows it by. Returns whether
    /// it has a name.
    fn name_thread(&self, _thread: u32, kernel: &mut dyn FnMut() -> bool) -> bool {
        kernel()
    }

    /// Returns the alerts that it counts and that are raised.
    fn alerts(&self) -> Box<dyn Iterator<Item = (AlertName, &'static AlertCount)>> {
        Box::new(iter::empty())
    }
}
