//! Copies records from one archive to another.
//!
//! A record's bytes are copied, so that unknown types and encodings that our writer does not use
//! are kept. Indexes are kept, because each provider of the new archive is a provider of the old
//! one: a string or thread is registered with its old index before the first record that uses it.
//! An unresolved reference stays unresolved.

mod tables;

use std::collections::HashMap;
use std::io::Write;

use trace_format::layout::MAX_ARGUMENTS;
use trace_format::words::{self, Word};
use trace_format::{
    encode, Argument, Event, EventKind, Item, Process, Provider, Record, Reference, Text, Thread,
    Value, Writer,
};

use crate::ConvertError;
use tables::Tables;
use trace_analyze::{arguments, is_clock_anchor, Loss};

/// The thread index of a chunk's thread, see `docs/format.md`.
pub(crate) const CHUNK_THREAD: u8 = 1;

/// Converts times and koids of records.
pub(crate) type Change<'c> = Option<&'c dyn Fn(Word, u64) -> u64>;

/// Copies records into an archive.
#[derive(Debug)]
pub(crate) struct Copier<W> {
    writer: Writer<W>,
    /// The provider of the last record.
    current: Option<u32>,
    /// The tables of the current provider.
    tables: Tables,
    /// The tables of the other providers.
    others: HashMap<Option<u32>, Tables>,
    /// Encoded records that are not written yet.
    bytes: Vec<u8>,
}

impl<W: Write> Copier<W> {
    /// Starts an archive.
    pub(crate) fn new(output: W) -> Result<Self, ConvertError> {
        Ok(Self {
            writer: Writer::new(output)?,
            current: None,
            tables: Tables::default(),
            others: HashMap::new(),
            bytes: Vec::new(),
        })
    }

    /// Returns the writer, for records that are not copied.
    pub(crate) fn writer(&mut self) -> &mut Writer<W> {
        &mut self.writer
    }

    /// Clears the tables before the records of another archive.
    pub(crate) fn next_archive(&mut self) {
        self.others.clear();
        self.tables = Tables::default();
    }

    /// Reads a string or thread record, which gives an index a new value.
    pub(crate) fn note(&mut self, item: &Item<'_>) {
        self.switch_to(item.provider);
        match item.record {
            Record::String { index, .. } => self.tables.strings.note(index),
            Record::Thread { index, .. } => self.tables.threads.note(index.into()),
            _ => {}
        }
    }

    /// Copies a record, and registers the strings and threads that it refers to.
    pub(crate) fn copy(&mut self, item: &Item<'_>, change: Change<'_>) -> Result<(), ConvertError> {
        self.register_references(item, change);
        self.push(item.bytes, change);
        self.write_out()
    }

    /// Writes `record` instead of the record of `item`, whose references it has.
    pub(crate) fn copy_as(
        &mut self,
        item: &Item<'_>,
        record: &Record<'_>,
    ) -> Result<(), ConvertError> {
        self.register_references(item, None);
        if !self.push_record(record, None) {
            self.push(item.bytes, None);
        }
        self.write_out()
    }

    /// Copies an event of the tracing system. `nanos` converts the ticks in its arguments.
    pub(crate) fn copy_with_nanos(
        &mut self,
        item: &Item<'_>,
        change: Change<'_>,
        nanos: impl Fn(u64) -> u64,
    ) -> Result<(), ConvertError> {
        self.register_references(item, change);
        let mut buffer = argument_buffer();
        let record = with_nanos(item, &mut buffer, nanos);
        let is_known = item.record.arguments().unknown().next().is_none();
        if !is_known || !self.push_record(&record, change) {
            self.push(item.bytes, change);
        }
        self.write_out()
    }

    #[inline]
    fn switch_to(&mut self, provider: &Provider) {
        if self.current != provider.id() {
            self.switch_slow(provider.id());
        }
    }

    #[cold]
    fn switch_slow(&mut self, provider: Option<u32>) {
        let tables = self.others.remove(&provider).unwrap_or_default();
        let before = std::mem::replace(&mut self.tables, tables);
        self.others.insert(self.current, before);
        self.current = provider;
    }

    #[inline]
    fn register_references(&mut self, item: &Item<'_>, change: Change<'_>) {
        self.switch_to(item.provider);
        item.record.references(|reference| match reference {
            Reference::Text(Text::Indexed(index)) => self.string(item.provider, index),
            Reference::Thread(Thread::Indexed(index))
            | Reference::Process(Process::Indexed(index)) => {
                self.thread(item.provider, index, change);
            }
            _ => {}
        });
        // Parts of one blob are identified by the thread of their chunk.
        if let Record::Blob(_) = item.record {
            self.thread(item.provider, CHUNK_THREAD, change);
        }
        let is_unknown = matches!(item.record, Record::Unknown(_));
        if is_unknown || item.record.arguments().unknown().next().is_some() {
            self.register_all(item.provider, change);
        }
    }

    /// Registers all indexes: an unknown record may refer to any of them.
    #[cold]
    fn register_all(&mut self, provider: &Provider, change: Change<'_>) {
        for index in self.tables.strings.take_noted() {
            self.string(provider, index);
        }
        for index in self.tables.threads.take_noted() {
            self.thread(provider, u8::try_from(index).unwrap_or(0), change);
        }
    }

    #[inline]
    fn string(&mut self, provider: &Provider, index: u16) {
        if self.tables.strings.register(index) {
            return;
        }
        if let Some(value) = provider.string(index).map(str::as_bytes) {
            self.push_record(&Record::String { index, value }, None);
        }
    }

    #[inline]
    fn thread(&mut self, provider: &Provider, index: u8, change: Change<'_>) {
        if self.tables.threads.register(index.into()) {
            return;
        }
        if let Some(koids) = provider.thread(index) {
            self.push_record(&Record::Thread { index, koids }, change);
        }
    }

    /// Encodes a record; returns `false` if it is too long. String and thread records fit.
    fn push_record(&mut self, record: &Record<'_>, change: Change<'_>) -> bool {
        let mut words: Vec<u64> = Vec::new();
        let fits = encode::append(&mut words, record).is_ok();
        self.push(&encode::to_bytes(&words), change);
        fits
    }

    #[inline]
    fn push(&mut self, record: &[u8], change: Change<'_>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(record);
        if let (Some(change), Some(record)) = (change, self.bytes.get_mut(start..)) {
            words::change(record, change);
        }
    }

    fn write_out(&mut self) -> Result<(), ConvertError> {
        let written = self.writer.output_mut().write_all(&self.bytes);
        self.bytes.clear();
        written.map_err(ConvertError::Write)
    }
}

/// A buffer for the arguments of a record.
pub(crate) type ArgumentBuffer<'a> = [Argument<'a>; MAX_ARGUMENTS];

/// Returns a buffer for the arguments of a record.
pub(crate) fn argument_buffer<'a>() -> ArgumentBuffer<'a> {
    [Argument { name: Text::EMPTY, value: Value::Null }; MAX_ARGUMENTS]
}

/// Returns the record of `item`, with the ticks in its arguments converted to nanoseconds. `buffer`
/// holds the arguments.
pub(crate) fn with_nanos<'a>(
    item: &Item<'a>,
    buffer: &'a mut ArgumentBuffer<'a>,
    nanos: impl Fn(u64) -> u64,
) -> Record<'a> {
    let mut record = item.record;
    let mut count = 0;
    for (place, argument) in buffer.iter_mut().zip(&record.arguments()) {
        *place = argument;
        if let "ticks" | "from" | "to" = &*item.text(argument.name) {
            if let Some(ticks) = arguments::unsigned(item, argument.value) {
                place.value = Value::Uint64(nanos(ticks));
            }
        }
        count += 1;
    }
    if let Some(place) = record.arguments_mut() {
        *place = buffer.get(..count).unwrap_or_default().into();
    }
    record
}

/// Returns whether an event has ticks in its arguments.
#[inline]
pub(crate) fn has_tick_arguments(item: &Item<'_>, event: &Event<'_>) -> bool {
    Loss::of(item, event).is_some() || is_clock_anchor(item, event)
}

/// Returns whether a record is the event of a counter.
pub(crate) fn is_counter(record: &Record<'_>) -> bool {
    matches!(record, Record::Event(Event { kind: EventKind::Counter { .. }, .. }))
}

/// Returns the time of a record that has one, in ticks.
pub(crate) fn ticks(record: &Record<'_>) -> Option<u64> {
    let mut record = *record;
    let first = record.times().next().map(|ticks| *ticks);
    first
}
