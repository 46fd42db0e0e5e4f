//! Archives as logs.
//!
//! A duration is a function, with an id for its category and name. Integers and pointers among its
//! arguments are call arguments if there are no others. Any other record is a custom event with the
//! words of the record. Its strings and threads are inline.
//!
//! A log has the records of a thread in the order of time, an archive need not. So 40 bytes a
//! duration or event are kept until the end; payloads wait in a temporary file.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::FileExt;

use trace_analyze::catalog::LabelId;
use trace_analyze::input::temporary_file_error;
use trace_analyze::spans::{Span, Spans};
use trace_analyze::{is_clock_anchor, Damage};
use trace_format::layout::InstantScope;
use trace_format::{
    Argument, Event, EventKind, Item, Reader, Record, ThreadKoids, TickRate, Value,
};

use super::error::ExportError;
use super::merge::{write_thread, CallTime, EventTime, ThreadRecords};
use super::payload;
use crate::layout::Version;
use crate::map::{self, MapError};
use crate::record::{Format, FunctionId, Header};
use crate::write::{Anchor, Log, WriteError};

/// The size of thread buffers. The words of an FXT record fit, but for large blobs.
const BUFFER_BYTES: u64 = 256 << 10;

/// The result of a conversion.
#[derive(Debug, Default)]
pub struct Exported {
    /// The map that names the functions, in ELF.
    pub map: Vec<u8>,
    /// Calls of functions.
    pub calls: u64,
    /// Custom events.
    pub events: u64,
    /// Records that do not fit into a custom event.
    pub too_long: u64,
    /// Calls that end with their caller, because they end after it in the archive.
    pub cut: u64,
    /// Begins without an end and ends without a begin, skipped.
    pub unpaired: u64,
    /// Missing and unreadable data of the archive.
    pub damage: Damage,
}

/// Writes the log of an archive, in version 5.
///
/// # Errors
///
/// The input is not an archive, or reading or writing failed.
pub fn export<R: Read, W: Write>(reader: Reader<R>, output: W) -> Result<Exported, ExportError> {
    let copy = || tempfile::tempfile().map_err(temporary_file_error);
    let mut exporter = Exporter::new(copy().map_err(ExportError::Temporary)?);
    let damage = Damage::of_each(reader, |item| exporter.item(item))?;
    Ok(Exported { damage, ..exporter.finish(output)? })
}

/// The arguments of open durations, by thread, begin and label. Durations of one key are in the
/// order of the archive, each with its end if that is known.
type Arguments = HashMap<(ThreadKoids, u64, LabelId), Vec<(Option<u64>, Vec<u64>)>>;

struct Exporter {
    spans: Spans,
    /// The functions by label, and their names by id - 1.
    functions: HashMap<LabelId, FunctionId>,
    names: Vec<String>,
    arguments: Arguments,
    places: HashMap<ThreadKoids, usize>,
    threads: Vec<ThreadRecords>,
    payloads: BufWriter<File>,
    payload_bytes: u64,
    /// The clock of the log: that of the first event.
    rate: Option<TickRate>,
    last: u64,
    result: Exported,
}

impl Exporter {
    fn new(payloads: File) -> Self {
        Self {
            spans: Spans::default(),
            functions: HashMap::new(),
            names: Vec::new(),
            arguments: HashMap::new(),
            places: HashMap::new(),
            threads: Vec::new(),
            payloads: BufWriter::new(payloads),
            payload_bytes: 0,
            rate: None,
            last: 0,
            result: Exported::default(),
        }
    }

    fn item(&mut self, item: &Item<'_>) -> Result<(), ExportError> {
        match &item.record {
            // Readers refuse it, and the log has a clock of its own.
            Record::Event(event) if is_clock_anchor(item, event) => {}
            Record::Event(event) => self.event(item, event)?,
            Record::Metadata(_)
            | Record::Initialization { .. }
            | Record::String { .. }
            | Record::Thread { .. } => {}
            record => self.custom(item, *record)?,
        }
        let spans: Vec<_> = self.spans.record(item).collect();
        spans.into_iter().try_for_each(|span| self.span(&span))
    }

    /// Adds an event, or the arguments of a duration, which the spans have.
    fn event(&mut self, item: &Item<'_>, event: &Event<'_>) -> Result<(), ExportError> {
        let (is_begin, end) = match event.kind {
            EventKind::DurationBegin => (true, None),
            EventKind::DurationComplete { end } => (true, Some(end)),
            EventKind::DurationEnd => (false, None),
            _ => return self.custom(item, Record::Event(*event)),
        };
        self.set_time(item, event.ticks);
        let values: Option<Vec<u64>> =
            event.arguments.iter().map(|argument| integer(&argument)).collect();
        match values {
            Some(values) if is_begin => {
                self.keep_arguments(item, event, end, values);
                return Ok(());
            }
            Some(values) if values.is_empty() => return Ok(()),
            _ => {}
        }
        let kind = EventKind::Instant { scope: Some(InstantScope::Thread) };
        self.custom(item, Record::Event(Event { kind, ..*event }))
    }

    /// Keeps the arguments of a duration until its end. A duration without arguments is kept only
    /// if there are others with the same thread, begin and label.
    fn keep_arguments(
        &mut self,
        item: &Item<'_>,
        event: &Event<'_>,
        end: Option<u64>,
        values: Vec<u64>,
    ) {
        if values.is_empty() && self.arguments.is_empty() {
            return;
        }
        let label = self.spans.catalog_mut().label(item, event.category, event.name);
        let key = (item.thread(event.thread), event.ticks, label);
        match self.arguments.get_mut(&key) {
            Some(others) => others.push((end, values)),
            None if values.is_empty() => {}
            None => drop(self.arguments.insert(key, vec![(end, values)])),
        }
    }

    /// Returns the arguments of a duration. Of several with the same thread, begin and label, the
    /// last one to begin ends first.
    fn take_arguments(&mut self, span: &Span) -> Vec<u64> {
        let key = (span.koids, span.begin, span.label);
        let Some(others) = self.arguments.get_mut(&key) else { return Vec::new() };
        let ends = |known| others.iter().rposition(|(end, _)| *end == known);
        let place = ends(Some(span.end)).or_else(|| ends(None));
        let values = place.map(|place| others.remove(place).1).unwrap_or_default();
        if others.is_empty() {
            self.arguments.remove(&key);
        }
        values
    }

    fn span(&mut self, span: &Span) -> Result<(), ExportError> {
        let function = self.function(span.label)?;
        let [begin, end] = [span.begin, span.end].map(|ticks| self.ticks(span.rate, ticks));
        let arguments = self.take_arguments(span);
        self.result.calls += 1;
        let call = CallTime { begin, end, function, arguments };
        self.thread(span.koids).calls.push(call);
        Ok(())
    }

    fn function(&mut self, label: LabelId) -> Result<FunctionId, ExportError> {
        if let Some(id) = self.functions.get(&label) {
            return Ok(*id);
        }
        let catalog = self.spans.catalog();
        self.names.push(catalog.name(label).to_owned());
        let id = u32::try_from(self.names.len()).ok().and_then(FunctionId::new);
        let id = id.ok_or(ExportError::Map(MapError::TooManyFunctions))?;
        self.functions.insert(label, id);
        Ok(id)
    }

    /// Adds a custom event with the words of a record.
    fn custom(&mut self, item: &Item<'_>, mut record: Record<'_>) -> Result<(), ExportError> {
        let koids = match record {
            Record::Event(event) => item.thread(event.thread),
            Record::Log(log) => item.thread(log.thread),
            _ => ThreadKoids::UNKNOWN,
        };
        if let Some(ticks) = record.times().next().copied() {
            self.set_time(item, ticks);
        }
        record.times().for_each(|ticks| *ticks = self.ticks(item.provider.tick_rate(), *ticks));
        let ticks = record.times().next().map_or(self.last, |ticks| *ticks);
        let Some(payload) = payload::bytes(item, record).filter(|payload| fits(payload)) else {
            self.result.too_long += 1;
            return Ok(());
        };
        self.payloads.write_all(&payload).map_err(ExportError::Temporary)?;
        let (offset, size) = (self.payload_bytes, payload.len());
        self.payload_bytes += size as u64;
        self.result.events += 1;
        self.thread(koids).events.push(EventTime { ticks, offset, size });
        Ok(())
    }

    fn thread(&mut self, koids: ThreadKoids) -> &mut ThreadRecords {
        let next = self.threads.len();
        let place = *self.places.entry(koids).or_insert(next);
        if place == next {
            self.threads.push(ThreadRecords::new(koids, next));
        }
        &mut self.threads[place]
    }

    fn set_time(&mut self, item: &Item<'_>, ticks: u64) {
        let rate = item.provider.tick_rate();
        self.rate.get_or_insert(rate);
        self.last = self.ticks(rate, ticks);
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

    fn finish<W: Write>(mut self, output: W) -> Result<Exported, ExportError> {
        let spans: Vec<_> = self.spans.finish().collect();
        spans.iter().try_for_each(|span| self.span(span))?;
        let oddities = self.spans.oddities();
        self.result.unpaired = oddities.begins_without_end + oddities.ends_without_begin;
        self.result.map = map::write(&self.names, None).map_err(ExportError::Map)?;
        let payloads = self.payloads.into_inner().map_err(io::IntoInnerError::into_error);
        let payloads = payloads.map_err(ExportError::Temporary)?;
        let header = Header {
            format: Format::little(Version::V5),
            constant_tsc: true,
            nonstop_tsc: true,
            cycle_frequency: self.rate.map_or(1_000_000_000, TickRate::ticks_per_second),
            buffer_size: BUFFER_BYTES,
        };
        let anchor = Anchor { tsc: 0, time: std::time::Duration::ZERO };
        let mut log = Log::new(output, header, anchor)?;
        self.threads.sort_by_key(ThreadRecords::start);
        let read = |offset, size| {
            let mut payload = vec![0; size];
            payloads.read_exact_at(&mut payload, offset).map_err(ExportError::Temporary)?;
            Ok(payload)
        };
        for thread in self.threads {
            self.result.cut += write_thread(&mut log, thread, read)?;
        }
        log.into_inner().flush().map_err(WriteError::from)?;
        Ok(self.result)
    }
}

/// Returns whether a payload fits into an empty thread buffer.
fn fits(payload: &[u8]) -> bool {
    payload.len() as u64 <= BUFFER_BYTES - crate::write::MIN_BUFFER_BYTES
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
