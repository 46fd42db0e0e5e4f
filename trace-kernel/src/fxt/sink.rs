//! Destinations of records.

use trace_format::{Record, Text, WriteError};

use super::frequent::{Switch, SystemCall, Wakeup};
use super::labels::Label;

/// A destination of records: an archive, or the buffer of a provider.
///
/// Strings and threads are inline, or the destination's own: those that it returns.
pub trait RecordSink {
    /// Writes a record.
    ///
    /// # Errors
    ///
    /// The record exceeds a limit of the format, or writing failed.
    fn record(&mut self, record: &Record<'_>) -> Result<(), WriteError>;

    /// Writes a system call, if its category is recorded, as [`write_call`](super::write_call)
    /// does.
    ///
    /// # Errors
    ///
    /// Those of [`record`](Self::record).
    fn call(&mut self, call: &SystemCall) -> Result<(), WriteError>;

    /// Writes a switch, as [`write_switch`](super::write_switch) does.
    ///
    /// # Errors
    ///
    /// Those of [`record`](Self::record).
    fn switch(&mut self, switch: &Switch) -> Result<(), WriteError>;

    /// Writes a wake-up, as [`write_wakeup`](super::write_wakeup) does.
    ///
    /// # Errors
    ///
    /// Those of [`record`](Self::record).
    fn wakeup(&mut self, wakeup: &Wakeup) -> Result<(), WriteError>;

    /// Returns a text for a record.
    fn text<'t>(&mut self, text: &'t str) -> Text<'t> {
        text.into()
    }

    /// Returns a fixed text for a record. Costs less than [`text`](Self::text).
    fn label(&mut self, label: Label) -> Text<'static> {
        label.text().into()
    }

    /// Returns the category of an event, or `None` if its events are not recorded.
    fn category(&mut self, category: Label) -> Option<Text<'static>> {
        Some(self.label(category))
    }
}
