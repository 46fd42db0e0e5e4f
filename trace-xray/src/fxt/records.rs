//! The calls and events of an archive, collected in one pass.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::time::Duration;

use trace_analyze::arguments::named_unsigned;
use trace_analyze::catalog::LabelId;
use trace_analyze::input::temporary_file_error;
use trace_analyze::is_clock_anchor;
use trace_analyze::spans::{Span, Spans};
use trace_format::layout::{InstantScope, ObjectType};
use trace_format::{
    Argument, Event, EventKind, Item, KernelObject, LargeBlob, Record, ThreadKoids, TickRate, Value,
};

use super::arguments::Arguments;
use super::error::ExportError;
use super::marks::{Ending, Mark};
use super::parts::{Added, Key, Parts, Place};
use super::payload;
use super::process::{next_function, Process, BUFFER_BYTES};
use super::sorter::{Kind, Row, Sorted, Sorter, OPEN};
use crate::record::FunctionId;
use crate::write::Anchor;

/// A thread with records of one provider.
#[derive(Debug, Clone)]
pub(super) struct Thread {
    koids: ThreadKoids,
    provider: Option<u32>,
    /// The id of the process in whose log it is.
    log: u64,
    /// Its first and last time.
    pub(super) start: u64,
    pub(super) last: u64,
    /// The most bytes of its records, and of the largest of them.
    pub(super) bytes: u64,
    pub(super) largest: u64,
}

impl Thread {
    pub(super) fn has_records(&self) -> bool {
        self.start != u64::MAX
    }

    /// Returns what the numbers of one thread have in common.
    pub(super) fn key(&self) -> (u64, u64) {
        (self.koids.process, self.koids.thread)
    }

    /// Returns its process and thread ids. A koid that is no id of Linux gets a negative number.
    pub(super) fn ids(&self, number: u32) -> [i32; 2] {
        let artificial = -1 - i32::try_from(number).unwrap_or(i32::MAX - 1);
        let id = |koid| i32::try_from(koid).unwrap_or(artificial);
        let process =
            if self.koids == ThreadKoids::UNKNOWN { self.log } else { self.koids.process };
        [process, self.koids.thread].map(id)
    }
}

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
    pub(super) too_deep: u64,
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
    /// The numbers of threads. A thread has one for each provider: if its process executes another
    /// program, the calls of the first one do not go on.
    numbers: HashMap<(ThreadKoids, Option<u32>), u32>,
    threads: Vec<Thread>,
    /// The processes of providers, and their names.
    processes: BTreeMap<Option<u32>, Process>,
    rows: Sorter,
    payloads: BufWriter<File>,
    payload_bytes: u64,
    /// The clock of the log: that of the first event.
    rate: Option<TickRate>,
    anchor: Option<Anchor>,
    /// The last time, or `None` before the first one.
    last: Option<u64>,
    /// The threads of records without a time before the first one.
    untimed: Vec<(u32, Row)>,
    parts: Parts,
    too_long: u64,
    too_deep: u64,
}

impl Records {
    pub(super) fn new(max_rows: usize) -> Result<Self, ExportError> {
        let payloads = tempfile::tempfile().map_err(temporary_file_error);
        Ok(Self {
            spans: Spans::with_values_and_unended(),
            functions: HashMap::new(),
            names: Vec::new(),
            arguments: Arguments::default(),
            numbers: HashMap::new(),
            threads: Vec::new(),
            processes: BTreeMap::new(),
            rows: Sorter::new(max_rows),
            payloads: BufWriter::new(payloads.map_err(ExportError::Temporary)?),
            payload_bytes: 0,
            rate: None,
            anchor: None,
            last: None,
            untimed: Vec::new(),
            parts: Parts::default(),
            too_long: 0,
            too_deep: 0,
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
                    self.process(item, object);
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
        self.skip_too_deep();
        spans.iter().try_for_each(|span| self.span(span, span.end))?;
        if self.last.is_some() && !self.untimed.is_empty() {
            self.add_untimed()?;
        }
        self.unended()
    }

    /// Keeps the first process of a provider: its own. A program may name it again.
    fn process(&mut self, item: &Item<'_>, object: &KernelObject<'_>) {
        if object.object_type == ObjectType::PROCESS {
            let process =
                || Process { pid: object.koid, name: item.text(object.name).into_owned() };
            self.processes.entry(item.provider.id()).or_insert_with(process);
        }
    }

    fn clock(&mut self, item: &Item<'_>, event: &Event<'_>) {
        let Some(time) = named_unsigned(item, &event.arguments, "monotonic_ns") else { return };
        self.set_time(item, event.ticks);
        let time = Duration::from_nanos(time);
        let tsc = self.last.unwrap_or_default();
        self.anchor.get_or_insert(Anchor { tsc, time });
    }

    /// Adds the record that an event was in a log.
    fn mark(&mut self, item: &Item<'_>, mark: &Mark<'_>) -> Result<(), ExportError> {
        if *mark == Mark::Summary {
            return Ok(());
        }
        let mut record = item.record;
        self.convert_times(item, &mut record);
        let begin = self.last.unwrap_or_default();
        let (kind, payload) = match mark {
            Mark::WallClock(time) => {
                self.anchor.get_or_insert(Anchor { tsc: begin, time: *time });
                return Ok(());
            }
            Mark::Summary | Mark::Part(..) => return Ok(()),
            Mark::Cpu(cpu) => (Kind::Cpu(*cpu), &[][..]),
            Mark::Custom(payload) => (Kind::Custom, &**payload),
            Mark::Typed(number, payload) => (Kind::Typed(*number), &**payload),
        };
        let thread = self.thread(koids(item, &item.record), item.provider.id());
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
        let thread = self.thread(koids(item, &record), item.provider.id());
        self.convert_times(item, &mut record);
        let begin = self.last.unwrap_or_default();
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
        let (offset, bytes) = self.payload(payload)?;
        self.add(thread, Row { begin, end: begin, kind, offset, bytes })
    }

    /// Adds the arguments of a duration, which the spans have. Returns its value.
    fn duration(
        &mut self,
        item: &Item<'_>,
        event: &Event<'_>,
    ) -> Result<DurationValue, ExportError> {
        self.set_time(item, event.ticks);
        let thread = self.thread(item.thread(event.thread), item.provider.id());
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

    /// Skips calls that are nested too deep. They are inside those that have ended since.
    fn skip_too_deep(&mut self) {
        for span in self.spans.take_too_deep() {
            self.arguments.take((span.begin_value.thread, span.begin, span.label), OPEN);
            self.too_deep += 1;
        }
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
        let begin = self.ticks(span.rate, span.begin);
        let end = if end == OPEN { OPEN } else { self.ticks(span.rate, end) };
        let bytes: Vec<u8> = arguments.iter().flat_map(|value| value.to_le_bytes()).collect();
        let (offset, bytes) = self.payload(&bytes)?;
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
        self.convert_times(item, &mut record);
        let begin = record.times().next().map(|ticks| *ticks).or(self.last);
        let Some(payload) = payload::bytes(item, record).filter(|payload| fits(payload)) else {
            self.too_long += 1;
            return Ok(());
        };
        let (offset, bytes) = self.payload(&payload)?;
        let thread = self.thread(koids, item.provider.id());
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
        let begin = self.last.unwrap_or_default();
        let mut untimed = std::mem::take(&mut self.untimed).into_iter();
        untimed.try_for_each(|(thread, row)| self.add(thread, Row { begin, end: begin, ..row }))
    }

    /// Returns the place of bytes in the file of payloads.
    fn payload(&mut self, payload: &[u8]) -> Result<(u64, u32), ExportError> {
        self.payloads.write_all(payload).map_err(ExportError::Temporary)?;
        let offset = self.payload_bytes;
        self.payload_bytes += payload.len() as u64;
        Ok((offset, payload.len() as u32))
    }

    /// Returns the number of a thread.
    fn thread(&mut self, koids: ThreadKoids, provider: Option<u32>) -> u32 {
        let next = self.threads.len() as u32;
        let number = *self.numbers.entry((koids, provider)).or_insert(next);
        if number == next {
            let (log, start) = (koids.process, u64::MAX);
            let new = Thread { koids, provider, log, start, last: 0, bytes: 0, largest: 0 };
            self.threads.push(new);
        }
        number
    }

    fn add(&mut self, number: u32, row: Row) -> Result<(), ExportError> {
        if let Some(thread) = self.threads.get_mut(number as usize) {
            thread.start = thread.start.min(row.begin);
            let end = if row.end == OPEN { row.begin } else { row.end };
            thread.last = thread.last.max(end);
            let bytes = row.most_bytes();
            thread.bytes += bytes;
            thread.largest = thread.largest.max(bytes);
        }
        self.rows.push(number, row).map_err(ExportError::Temporary)
    }

    /// Converts the times of a record to ticks of the log's clock. The first one is the last time.
    fn convert_times(&mut self, item: &Item<'_>, record: &mut Record<'_>) {
        if let Some(ticks) = record.times().next().copied() {
            self.set_time(item, ticks);
        }
        record.times().for_each(|ticks| *ticks = self.ticks(item.provider.tick_rate(), *ticks));
    }

    fn set_time(&mut self, item: &Item<'_>, ticks: u64) {
        let rate = item.provider.tick_rate();
        self.rate.get_or_insert(rate);
        self.last = Some(self.ticks(rate, ticks));
    }

    /// Returns a time in ticks of the log's clock.
    fn ticks(&self, rate: TickRate, ticks: u64) -> u64 {
        match self.rate {
            Some(own) if own != rate => {
                let ticks = u128::from(ticks) * u128::from(own.ticks_per_second());
                let ticks = ticks / u128::from(rate.ticks_per_second());
                u64::try_from(ticks).unwrap_or(u64::MAX)
            }
            _ => ticks,
        }
    }

    pub(super) fn finish(mut self) -> Result<Collected, ExportError> {
        let spans: Vec<_> = self.spans.finish().collect();
        self.skip_too_deep();
        spans.iter().try_for_each(|span| self.span(span, span.end))?;
        self.unended()?;
        self.add_untimed()?;
        let parts = self.parts.finish();
        self.separate(parts)?;
        let logs = self.logs();
        let payloads = self.payloads.into_inner().map_err(io::IntoInnerError::into_error);
        Ok(Collected {
            logs,
            threads: self.threads,
            names: self.names,
            rows: self.rows.finish().map_err(ExportError::Temporary)?,
            payloads: payloads.map_err(ExportError::Temporary)?,
            rate: self.rate.unwrap_or_default(),
            anchor: self.anchor.unwrap_or(Anchor { tsc: 0, time: Duration::ZERO }),
            too_long: self.too_long,
            unpaired: self.spans.oddities().ends_without_begin,
            too_deep: self.too_deep,
        })
    }

    /// Assigns each thread with records to the log of a process: that of its provider if the thread
    /// belongs to it, else the first recorded one with its id, or else that of its provider.
    /// Archives of other programs may not describe their processes.
    fn logs(&mut self) -> BTreeMap<Process, Vec<u32>> {
        let mut by_pid: HashMap<u64, &Process> = HashMap::new();
        for process in self.processes.values() {
            by_pid.entry(process.pid).or_insert(process);
        }
        let mut logs: BTreeMap<Process, Vec<u32>> = BTreeMap::new();
        for (number, thread) in (0..).zip(&mut self.threads) {
            let pid = thread.koids.process;
            let own = self.processes.get(&thread.provider);
            let recorded = own.filter(|own| own.pid == pid).or(by_pid.get(&pid).copied());
            let process = recorded.or(own).cloned().unwrap_or_else(|| {
                let name = self.spans.catalog().process_name(pid).to_owned();
                Process { pid, name }
            });
            thread.log = process.pid;
            if thread.has_records() {
                logs.entry(process).or_default().push(number);
            }
        }
        logs
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
