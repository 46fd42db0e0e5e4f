//! Destinations of records.

use std::io::Write;

use trace_format::{Record, Text, WriteError, Writer};

use super::labels::Label;
use super::scheduling::{write_switch, write_wakeup, Switch, Wakeup};
use super::system_calls::{write_call, SystemCall};

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

    /// Writes a system call, if its category is recorded.
    ///
    /// # Errors
    ///
    /// Those of [`record`](Self::record).
    fn call(&mut self, call: &SystemCall) -> Result<(), WriteError> {
        write_call(self, call)
    }

    /// Writes a switch.
    ///
    /// # Errors
    ///
    /// Those of [`record`](Self::record).
    fn switch(&mut self, switch: &Switch) -> Result<(), WriteError> {
        write_switch(self, switch, None)
    }

    /// Writes a wake-up.
    ///
    /// # Errors
    ///
    /// Those of [`record`](Self::record).
    fn wakeup(&mut self, wakeup: &Wakeup) -> Result<(), WriteError> {
        write_wakeup(self, wakeup, None)
    }

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

impl<W: Write> RecordSink for Writer<W> {
    fn record(&mut self, record: &Record<'_>) -> Result<(), WriteError> {
        Writer::record(self, record)
    }
}
