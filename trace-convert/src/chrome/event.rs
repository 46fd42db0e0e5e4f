//! Event records.

use trace_format::layout::InstantScope;
use trace_format::{Event, EventKind, Item};

use super::exporter::{Head, JsonExporter};
use crate::rewrite::{self, has_tick_arguments};

impl JsonExporter {
    #[inline]
    pub(super) fn event<'a>(&mut self, item: &Item<'a>, event: &Event<'a>) {
        let thread = item.thread(event.thread);
        let start = item.nanos(event.ticks);
        let nanos = match self.documents.has(item) {
            true => start,
            false => self.begins.written_at(start, thread, event.kind),
        };
        self.begin(&Head {
            phase: phase(event.kind),
            category: &item.text(event.category),
            name: &item.text(event.name),
            nanos,
            thread,
        });
        match event.kind {
            EventKind::Counter { id } => self.counter(item, event, id),
            EventKind::DurationComplete { end } => {
                let end = item.nanos(end);
                self.length(nanos, if end < start { end } else { end.max(nanos) });
                self.arguments(item, &event.arguments);
            }
            EventKind::Instant { .. } if has_tick_arguments(item, event) => {
                self.kind_members(event.kind);
                let mut buffer = rewrite::argument_buffer();
                let record = rewrite::with_nanos(item, &mut buffer, |ticks| item.nanos(ticks));
                self.arguments(item, &record.arguments());
            }
            kind => {
                self.kind_members(kind);
                self.arguments(item, &event.arguments);
            }
        }
        self.end();
    }

    #[inline]
    pub(super) fn length(&mut self, start: u64, end: u64) {
        self.json.raw(",\"dur\":");
        self.json.micros(end.saturating_sub(start));
        if end < start {
            self.conversion.reversed_durations += 1;
        }
    }

    fn counter<'a>(&mut self, item: &Item<'a>, event: &Event<'a>, id: u64) {
        if id != 0 {
            self.id(id);
        }
        self.counter_values(item, &event.arguments);
    }

    /// Adds the members that only this kind of event has.
    #[inline]
    fn kind_members(&mut self, kind: EventKind) {
        match kind {
            EventKind::Instant { scope } => self.scope(scope.unwrap_or(InstantScope::Thread)),
            EventKind::AsyncBegin { id }
            | EventKind::AsyncInstant { id }
            | EventKind::AsyncEnd { id } => self.local_id(id),
            EventKind::FlowBegin { id } => self.id(id),
            EventKind::FlowStep { id } | EventKind::FlowEnd { id } => {
                self.id(id);
                // Binds to the enclosing duration, not to the next one.
                self.json.raw(",\"bp\":\"e\"");
            }
            _ => {}
        }
    }

    pub(super) fn scope(&mut self, scope: InstantScope) {
        self.json.raw(",\"s\":");
        self.json.plain(scope_letter(scope));
    }

    /// Adds an id within the process. The member `id` would be global.
    fn local_id(&mut self, id: u64) {
        self.json.raw(",\"id2\":{\"local\":");
        self.json.hex(id);
        self.json.raw("}");
    }

    pub(super) fn id(&mut self, id: u64) {
        self.json.raw(",\"id\":");
        self.json.hex(id);
    }
}

pub(super) fn scope_letter(scope: InstantScope) -> &'static str {
    match scope {
        InstantScope::Thread => "t",
        InstantScope::Process => "p",
        InstantScope::Global => "g",
    }
}

pub(super) fn phase(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Instant { .. } => "i",
        EventKind::Counter { .. } => "C",
        EventKind::DurationBegin => "B",
        EventKind::DurationEnd => "E",
        EventKind::DurationComplete { .. } => "X",
        EventKind::AsyncBegin { .. } => "b",
        EventKind::AsyncInstant { .. } => "n",
        EventKind::AsyncEnd { .. } => "e",
        EventKind::FlowBegin { .. } => "s",
        EventKind::FlowStep { .. } => "t",
        EventKind::FlowEnd { .. } => "f",
    }
}
