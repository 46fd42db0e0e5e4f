//! Destinations of records.

use std::io::Write;

use trace_format::{
    Event, EventKind, Record, Text, Thread, ThreadKoids, Value, WriteError, Writer,
};

use super::labels::Label;
use super::list::{List, MAX};

/// A duration of a thread whose arguments are numbers. There are many: each system call is one.
#[derive(Clone, Copy, Debug)]
pub struct NumbersDuration<'a> {
    /// When it began, in ticks of the destination's clock.
    pub start: u64,
    /// When it ended, in ticks, not before its start.
    pub end: u64,
    /// The thread.
    pub thread: ThreadKoids,
    /// Its category.
    pub category: Label,
    /// Its name.
    pub name: &'a str,
    /// Its arguments, at most eight: more are a defect of the caller, and left out.
    pub arguments: &'a [(Label, Number)],
}

/// A number of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// A number that may be negative.
    Signed(i64),
    /// A number that is not negative.
    Unsigned(u64),
}

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

    /// Writes a duration whose arguments are numbers, if its category is recorded.
    ///
    /// # Errors
    ///
    /// Those of [`record`](Self::record).
    fn numbers(&mut self, duration: &NumbersDuration<'_>) -> Result<(), WriteError> {
        write_as_event(self, duration)
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

/// Writes a duration as any other event.
///
/// # Errors
///
/// Those of [`RecordSink::record`].
pub fn write_as_event<S: RecordSink + ?Sized>(
    sink: &mut S,
    duration: &NumbersDuration<'_>,
) -> Result<(), WriteError> {
    let NumbersDuration { start, end, thread, category, name, arguments } = *duration;
    debug_assert!(arguments.len() <= MAX, "a list has no space for more");
    let Some(category) = sink.category(category) else { return Ok(()) };
    let mut list = List::new();
    for (label, number) in arguments {
        let value = match number {
            Number::Signed(number) => Value::Int64(*number),
            Number::Unsigned(number) => Value::Uint64(*number),
        };
        list.push(sink.label(*label), value);
    }
    let event = Event {
        ticks: start,
        thread: Thread::Inline(thread),
        category,
        name: sink.text(name),
        kind: EventKind::DurationComplete { end },
        arguments: list.as_slice().into(),
    };
    sink.record(&event.into())
}
