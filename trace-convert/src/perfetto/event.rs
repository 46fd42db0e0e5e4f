//! Event records.

use trace_format::layout::InstantScope;
use trace_format::{Event, EventKind, Item, ThreadKoids, Value};

use super::annotations::number;
use super::exporter::PerfettoExporter;
use super::message::{Clock, ClockSnapshot, Kind, LegacyEvent, TracePacket, TrackEvent};
use super::packets::Use;
use super::tracks::{Uuid, ROOT};
use trace_analyze::arguments;
use trace_analyze::carried;
use trace_analyze::{is_clock_anchor, Loss};

/// `BuiltinClock`
const REALTIME: u32 = 1;
/// `BuiltinClock`; the clock of all times in the file.
const BOOTTIME: u32 = 6;

impl PerfettoExporter {
    #[inline]
    pub(super) fn event<'a>(&mut self, item: &Item<'a>, event: &Event<'a>) {
        let nanos = item.nanos(event.ticks);
        let koids = item.thread(event.thread);
        match event.kind {
            EventKind::DurationComplete { end } => {
                self.duration(item, event, koids, (nanos, item.nanos(end)));
            }
            EventKind::DurationBegin => {
                let track = self.tracks.thread(koids);
                self.plain(item, event, (Kind::SliceBegin, track), nanos);
            }
            EventKind::DurationEnd => self.duration_end(item, event, koids, nanos),
            EventKind::Instant { scope } => {
                self.instant(item, event, koids, (nanos, scope.unwrap_or(InstantScope::Thread)));
            }
            EventKind::Counter { id } => self.counter(item, event, koids, (nanos, id)),
            EventKind::FlowBegin { id } => self.flow(item, event, koids, (nanos, b's', id)),
            EventKind::FlowStep { id } => self.flow(item, event, koids, (nanos, b't', id)),
            EventKind::FlowEnd { id } => self.flow(item, event, koids, (nanos, b'f', id)),
            EventKind::AsyncBegin { id } => self.async_begin(item, event, koids, (nanos, id)),
            EventKind::AsyncInstant { id } => {
                self.async_event(item, event, koids, (Kind::Instant, nanos, id));
            }
            EventKind::AsyncEnd { id } => {
                self.async_event(item, event, koids, (Kind::SliceEnd, nanos, id));
            }
        }
    }

    /// Writes an event with its category, name and arguments.
    #[inline]
    fn plain<'a>(
        &mut self,
        item: &Item<'a>,
        event: &Event<'a>,
        (kind, track): (Kind, Uuid),
        nanos: u64,
    ) {
        let mut made = self.labelled(item, (kind, track), (event.category, event.name));
        made.debug_annotations = self.annotations(item, &event.arguments);
        self.timed(nanos, made);
    }

    #[inline]
    fn duration<'a>(
        &mut self,
        item: &Item<'a>,
        event: &Event<'a>,
        koids: ThreadKoids,
        (start, end): (u64, u64),
    ) {
        self.conversion.reversed_durations += u64::from(end < start);
        let end = end.max(start);
        let track = self.tracks.for_duration(&mut self.packets, koids, (start, end));
        self.plain(item, event, (Kind::SliceBegin, track), start);
        self.packets.event(end, slice_end(track));
    }

    /// Closes the innermost duration of this category and name; either may be empty.
    fn duration_end<'a>(
        &mut self,
        item: &Item<'a>,
        event: &Event<'a>,
        koids: ThreadKoids,
        nanos: u64,
    ) {
        let place = (Kind::SliceEnd, self.tracks.thread(koids));
        let mut made = self.labelled(item, place, (event.category, event.name));
        // Perfetto takes an empty string for a name of its own.
        made.category_iid = made.category_iid.filter(|_| !item.text(event.category).is_empty());
        made.name_iid = made.name_iid.filter(|_| !item.text(event.name).is_empty());
        made.debug_annotations = self.annotations(item, &event.arguments);
        self.timed(nanos, made);
    }

    fn instant<'a>(
        &mut self,
        item: &Item<'a>,
        event: &Event<'a>,
        koids: ThreadKoids,
        (nanos, scope): (u64, InstantScope),
    ) {
        let track = match scope {
            InstantScope::Thread => self.tracks.thread(koids),
            InstantScope::Process => {
                let process = self.tracks.process(koids.process);
                self.tracks.named(&mut self.packets, process, "process events")
            }
            InstantScope::Global => self.tracks.named(&mut self.packets, ROOT, "global events"),
        };
        self.plain(item, event, (Kind::Instant, track), nanos);
        if let Some(loss) = Loss::of(item, event) {
            self.loss(item, event, &loss, nanos);
        }
        if !self.has_time_of_day && is_clock_anchor(item, event) {
            self.time_of_day(item, event, nanos);
        }
    }

    /// Shows a loss over its time. Losses of several threads may overlap: each
    /// has a track, which are shown as one.
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
        let mut made = self.note(track, "trace", name);
        made.kind = Some(Kind::SliceBegin as i32);
        made.debug_annotations =
            vec![number("number", loss.number), number("thread", loss.thread.thread)];
        self.packets.event(from, made);
        self.packets.event(to, slice_end(track));
    }

    /// Tells the time of day by the first clock anchor. More would have to
    /// agree with each other better than two clocks do.
    #[cold]
    fn time_of_day<'a>(&mut self, item: &Item<'a>, event: &Event<'a>, nanos: u64) {
        let Some(realtime) = arguments::named_unsigned(item, &event.arguments, "realtime_ns")
        else {
            return;
        };
        self.has_time_of_day = true;
        let clock = |id, time| Clock { clock_id: Some(id), timestamp: Some(time) };
        let clocks = vec![clock(BOOTTIME, nanos), clock(REALTIME, realtime)];
        let clock_snapshot = Some(ClockSnapshot { clocks });
        self.packets.packet(TracePacket { clock_snapshot, ..TracePacket::default() });
    }

    fn counter<'a>(
        &mut self,
        item: &Item<'a>,
        event: &Event<'a>,
        koids: ThreadKoids,
        (nanos, id): (u64, u64),
    ) {
        let process = self.tracks.process(koids.process);
        let label = self.catalog.label(item, event.category, event.name).0;
        let _ = (item.text(event.category), item.text(event.name));
        for argument in &event.arguments {
            let value = CounterValue::of(argument.value);
            let argument = item.text(argument.name);
            if carried::is_carried(&argument) {
                continue;
            }
            let Some(value) = value else {
                self.conversion.counter_values_left_out += 1;
                continue;
            };
            let key = self.catalog.text(item, (&*argument).into());
            let name = || format!("{}:{argument}:{id}", item.text(event.name));
            let track = self.tracks.counter(&mut self.packets, process, (label, key, id), name);
            self.timed(nanos, value.event(track));
        }
    }

    fn flow<'a>(
        &mut self,
        item: &Item<'a>,
        event: &Event<'a>,
        koids: ThreadKoids,
        (nanos, phase, id): (u64, u8, u64),
    ) {
        let made = TrackEvent {
            track_uuid: Some(self.tracks.thread(koids)),
            category_iid: Some(self.string(Use::Category, item, event.category)),
            name_iid: Some(self.string(Use::Name, item, event.name)),
            legacy_event: Some(LegacyEvent {
                phase: Some(phase.into()),
                unscoped_id: Some(id),
                // To the slice that begins next, as without `bp` in a document.
                bind_to_enclosing: Some(!carried::lacks(item, &event.arguments, "bp")),
            }),
            ..TrackEvent::default()
        };
        self.timed(nanos, made);
        let mut names = event.arguments.iter().map(|argument| item.text(argument.name));
        if names.any(|name| !carried::is_carried(&name)) {
            self.flow_arguments(item, event, koids, nanos);
        }
    }

    /// Shows the arguments of a flow's event, for which Perfetto has no place,
    /// with an instant. On the thread's track the next arrow would end at it, and
    /// not at the slice that is open there.
    fn flow_arguments<'a>(
        &mut self,
        item: &Item<'a>,
        event: &Event<'a>,
        koids: ThreadKoids,
        nanos: u64,
    ) {
        let process = self.tracks.process(koids.process);
        let track = self.tracks.named(&mut self.packets, process, "flow events");
        let mut made = self.labelled(item, (Kind::Instant, track), (event.category, event.name));
        made.debug_annotations = self.annotations(item, &event.arguments);
        made.debug_annotations.push(number("thread", koids.thread));
        self.timed(nanos, made);
    }
}

/// A value of a counter.
#[derive(Debug, Clone, Copy)]
enum CounterValue {
    Int(i64),
    Double(f64),
}

impl CounterValue {
    fn of(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Int32(value) => Some(Self::Int(value.into())),
            Value::Uint32(value) => Some(Self::Int(value.into())),
            Value::Int64(value) => Some(Self::Int(value)),
            Value::Uint64(value) => {
                Some(i64::try_from(value).map_or(Self::Double(value as f64), Self::Int))
            }
            Value::Double(value) if value.is_finite() => Some(Self::Double(value)),
            _ => None,
        }
    }

    fn event(self, track: Uuid) -> TrackEvent {
        let (counter_value, double_counter_value) = match self {
            Self::Int(value) => (Some(value), None),
            Self::Double(value) => (None, Some(value)),
        };
        let (kind, track_uuid) = (Some(Kind::Counter as i32), Some(track));
        TrackEvent {
            kind,
            track_uuid,
            counter_value,
            double_counter_value,
            ..TrackEvent::default()
        }
    }
}

/// Returns the end of what is open on a track.
pub(super) fn slice_end(track: Uuid) -> TrackEvent {
    let (kind, track_uuid) = (Some(Kind::SliceEnd as i32), Some(track));
    TrackEvent { kind, track_uuid, ..TrackEvent::default() }
}
