//! Reads an archive for a timeline.

use std::collections::{BTreeMap, HashMap};

use trace_format::layout::InstantScope;
use trace_format::{Event, EventKind, Item, Record, Text, ThreadKoids};

use super::arguments;
use super::cpu::Cpus;
use super::durations::Durations;
use super::flows::{Flows, Stop};
use super::notes::{notes, Undrawn};
use super::rows::{nested, Group, Loss, Point, PointKind, Row, Slice};
use super::series::Counters;

use super::{Timeline, DETAIL_BYTES};
use trace_analyze::arguments::{named_unsigned, process_of};
use trace_analyze::catalog::Catalog;
use trace_analyze::pairing::{Edge, Unpaired};
use trace_analyze::scheduling::Switch;
use trace_analyze::{is_clock_anchor, Damage};

/// The minimum limit of memory for strings and arguments.
const MIN_DETAIL_BYTES: u64 = 1 << 20;

/// The most threads whose process is kept.
const MAX_OWNERS: usize = 1 << 20;

/// The timeline so far.
#[derive(Debug, Default)]
pub(super) struct TimelineCollector {
    limit: u64,
    events: u64,
    left_out: u64,
    reversed: u64,
    undrawn: Undrawn,
    catalog: Catalog,
    arguments: Vec<u8>,
    threads: BTreeMap<ThreadKoids, ThreadParts>,
    /// The process of each named thread, also of those without a row.
    owners: HashMap<u64, u64>,
    durations: Durations,
    counters: Counters,
    flows: Flows,
    cpus: Cpus,
    range: Option<(u64, u64)>,
    view: Option<(u64, u64)>,
}

/// The contents of a thread's row.
#[derive(Debug, Default)]
struct ThreadParts {
    slices: Vec<Slice>,
    points: Vec<Point>,
    losses: Vec<Loss>,
}

impl TimelineCollector {
    pub(super) fn new(limit: u64) -> Self {
        Self { limit, ..Self::default() }
    }

    pub(super) fn record(&mut self, item: &Item<'_>) {
        self.catalog.note(item);
        self.note_owner(item);
        if !is_drawn(&item.record) {
            self.undrawn.note(item);
        } else if self.is_full() {
            self.left_out += 1;
        } else {
            self.events += 1;
            self.drawn(item);
        }
    }

    fn note_owner(&mut self, item: &Item<'_>) {
        let Record::KernelObject(object) = &item.record else { return };
        let process = process_of(item, object);
        if let Some(process) = process.filter(|_| self.owners.len() < MAX_OWNERS) {
            self.owners.insert(object.koid, process);
        }
    }

    /// Returns whether the limit of events or of memory is reached.
    fn is_full(&self) -> bool {
        let details = self.arguments.len() as u64 + self.catalog.string_bytes() as u64;
        self.events >= self.limit
            || details > self.limit.saturating_mul(DETAIL_BYTES).max(MIN_DETAIL_BYTES)
    }

    fn drawn(&mut self, item: &Item<'_>) {
        match &item.record {
            Record::Event(event) => self.event(item, event),
            Record::Log(log) => {
                let message = Text::Inline(log.message);
                let label = self.catalog.label(item, Text::Inline(b"log"), message);
                let point =
                    Point { at: item.nanos(log.ticks), label, arguments: 0, kind: PointKind::Log };
                self.extend(point.at, true);
                self.thread(item.thread(log.thread)).points.push(point);
            }
            Record::LargeBlob(blob) => {
                let Some(event) = &blob.event else { return };
                let label = self.catalog.label(item, blob.category, blob.name);
                let event_arguments = self.add_arguments(item, &event.arguments);
                let bytes = self.catalog.intern("bytes");
                let length = blob.payload.len() as u64;
                let length = arguments::add_number(&mut self.arguments, bytes, length, false);
                let arguments = arguments::join(&mut self.arguments, length, event_arguments);
                let at = item.nanos(event.ticks);
                self.extend(at, true);
                let point = Point { at, label, arguments, kind: PointKind::Blob };
                self.thread(item.thread(event.thread)).points.push(point);
            }
            _ => self.scheduling(item),
        }
    }

    fn scheduling(&mut self, item: &Item<'_>) {
        if let Some(switch) = Switch::of(item) {
            let arguments = self.add_arguments(item, &item.record.arguments());
            self.extend(switch.nanos, true);
            return self.cpus.switch(switch, arguments);
        }
        if let Record::ThreadWakeup(wakeup) = &item.record {
            let label = self.catalog.label(item, Text::Inline(b"cpu"), Text::Inline(b"wake-up"));
            let name = self.catalog.intern("thread");
            let koid = arguments::add_number(&mut self.arguments, name, wakeup.thread, true);
            let wakeup_arguments = self.add_arguments(item, &wakeup.arguments);
            let arguments = arguments::join(&mut self.arguments, koid, wakeup_arguments);
            let at = item.nanos(wakeup.ticks);
            self.extend(at, true);
            let point = Point { at, label, arguments, kind: PointKind::Wakeup };
            self.cpus.wakeup((item.provider.id(), wakeup.cpu), point);
        }
    }

    fn event(&mut self, item: &Item<'_>, event: &Event<'_>) {
        let thread = item.thread(event.thread);
        let at = item.nanos(event.ticks);
        if let Some(loss) = trace_analyze::Loss::of(item, event) {
            return self.loss(item, event, &loss);
        }
        // Samples are not drawn.
        if crate::weights::of_event(item, event).is_some() {
            return;
        }
        let label = self.catalog.label(item, event.category, event.name);
        let own = matches!(event.kind, EventKind::Instant { .. })
            && self.catalog.category(label) == "trace";
        self.extend(at, !own);
        if own && is_clock_anchor(item, event) {
            self.cpus.recorded_until(at);
        }
        if let Some(gap) = trace_analyze::Gap::of_interruption(item, event) {
            let (from, to) = (item.nanos(gap.from), item.nanos(gap.to));
            self.cpus.interrupted(item.provider.id(), from, to);
        }
        match event.kind {
            EventKind::Counter { id } => {
                let key = (thread.process, label, id);
                return self.counters.event(&mut self.catalog, item, event, key);
            }
            EventKind::FlowBegin { id }
            | EventKind::FlowStep { id }
            | EventKind::FlowEnd { id } => {
                self.thread(thread);
                let is_begin = matches!(event.kind, EventKind::FlowBegin { .. });
                return self.flows.stop(label, id, Stop { at, thread, is_begin });
            }
            _ => {}
        }
        let arguments = self.add_arguments(item, &event.arguments);
        let point = |kind| Point { at, label, arguments, kind };
        match event.kind {
            EventKind::Instant { scope } => {
                self.thread(thread).points.push(point(point_kind(scope)));
            }
            EventKind::AsyncInstant { id } => {
                self.durations.point(thread.process, id, point(PointKind::Operation));
            }
            EventKind::DurationComplete { end } => {
                self.reversed += u64::from(end < event.ticks);
                let end = item.nanos(end).max(at);
                self.extend(end, true);
                let order = self.durations.order();
                let slice = Slice { begin: at, end, label, arguments, order, is_open: false };
                self.thread(thread).slices.push(slice);
            }
            kind => {
                if matches!(kind, EventKind::DurationBegin | EventKind::DurationEnd) {
                    self.thread(thread);
                }
                if let Some(edge) = Edge::of(&mut self.catalog, item, event, arguments) {
                    self.durations.push(&self.catalog, edge);
                }
            }
        }
    }

    fn loss(&mut self, item: &Item<'_>, event: &Event<'_>, loss: &trace_analyze::Loss<'_>) {
        let at = item.nanos(event.ticks);
        let time = |name| named_unsigned(item, &event.arguments, name);
        let from = time("from").map_or(at, |ticks| item.nanos(ticks));
        let to = time("to").map_or(at, |ticks| item.nanos(ticks)).max(from);
        self.extend(from, true);
        self.extend(to, true);
        let reason = self.catalog.intern(&loss.reason);
        let thread = loss.thread;
        let loss = Loss { from, to, number: loss.number, reason };
        self.thread(thread).losses.push(loss);
    }

    fn add_arguments<'a>(
        &mut self,
        item: &Item<'a>,
        arguments: &trace_format::Arguments<'a>,
    ) -> u32 {
        arguments::add(&mut self.arguments, &mut self.catalog, item, arguments)
    }

    fn thread(&mut self, koids: ThreadKoids) -> &mut ThreadParts {
        self.threads.entry(koids).or_default()
    }

    /// Extends the range of times to `at`, and the initial view as well if `is_seen`.
    fn extend(&mut self, at: u64, is_seen: bool) {
        let extended = |range: Option<(u64, u64)>| {
            let (first, last) = range.unwrap_or((at, at));
            Some((first.min(at), last.max(at)))
        };
        self.range = extended(self.range);
        if is_seen {
            self.view = extended(self.view);
        }
    }

    pub(super) fn finish(mut self, damage: Damage) -> Timeline {
        let range = self.range.unwrap_or_default();
        let view = self.view.unwrap_or(range);
        let others =
            self.owners.iter().map(|(thread, process)| ThreadKoids::new(*process, *thread));
        let named = others.chain(self.threads.keys().copied());
        let name = |koids: ThreadKoids| (koids.thread, thread_name(&self.catalog, koids));
        let names: HashMap<u64, String> = named.map(name).collect();
        let cpus = std::mem::take(&mut self.cpus);
        let cpus = cpus.group(range, &mut self.catalog, |_, koid| match names.get(&koid) {
            Some(name) => name.clone(),
            None => format!("thread {koid}"),
        });
        let of_counters = self.counters.not_drawn;
        let (processes, places) = self.processes(view.1, cpus.as_ref());
        let groups: Vec<Group> = cpus.into_iter().chain(processes).collect();
        let rows: Vec<&Row> = groups.iter().flat_map(|group| &group.rows).collect();
        let arrows = std::mem::take(&mut self.flows).arrows(&places.koids, &rows);
        let Self { catalog, arguments, events, left_out, reversed, undrawn, .. } = self;
        let notes = notes(&damage, places.unpaired, &undrawn, of_counters);
        Timeline {
            catalog,
            arguments,
            groups,
            arrows,
            range,
            view,
            notes,
            events,
            left_out,
            not_drawn: undrawn.number(),
            reversed,
            damage,
        }
    }

    /// Returns the rows of all processes, and the rows of the threads.
    fn processes(&mut self, last: u64, cpus: Option<&Group>) -> (Vec<Group>, Places) {
        let mut places = Places::default();
        let mut durations = std::mem::take(&mut self.durations);
        let threads = &mut self.threads;
        durations.pair(last, &mut self.catalog, &mut self.arguments, |koids, slice| {
            threads.entry(koids).or_default().slices.push(slice);
        });
        places.unpaired = durations.unpaired;
        // A process starts with the rows of its threads.
        let mut processes: BTreeMap<u64, (Vec<ThreadKoids>, Vec<Row>)> = BTreeMap::new();
        for (koids, parts) in std::mem::take(&mut self.threads) {
            let row = self.thread_row(koids, parts);
            let (threads, rows) = processes.entry(koids.process).or_default();
            threads.push(koids);
            rows.push(row);
        }
        let operations = durations.rows(&self.catalog);
        let counters = std::mem::take(&mut self.counters).rows(&self.catalog);
        for (process, row) in operations.into_iter().chain(counters) {
            processes.entry(process).or_default().1.push(row);
        }
        let mut place = cpus.map_or(0, |cpus| cpus.rows.len());
        let mut groups = Vec::with_capacity(processes.len());
        for (process, (threads, rows)) in processes {
            let numbered = threads.into_iter().zip(place as u32..);
            places.koids.extend(numbered);
            place += rows.len();
            groups.push(Group { name: process_name(&self.catalog, process), rows });
        }
        (groups, places)
    }

    fn thread_row(&self, koids: ThreadKoids, mut parts: ThreadParts) -> Row {
        parts.points.sort_by_key(|point| point.at);
        parts.losses.sort_by_key(|loss| loss.from);
        Row {
            name: thread_name(&self.catalog, koids),
            lanes: nested(parts.slices),
            points: parts.points,
            losses: parts.losses,
            ..Row::default()
        }
    }
}

/// The rows of threads, and the unpaired events.
#[derive(Debug, Default)]
struct Places {
    koids: HashMap<ThreadKoids, u32>,
    /// Unpaired events of threads, and of operations.
    unpaired: [Unpaired; 2],
}

fn is_drawn(record: &Record<'_>) -> bool {
    match record {
        Record::Event(_)
        | Record::Log(_)
        | Record::ContextSwitch(_)
        | Record::LegacyContextSwitch(_)
        | Record::ThreadWakeup(_) => true,
        Record::LargeBlob(blob) => blob.event.is_some(),
        _ => false,
    }
}

fn point_kind(scope: Option<InstantScope>) -> PointKind {
    match scope {
        Some(InstantScope::Global) => PointKind::Global,
        Some(InstantScope::Process) => PointKind::Process,
        _ => PointKind::Thread,
    }
}

fn thread_name(catalog: &Catalog, koids: ThreadKoids) -> String {
    match (catalog.thread_name(koids), koids) {
        ("", ThreadKoids::UNKNOWN) => "no thread".into(),
        ("", ThreadKoids { thread: 0, .. }) => "several threads".into(),
        ("", ThreadKoids { thread, .. }) => format!("thread {thread}"),
        // Koids beyond 32 bits are artificial: they are those of tracks.
        (name, ThreadKoids { thread, .. }) if thread > u32::MAX.into() => name.to_owned(),
        (name, ThreadKoids { thread, .. }) => format!("{name} ({thread})"),
    }
}

fn process_name(catalog: &Catalog, process: u64) -> String {
    match (catalog.process_name(process), process) {
        ("", 0) => "no process".into(),
        ("", process) => format!("process {process}"),
        (name, process) => format!("{name} ({process})"),
    }
}
