//! The calls and events of an archive, collected in one pass.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::time::Duration;

use trace_analyze::arguments::named_unsigned;
use trace_analyze::catalog::LabelId;
use trace_analyze::is_clock_anchor;
use trace_analyze::spans::{Span, Spans};
use trace_format::layout::InstantScope;
use trace_format::{
    Argument, Event, EventKind, Item, LargeBlob, Record, ThreadKoids, TickRate, Value,
};

use super::arguments::Arguments;
use super::clock::Clock;
use super::error::ExportError;
use super::marks::{Ending, Mark};
use super::parts::{Added, Key, Parts, Place};
use super::payload;
use super::payloads::Payloads;
use super::process::{next_function, Process, BUFFER_BYTES};
use super::sorter::{Kind, Row, Sorted, Sorter, OPEN};
use super::threads::{Thread, Threads};
use crate::record::FunctionId;
use crate::write::Anchor;

/// The records of an archive.
pub(super) struct Collected {
    pub(super) threads: Vec<Thread>,
    /// The numbers of the threads with records, by the process in whose log they are.
    pub(super) logs: BTreeMap<Process, Vec<u32>>,
    pub(super) names: Vec<String>,
    pub(super) rows: Sorted,
    pub(super) payloads: File,
    pub(super) rate: TickRate,
    pub(super) anchor: Anchor,
    pub(super) too_long: u64,
    pub(super) unpaired: u64,
}

/// The value of a begin or an end.
#[derive(Debug, Clone, Copy, Default)]
struct DurationValue {
    /// The number of the thread.
    thread: u32,
    ending: Ending,
}

/// Collects the records of an archive.
pub(super) struct Records {
    /// The begin of a duration has the number of its thread, the end how it ended.
    spans: Spans<DurationValue>,
    /// The functions by label, and their names by number - 1.
    functions: HashMap<LabelId, FunctionId>,
    names: Vec<String>,
    arguments: Arguments,
    threads: Threads,
    rows: Sorter,
    payloads: Payloads,
    clock: Clock,
    /// The threads of records without a time before the first one.
    untimed: Vec<(u32, Row)>,
    parts: Parts,
    too_long: u64,
}

impl Records {
    pub(super) fn new(max_rows: usize) -> Result<Self, ExportError> {
        Ok(Self {
            spans: Spans::with_values_and_unended(),
            functions: HashMap::new(),
            names: Vec::new(),
            arguments: Arguments::default(),
            threads: Threads::default(),
            rows: Sorter::new(max_rows),
            payloads: Payloads::new()?,
            clock: Clock::default(),
            untimed: Vec::new(),
            parts: Parts::default(),
            too_long: 0,
        })
    }

    pub(super) fn item(&mut self, item: &Item<'_>) -> Result<(), ExportError> {
        let mut value = DurationValue::default();
        match &item.record {
            // Readers refuse it, and the log has a clock of its own.
            Record::Event(event) if is_clock_anchor(item, event) => self.clock(item, event),
            Record::Event(event) if is_duration(event) => value = self.duration(item, event)?,
            Record::Metadata(_)
            | Record::Initialization { .. }
            | Record::String { .. }
            | Record::Thread { .. } => {}
            record => {
                if let Record::KernelObject(object) = record {
                    self.threads.process(item, object);
                }
                match Mark::of(item) {
                    Some(Mark::Part(event_type, place)) => {
                        self.part(item, *record, event_type, place)?;
                    }
                    Some(mark) => self.mark(item, &mark)?,
                    None => self.custom(item, *record)?,
                }
            }
        }
        let spans: Vec<_> = self.spans.record_with(item, value).collect();
        spans.iter().try_for_each(|span| self.span(span, span.end))?;
        if self.clock.last().is_some() && !self.untimed.is_empty() {
            self.add_untimed()?;
        }
        self.unended()
    }

    fn clock(&mut self, item: &Item<'_>, event: &Event<'_>) {
        let Some(time) = named_unsigned(item, &event.arguments, "monotonic_ns") else { return };
        self.clock.set(item, event.ticks);
        self.clock.anchor(Duration::from_nanos(time));
    }

    /// Adds the record that an event was in a log.
    fn mark(&mut self, item: &Item<'_>, mark: &Mark<'_>) -> Result<(), ExportError> {
        if *mark == Mark::Summary {
            return Ok(());
        }
        let mut record = item.record;
        self.clock.convert(item, &mut record);
        let begin = self.clock.last().unwrap_or_default();
        let (kind, payload) = match mark {
            Mark::WallClock(time) => {
                self.clock.anchor(*time);
                return Ok(());
            }
            Mark::Summary | Mark::Part(..) => return Ok(()),
            Mark::Cpu(cpu) => (Kind::Cpu(*cpu), &[][..]),
            Mark::Custom(payload) => (Kind::Custom, &**payload),
            Mark::Typed(number, payload) => (Kind::Typed(*number), &**payload),
        };
        let thread = self.threads.number(koids(item, &item.record), item.provider.id());
        self.event(thread, begin, kind, payload)
    }

    /// Adds a part of an event: the event, if its other parts were added.
    fn part(
        &mut self,
        item: &Item<'_>,
        mut record: Record<'_>,
        event_type: Option<u16>,
        place: Place,
    ) -> Result<(), ExportError> {
        let thread = self.threads.number(koids(item, &record), item.provider.id());
        self.clock.convert(item, &mut record);
        let begin = self.clock.last().unwrap_or_default();
        let Some(record) = payload::bytes(item, record) else {
            self.too_long += 1;
            return Ok(());
        };
        let Added { payload, separate } =
            self.parts.add(Key { thread, begin, event_type }, place, record);
        self.separate(separate)?;
        let kind = event_type.map_or(Kind::Custom, Kind::Typed);
        payload.map_or(Ok(()), |payload| self.event(thread, begin, kind, &payload))
    }

    /// Adds parts whose events are incomplete.
    fn separate(
        &mut self,
        parts: impl IntoIterator<Item = (Key, Vec<u8>)>,
    ) -> Result<(), ExportError> {
        let mut parts = parts.into_iter();
        parts.try_for_each(|(key, record)| self.event(key.thread, key.begin, Kind::Custom, &record))
    }

    /// Adds an event with a payload.
    fn event(
        &mut self,
        thread: u32,
        begin: u64,
        kind: Kind,
        payload: &[u8],
    ) -> Result<(), ExportError> {
        if !fits(payload) {
            self.too_long += 1;
            return Ok(());
        }
        let (offset, bytes) = self.payloads.add(payload)?;
        self.add(thread, Row { begin, end: begin, kind, offset, bytes })
    }

    /// Adds the arguments of a duration, which the spans have. Returns its value.
    fn duration(
        &mut self,
        item: &Item<'_>,
        event: &Event<'_>,
    ) -> Result<DurationValue, ExportError> {
        self.clock.set(item, event.ticks);
        let thread = self.threads.number(item.thread(event.thread), item.provider.id());
        let is_end = event.kind == EventKind::DurationEnd;
        let has_end = event.kind != EventKind::DurationBegin;
        let ending = Ending::of_event(item, event).filter(|_| has_end);
        let values: Option<Vec<u64>> = match ending {
            Some(_) => Some(Vec::new()),
            None => event.arguments.iter().map(|argument| integer(&argument)).collect(),
        };
        match values {
            Some(values) if !is_end => {
                if !(values.is_empty() && self.arguments.is_empty()) {
                    let label = self.spans.catalog_mut().label(item, event.category, event.name);
                    self.arguments.keep((thread, event.ticks, label), end_of(event), values);
                }
            }
            Some(values) if values.is_empty() => {}
            _ => {
                let kind = EventKind::Instant { scope: Some(InstantScope::Thread) };
                self.custom(item, Record::Event(Event { kind, ..*event }))?;
            }
        }
        Ok(DurationValue { thread, ending: ending.unwrap_or_default() })
    }

    /// Adds the calls without an end.
    fn unended(&mut self) -> Result<(), ExportError> {
        self.spans.take_unended().iter().try_for_each(|span| self.span(span, OPEN))
    }

    /// Adds a call that ends at `end`.
    fn span(&mut self, span: &Span<DurationValue>, end: u64) -> Result<(), ExportError> {
        // A complete duration has one value, that of its begin.
        let ending = match span.end_value.ending {
            Ending::Exit => span.begin_value.ending,
            ending => ending,
        };
        let kind = Kind::Call(self.function(span.label)?, ending);
        let thread = span.begin_value.thread;
        let arguments = self.arguments.take((thread, span.begin, span.label), end);
        let begin = self.clock.ticks(span.rate, span.begin);
        let end = if end == OPEN { OPEN } else { self.clock.ticks(span.rate, end) };
        let bytes: Vec<u8> = arguments.iter().flat_map(|value| value.to_le_bytes()).collect();
        let (offset, bytes) = self.payloads.add(&bytes)?;
        self.add(thread, Row { begin, end, kind, offset, bytes })
    }

    fn function(&mut self, label: LabelId) -> Result<FunctionId, ExportError> {
        if let Some(id) = self.functions.get(&label) {
            return Ok(*id);
        }
        self.names.push(self.spans.catalog().name(label).to_owned());
        let id = next_function(self.names.len())?;
        self.functions.insert(label, id);
        Ok(id)
    }

    /// Adds a custom event with the words of a record.
    fn custom(&mut self, item: &Item<'_>, mut record: Record<'_>) -> Result<(), ExportError> {
        let koids = koids(item, &record);
        self.clock.convert(item, &mut record);
        let begin = record.times().next().map(|ticks| *ticks).or(self.clock.last());
        let Some(payload) = payload::bytes(item, record).filter(|payload| fits(payload)) else {
            self.too_long += 1;
            return Ok(());
        };
        let (offset, bytes) = self.payloads.add(&payload)?;
        let thread = self.threads.number(koids, item.provider.id());
        let row = Row { begin: 0, end: 0, kind: Kind::Custom, offset, bytes };
        match begin {
            Some(begin) => self.add(thread, Row { begin, end: begin, ..row }),
            None => {
                self.untimed.push((thread, row));
                Ok(())
            }
        }
    }

    /// Adds the records before the first time, at this time.
    fn add_untimed(&mut self) -> Result<(), ExportError> {
        let begin = self.clock.last().unwrap_or_default();
        let mut untimed = std::mem::take(&mut self.untimed).into_iter();
        untimed.try_for_each(|(thread, row)| self.add(thread, Row { begin, end: begin, ..row }))
    }

    fn add(&mut self, number: u32, row: Row) -> Result<(), ExportError> {
        self.threads.add(number, row);
        self.rows.push(number, row).map_err(ExportError::Temporary)
    }

    pub(super) fn finish(mut self) -> Result<Collected, ExportError> {
        let spans: Vec<_> = self.spans.finish().collect();
        spans.iter().try_for_each(|span| self.span(span, span.end))?;
        self.unended()?;
        self.add_untimed()?;
        let parts = self.parts.finish();
        self.separate(parts)?;
        let (threads, logs) = self.threads.finish(self.spans.catalog());
        let (rate, anchor) = self.clock.finish();
        Ok(Collected {
            logs,
            threads,
            names: self.names,
            rows: self.rows.finish().map_err(ExportError::Temporary)?,
            payloads: self.payloads.finish()?,
            rate,
            anchor,
            too_long: self.too_long,
            unpaired: self.spans.oddities().ends_without_begin,
        })
    }
}

/// Returns the thread of a record.
fn koids(item: &Item<'_>, record: &Record<'_>) -> ThreadKoids {
    match record {
        Record::Event(event) => item.thread(event.thread),
        Record::Log(log) => item.thread(log.thread),
        Record::LargeBlob(LargeBlob { event: Some(event), .. }) => item.thread(event.thread),
        _ => ThreadKoids::UNKNOWN,
    }
}

/// Returns whether a payload fits into an empty thread buffer.
fn fits(payload: &[u8]) -> bool {
    payload.len() as u64 <= BUFFER_BYTES - crate::write::MIN_BUFFER_BYTES
}

fn is_duration(event: &Event<'_>) -> bool {
    use EventKind::{DurationBegin, DurationComplete, DurationEnd};
    matches!(event.kind, DurationBegin | DurationComplete { .. } | DurationEnd)
}

/// Returns the end of a complete duration. Spans do not end before they begin.
fn end_of(event: &Event<'_>) -> Option<u64> {
    match event.kind {
        EventKind::DurationComplete { end } => Some(end.max(event.ticks)),
        _ => None,
    }
}

fn integer(argument: &Argument<'_>) -> Option<u64> {
    match argument.value {
        Value::Int32(value) => Some(i64::from(value) as u64),
        Value::Uint32(value) => Some(value.into()),
        Value::Int64(value) => Some(value as u64),
        Value::Uint64(value) | Value::Pointer(value) => Some(value),
        _ => None,
    }
}
