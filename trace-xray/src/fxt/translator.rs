//! From records of a log to records of an archive.

use std::io::Write;

use trace_format::layout::{InstantScope, MAX_ARGUMENTS, MAX_STRING_BYTES};
use trace_format::{
    notes, Argument, EventKind, LargeBlob, LargeBlobEvent, Log, Thread, ThreadKoids, Value,
    WriteError, Writer,
};

use super::durations::{begin, end, event, Entry};
use super::marks::{self, Ending};
use super::monotonic::Monotonic;
use super::{payload, CATEGORY};
use crate::calls::{CallStacks, End, Limits, Step};
use crate::layout::{Action, UNKNOWN_CPU};
use crate::map::{Map, Names};
use crate::read::{Item, ReadError, ThreadBuffer};
use crate::record::{self, FunctionRecord, WallClock};

const INSTANT: EventKind = EventKind::Instant { scope: Some(InstantScope::Thread) };

/// Writes the records of a log, whose thread buffers have to be in the order of time.
///
/// Memory grows with the number of threads and their open calls, up to the limits of call stacks,
/// and with the number of functions in the map.
#[derive(Debug, Default)]
pub struct Translator {
    stacks: CallStacks,
    names: Names,
    /// The last function entry, while its arguments are read.
    entry: Option<Entry>,
    /// The time and thread of the last record.
    last: (u64, ThreadKoids),
    has_wall_clock: bool,
    /// The log of the last record.
    log: u32,
    times: Monotonic,
    counts: Counts,
}

/// Data that the archive does not have, and calls whose end is not recorded.
#[derive(Debug, Default)]
struct Counts {
    unwound: u64,
    no_entry: u64,
    arguments: u64,
    over_limit: u64,
}

impl Translator {
    /// Starts with the names of functions.
    #[must_use]
    pub fn new(map: Map) -> Self {
        Self::with_limits(map, Limits::default())
    }

    /// Starts with limits of call stacks other than the default ones.
    #[must_use]
    pub fn with_limits(map: Map, limits: Limits) -> Self {
        let (stacks, names) = (CallStacks::with_limits(limits), Names::new(map));
        Self { stacks, names, ..Self::default() }
    }

    /// Writes a record.
    ///
    /// # Errors
    ///
    /// Writing failed.
    pub fn item<W: Write>(
        &mut self,
        writer: &mut Writer<W>,
        item: &Item<'_>,
    ) -> Result<(), WriteError> {
        if let record::Record::CallArgument { value } = item.record {
            self.argument(value);
            return Ok(());
        }
        self.flush(writer)?;
        self.last = (item.tsc(), koids(item.buffer));
        if item.buffer.log != self.log {
            self.log = item.buffer.log;
            self.times.restart();
        }
        match item.record {
            record::Record::Function(function) => self.function(writer, item, function),
            record::Record::NewCpuId { cpu, .. } => {
                self.wall_clock(writer, item.buffer.wall_clock)?;
                self.cpu(writer, cpu)
            }
            record::Record::CustomEvent(event) if event.is_filler() => Ok(()),
            record::Record::CustomEvent(event) => match payload::record(event.payload) {
                Some(_) => write_payload(writer, event.payload),
                None => self.event(writer, marks::CUSTOM_EVENT, None, event.payload),
            },
            record::Record::TypedEvent(event) => {
                self.event(writer, marks::TYPED_EVENT, Some(event.event_type), event.payload)
            }
            _ => Ok(()),
        }
    }

    /// Reports damage of the log as dropped records, whose number is unknown.
    ///
    /// # Errors
    ///
    /// Writing failed.
    pub fn damage<W: Write>(
        &mut self,
        writer: &mut Writer<W>,
        error: &ReadError,
    ) -> Result<(), WriteError> {
        self.flush(writer)?;
        let reason = match std::error::Error::source(error) {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        };
        self.dropped(writer, &reason, error.number())
    }

    /// Writes what is left at the end of the log. Calls that are open stay without an end.
    ///
    /// # Errors
    ///
    /// Writing failed.
    pub fn finish<W: Write>(&mut self, writer: &mut Writer<W>) -> Result<(), WriteError> {
        self.flush(writer)?;
        let Counts { unwound, no_entry, arguments, over_limit } = self.counts;
        if over_limit > 0 {
            self.dropped(writer, "too many open calls or threads", over_limit)?;
        }
        if arguments > 0 {
            self.dropped(writer, "more than 15 arguments of a call", arguments)?;
        }
        let backward = self.times.backward();
        for (text, count) in [
            (marks::UNWOUND_CALLS, unwound),
            (marks::NO_ENTRY, no_entry),
            (marks::BACKWARD, backward),
        ] {
            if count > 0 {
                self.message(writer, &format!("{text}: {count}"))?;
            }
        }
        Ok(())
    }

    /// Writes the first wall clock of the log, at the first time of its thread buffer. A log that
    /// was YAML has none: it is 0.
    fn wall_clock<W: Write>(
        &mut self,
        writer: &mut Writer<W>,
        time: Option<WallClock>,
    ) -> Result<(), WriteError> {
        let is_new = |time: &WallClock| !self.has_wall_clock && *time != WallClock::default();
        let Some(WallClock { seconds, micros }) = time.filter(is_new) else { return Ok(()) };
        self.has_wall_clock = true;
        let nanos = seconds.saturating_mul(1_000_000_000).saturating_add(u64::from(micros) * 1000);
        let nanos = Argument::new(marks::NANOS, Value::Uint64(nanos));
        self.instant(writer, marks::WALL_CLOCK, &[nanos])
    }

    fn cpu<W: Write>(&self, writer: &mut Writer<W>, cpu: u16) -> Result<(), WriteError> {
        if cpu == UNKNOWN_CPU {
            return Ok(());
        }
        self.instant(writer, marks::CPU, &[Argument::new(marks::NUMBER, Value::Uint32(cpu.into()))])
    }

    fn function<W: Write>(
        &mut self,
        writer: &mut Writer<W>,
        item: &Item<'_>,
        record: FunctionRecord,
    ) -> Result<(), WriteError> {
        let (ticks, thread) = self.last;
        self.last = (self.times.at(thread, ticks), thread);
        let Self { stacks, names, counts, last, .. } = self;
        match stacks.step(item) {
            Some(Step::Entered { .. }) => {
                let entry = Entry { at: *last, function: record.function, arguments: Vec::new() };
                if record.action == Action::EntryArgs {
                    self.entry = Some(entry);
                    return Ok(());
                }
                begin(writer, names, &entry)
            }
            Some(Step::Left(mut ended)) => ended.try_for_each(|call| {
                counts.unwound += u64::from(call.end == End::Missing);
                let ending = Ending::of(call.end).unwrap_or_default();
                end(writer, names, *last, call.function, ending)
            }),
            Some(Step::NoEntry) => {
                counts.no_entry += 1;
                end(writer, names, *last, record.function, Ending::Exit)
            }
            Some(Step::OverLimit) => {
                counts.over_limit += 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn argument(&mut self, value: u64) {
        // Without an entry, the entry itself is beyond the limits.
        let Some(entry) = &mut self.entry else { return };
        if entry.arguments.len() < MAX_ARGUMENTS {
            entry.arguments.push(value);
        } else {
            self.counts.arguments += 1;
        }
    }

    /// Writes the entry whose arguments are complete.
    fn flush<W: Write>(&mut self, writer: &mut Writer<W>) -> Result<(), WriteError> {
        self.entry.take().map_or(Ok(()), |entry| begin(writer, &mut self.names, &entry))
    }

    /// Writes an event with a payload.
    fn event<W: Write>(
        &mut self,
        writer: &mut Writer<W>,
        name: &str,
        event_type: Option<u16>,
        payload: &[u8],
    ) -> Result<(), WriteError> {
        let event_type =
            event_type.map(|number| Argument::new(marks::TYPE, Value::Uint32(number.into())));
        let value = match std::str::from_utf8(payload) {
            Ok(text) if text.len() <= MAX_STRING_BYTES => Value::String(text.into()),
            _ => Value::Blob(payload),
        };
        let mut arguments: Vec<_> = event_type.into_iter().collect();
        arguments.push(Argument::new(marks::PAYLOAD, value));
        match self.instant(writer, name, &arguments) {
            Err(WriteError::Encode(_)) => {}
            written => return written,
        }
        let (ticks, thread) = (self.last.0, Thread::Inline(self.last.1));
        let arguments = event_type.as_slice().into();
        let event = Some(LargeBlobEvent { ticks, thread, arguments });
        let (category, name) = (CATEGORY.into(), name.into());
        writer.record(&LargeBlob { category, name, event, payload }.into())
    }

    fn instant<W: Write>(
        &self,
        writer: &mut Writer<W>,
        name: &str,
        arguments: &[Argument<'_>],
    ) -> Result<(), WriteError> {
        writer.record(&event(self.last, (CATEGORY, name), INSTANT, arguments))
    }

    fn dropped<W: Write>(
        &self,
        writer: &mut Writer<W>,
        reason: &str,
        number: u64,
    ) -> Result<(), WriteError> {
        let arguments = [
            Argument::new("reason", Value::String(reason.into())),
            Argument::new("number", Value::Uint64(number)),
        ];
        let labels = (notes::CATEGORY, notes::RECORDS_DROPPED);
        writer.record(&event(self.last, labels, INSTANT, &arguments))
    }

    fn message<W: Write>(&self, writer: &mut Writer<W>, text: &str) -> Result<(), WriteError> {
        let (ticks, thread) = (self.last.0, Thread::Inline(ThreadKoids::UNKNOWN));
        writer.record(&Log { ticks, thread, message: text.as_bytes() }.into())
    }
}

/// Writes the record of a payload, with its strings and threads in the tables of the archive.
fn write_payload<W: Write>(writer: &mut Writer<W>, payload: &[u8]) -> Result<(), WriteError> {
    let Some(record) = payload::record(payload) else { return Ok(()) };
    writer.record(&record)
}

/// Returns the thread of a thread buffer. The process is 0 before version 3.
fn koids(buffer: &ThreadBuffer) -> ThreadKoids {
    let koid = |id: i32| u64::from(id as u32);
    ThreadKoids::new(buffer.process.map_or(0, koid), koid(buffer.thread))
}
