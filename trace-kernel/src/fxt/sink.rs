//! Destinations of records.

use std::io::Write;

use trace_format::{Record, WriteError, Writer};

/// A destination of records with inline strings and threads: an archive, or the buffer of a
/// provider.
pub trait RecordSink {
    /// Writes a record.
    ///
    /// # Errors
    ///
    /// The record exceeds a limit of the format, or writing failed.
    fn record(&mut self, record: &Record<'_>) -> Result<(), WriteError>;
}

impl<W: Write> RecordSink for Writer<W> {
    fn record(&mut self, record: &Record<'_>) -> Result<(), WriteError> {
        Writer::record(self, record)
    }
}
