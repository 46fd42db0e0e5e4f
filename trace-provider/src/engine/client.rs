//! The owner of trace points, or of other code that writes records through an engine.

use std::fmt;
use std::iter;

use trace_protocol::message::{CategoryInfo, ClockSource};
use trace_protocol::packet::AlertName;

use crate::engine::alert::AlertCount;
use crate::engine::table::Table;

/// The clock of a provider's records.
#[derive(Clone, Copy, Debug)]
pub struct RecordClock {
    /// The clock's type, for the archive.
    pub source: ClockSource,
    /// Reads the clock. Called on threads that write records, also in signal handlers.
    pub ticks: fn() -> u64,
}

/// The owner of trace points. The service thread calls its methods.
///
/// The service thread has its own file descriptors, and blocks every signal.
pub trait Client: fmt::Debug + Send + Sync {
    /// Prepares the first recording. Returns the clock of the records.
    fn prepare(&self) -> RecordClock;

    /// Returns the categories of the trace points.
    fn categories(&self) -> Vec<CategoryInfo>;

    /// Returns the approximate number of bytes that strings and names need in the durable buffer.
    fn durable_bytes(&self) -> usize;

    /// Discards the state of an earlier recording, such as alerts.
    fn forget(&self) {}

    /// Turns the trace points of the selected categories on, and all others off.
    fn turn(&self, _table: &mut Table) {}

    /// Writes names to the durable buffer. Called when the trace points are on, before a recording
    /// starts.
    fn begin(&self) {}

    /// Writes names that have changed, and turns on trace points that were added meanwhile. Called
    /// repeatedly during a recording.
    fn serve(&self) {}

    /// Writes the last names. Called after a recording, while its durable buffer still exists.
    fn end(&self) {}

    /// Writes the name of a thread, or calls `kernel` to write the kernel's name of it. Returns
    /// whether the thread has a name.
    fn name_thread(&self, _thread: u32, kernel: &mut dyn FnMut() -> bool) -> bool {
        kernel()
    }

    /// Returns the raised alerts of the trace points.
    fn alerts(&self) -> Box<dyn Iterator<Item = (AlertName, &'static AlertCount)>> {
        Box::new(iter::empty())
    }
}
