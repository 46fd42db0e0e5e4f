//! Event records.

use trace_analyze::{arguments, carried, is_clock_anchor, Loss};
use trace_format::layout::InstantScope;
use trace_format::{Event, EventKind, Item, ThreadKoids, Value};

use super::annotations::number;
use super::exporter::PerfettoExporter;
use super::message::{Clock, ClockSnapshot, Kind, LegacyEvent, TracePacket, TrackEvent};
use super::packets::Use;
use super::tracks::{Uuid, ROOT};

/// `BuiltinClock`
const REALTIME: u32 = 1;
/// `BuiltinClock`; the clock of all times in the file.
const BOOTTIME: u32 = 6;

/// An event record, with its thread and its time in nanoseconds.
#[derive(Clone, Copy)]
pub(super) struct EventRecord<'r, 'a> {
    pub(super) item: &'r Item<'a>,
    pub(super) event: &'r Event<'a>,
    pub(super) koids: ThreadKoids,
    pub(super) nanos: u64,
}

impl PerfettoExporter {
    #[inline]
    pub(super) fn event<'a>(&mut self, item: &Item<'a>, event: &Event<'a>) {
        let (koids, nanos) = (item.thread(event.thread), item.nanos(event.ticks));
        let record = &EventRecord { item, event, koids, nanos };
        match event.kind {
            EventKind::DurationComplete { end } => self.duration(record, item.nanos(end)),
            EventKind::DurationBegin => {
                let track = self.tracks.thread(koids);
                self.plain(record, Kind::SliceBegin, track);
            }
            EventKind::DurationEnd => self.duration_end(record),
            // Samples have their weights.
            EventKind::Instant { .. } if self.samples.weights.note(item, event) => {}
            EventKind::Instant { scope } => {
                self.instant(record, scope.unwrap_or(InstantScope::Thread));
            }
            EventKind::Counter { id } => self.counter(record, id),
            EventKind::FlowBegin { id } => self.flow(record, b's', id),
            EventKind::FlowStep { id } => self.flow(record, b't', id),
            EventKind::FlowEnd { id } => self.flow(record, b'f', id),
            EventKind::AsyncBegin { id } => self.async_begin(record, id),
            EventKind::AsyncInstant { id } => self.async_event(record, Kind::Instant, id),
            EventKind::AsyncEnd { id } => self.async_event(record, Kind::SliceEnd, id),
        }
    }

    /// Returns an event with the category, name and arguments of a record.
    #[inline]
    pub(super) fn of_record(
        &mut self,
        record: &EventRecord<'_, '_>,
        kind: Kind,
        track: Uuid,
    ) -> TrackEvent {
        let EventRecord { item, event, .. } = *record;
        self.labelled(item, (kind, track), (event.category, event.name), &event.arguments)
    }

    #[inline]
    fn plain(&mut self, record: &EventRecord<'_, '_>, kind: Kind, track: Uuid) {
        let track_event = self.of_record(record, kind, track);
        self.timed(record.nanos, track_event);
    }

    #[inline]
    fn duration(&mut self, record: &EventRecord<'_, '_>, end: u64) {
        let start = record.nanos;
        self.conversion.reversed_durations += u64::from(end < start);
        let end = end.max(start);
        let track = self.tracks.for_duration(&mut self.packets, record.koids, (start, end));
        self.plain(record, Kind::SliceBegin, track);
        self.packets.slice_end(end, track);
    }

    /// Ends the innermost duration of this category and name. Either may be empty.
    fn duration_end(&mut self, record: &EventRecord<'_, '_>) {
        let EventRecord { item, event, .. } = *record;
        let track = self.tracks.thread(record.koids);
        let mut end = self.of_record(record, Kind::SliceEnd, track);
        // For Perfetto an empty string is a name that has to match.
        end.category_iid = end.category_iid.filter(|_| !item.text(event.category).is_empty());
        end.name_iid = end.name_iid.filter(|_| !item.text(event.name).is_empty());
        self.timed(record.nanos, end);
    }

    fn instant(&mut self, record: &EventRecord<'_, '_>, scope: InstantScope) {
        let EventRecord { item, event, koids, nanos } = *record;
        let track = match scope {
            InstantScope::Thread => self.tracks.thread(koids),
            InstantScope::Process => {
                let process = self.tracks.process(koids.process);
                self.tracks.named(&mut self.packets, process, "process events")
            }
            InstantScope::Global => self.tracks.named(&mut self.packets, ROOT, "global events"),
        };
        self.plain(record, Kind::Instant, track);
        if let Some(loss) = Loss::of(item, event) {
            self.loss(item, event, &loss, nanos);
        }
        if !self.has_time_of_day && is_clock_anchor(item, event) {
            self.time_of_day(item, event, nanos);
        }
    }

    /// Shows a loss as a slice. Losses of several threads may overlap: each has a track of its own,
    /// and Perfetto shows tracks of one name as one.
    #[cold]
    fn loss<'a>(&mut self, item: &Item<'a>, event: &Event<'a>, loss: &Loss<'a>, nanos: u64) {
        let process = self.tracks.process(loss.thread.process);
        let track = self.tracks.single(&mut self.packets, process, "lost records");
        let ticks = |name| {
            arguments::named_unsigned(item, &event.arguments, name).map(|ticks| item.nanos(ticks))
        };
        let to = ticks("to").unwrap_or(nanos);
        let from = ticks("from").unwrap_or(nanos).min(to);
        let name = format!("{} records dropped: {}", loss.number, loss.reason);
        let thread = Some(loss.thread.thread).filter(|thread| *thread != 0);
        let thread = thread.map(|thread| number("thread", thread));
        let annotations = [number("number", loss.number)].into_iter().chain(thread).collect();
        let mut begin = self.note(track, "trace", name, annotations);
        begin.kind = Some(Kind::SliceBegin as i32);
        self.packets.event(from, begin);
        self.packets.slice_end(to, track);
    }

    /// Writes the time of day of the first clock anchor. With several ones, Perfetto would require
    /// more exact clocks.
    #[cold]
    fn time_of_day<'a>(&mut self, item: &Item<'a>, event: &Event<'a>, nanos: u64) {
        let Some(realtime) = arguments::named_unsigned(item, &event.arguments, "realtime_ns")
        else {
            return;
        };
        self.has_time_of_day = true;
        let clock = |id, time| Clock { clock_id: Some(id), timestamp: Some(time) };
        let clocks = vec![clock(BOOTTIME, nanos), clock(REALTIME, realtime)];
        let clock_snapshot = Some(ClockSnapshot { clocks }.into());
        self.packets.packet(TracePacket { clock_snapshot, ..TracePacket::default() });
    }

    fn counter(&mut self, record: &EventRecord<'_, '_>, id: u64) {
        let EventRecord { item, event, koids, nanos } = *record;
        let process = self.tracks.process(koids.process);
        let label = self.catalog.label(item, event.category, event.name).0;
        for argument in &event.arguments {
            let value = counter_value(argument.value);
            let argument = item.text(argument.name);
            if carried::is_carried(&argument) {
                continue;
            }
            let Some((counter_value, double_counter_value)) = value else {
                self.conversion.counter_values_left_out += 1;
                continue;
            };
            let key = self.catalog.text(item, (&*argument).into());
            let name = || format!("{}:{argument}:{id}", item.text(event.name));
            let track = self.tracks.counter(&mut self.packets, process, (label, key, id), name);
            let (kind, track_uuid) = (Some(Kind::Counter as i32), Some(track));
            let sample = TrackEvent { kind, track_uuid, ..TrackEvent::default() };
            self.timed(nanos, TrackEvent { counter_value, double_counter_value, ..sample });
        }
    }

    fn flow(&mut self, record: &EventRecord<'_, '_>, phase: u8, id: u64) {
        let EventRecord { item, event, koids, nanos } = *record;
        let track_event = TrackEvent {
            track_uuid: Some(self.tracks.thread(koids)),
            category_iid: Some(self.string(Use::Category, item, event.category)),
            name_iid: Some(self.string(Use::Name, item, event.name)),
            legacy_event: Some(LegacyEvent {
                phase: Some(phase.into()),
                unscoped_id: Some(id),
                // Without `bp` in a document, a flow ends at the slice that begins next.
                bind_to_enclosing: Some(!carried::lacks(item, &event.arguments, "bp")),
            }),
            ..TrackEvent::default()
        };
        self.timed(nanos, track_event);
        let mut names = event.arguments.iter().map(|argument| item.text(argument.name));
        if names.any(|name| !carried::is_carried(&name)) {
            self.flow_arguments(record);
        }
    }

    /// Shows the arguments of a flow event, which Perfetto cannot store, as an instant. An instant
    /// on the thread's track would become the end of the next arrow.
    fn flow_arguments(&mut self, record: &EventRecord<'_, '_>) {
        let process = self.tracks.process(record.koids.process);
        let track = self.tracks.named(&mut self.packets, process, "flow events");
        let mut instant = self.of_record(record, Kind::Instant, track);
        instant.debug_annotations.push(number("thread", record.koids.thread));
        self.timed(record.nanos, instant);
    }
}

/// Returns a counter's value as an integer or as a double; `None` if it is not a finite number.
fn counter_value(value: Value<'_>) -> Option<(Option<i64>, Option<f64>)> {
    let integer = match value {
        Value::Int32(value) => value.into(),
        Value::Uint32(value) => value.into(),
        Value::Int64(value) => value,
        Value::Uint64(value) => match i64::try_from(value) {
            Ok(value) => value,
            Err(_) => return Some((None, Some(value as f64))),
        },
        Value::Double(value) if value.is_finite() => return Some((None, Some(value))),
        _ => return None,
    };
    Some((Some(integer), None))
}
