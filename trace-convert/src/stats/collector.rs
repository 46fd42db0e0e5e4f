//! One pass over an archive.

use trace_format::{Event, EventKind, Item, Record, ThreadKoids};

use super::counters::Counters;
use super::table::{Groups, Table};
use super::{Grouping, Report};
use crate::catalog::LabelId;
use crate::links::{Begin, Key, Links};
use crate::references::peek_thread;
use crate::schedule::Schedule;
use crate::spans::{Span, Spans};

/// What was found so far.
#[derive(Debug)]
pub(super) struct Collector<'s> {
    spans: Spans,
    found: Found<'s>,
    instants: Table,
    operations: Table,
    open_operations: Links,
    flows: Table,
    open_flows: Links,
    counters: Counters,
    context_switches: u64,
}

/// What durations are added to.
#[derive(Debug)]
struct Found<'s> {
    groups: Groups,
    durations: Table,
    schedule: Option<&'s Schedule>,
}

impl<'s> Collector<'s> {
    pub(super) fn new(grouping: Grouping, schedule: Option<&'s Schedule>) -> Self {
        let groups = Groups::new(grouping);
        Self {
            spans: Spans::default(),
            found: Found { groups, durations: Table::default(), schedule },
            instants: Table::default(),
            operations: Table::default(),
            open_operations: Links::default(),
            flows: Table::default(),
            open_flows: Links::default(),
            counters: Counters::default(),
            context_switches: 0,
        }
    }

    #[inline]
    pub(super) fn record(&mut self, item: &Item<'_>) {
        let found = &mut self.found;
        self.spans.record(item, &mut |span| found.span(&span));
        match &item.record {
            Record::Event(event) => match event.kind {
                EventKind::DurationBegin
                | EventKind::DurationEnd
                | EventKind::DurationComplete { .. } => {}
                kind => self.other_event(item, event, kind),
            },
            Record::ContextSwitch(_) | Record::LegacyContextSwitch(_) => self.context_switches += 1,
            _ => {}
        }
    }

    fn other_event(&mut self, item: &Item<'_>, event: &Event<'_>, kind: EventKind) {
        let thread = peek_thread(item, event.thread);
        let catalog = self.spans.catalog_mut();
        let label = catalog.label(item, event.category, event.name);
        let begin = Begin { nanos: item.nanos(event.ticks), thread };
        let operation = |id| Key { process: thread.process, label, id };
        let flow = |id| Key { process: 0, label, id };
        match kind {
            EventKind::Instant { .. } => {
                let group = self.found.groups.of(thread);
                self.instants.row(group, label).lengths.add(0);
            }
            EventKind::Counter { id } => {
                let group = self.found.groups.of(ThreadKoids::new(thread.process, 0));
                self.counters.event(catalog, group, item, event, id);
            }
            EventKind::AsyncBegin { id } => {
                let end = self.open_operations.begin(operation(id), begin);
                self.found.link(
                    &mut self.operations,
                    label,
                    end.and(Some(begin)),
                    end.unwrap_or(0),
                );
            }
            EventKind::AsyncEnd { id } => {
                let found = self.open_operations.end(operation(id), begin.nanos);
                self.found.link(&mut self.operations, label, found, begin.nanos);
            }
            EventKind::FlowBegin { id } => {
                let end = self.open_flows.begin(flow(id), begin);
                self.found.link(&mut self.flows, label, end.and(Some(begin)), end.unwrap_or(0));
            }
            EventKind::FlowEnd { id } => {
                let found = self.open_flows.end(flow(id), begin.nanos);
                self.found.link(&mut self.flows, label, found, begin.nanos);
            }
            _ => {}
        }
    }

    pub(super) fn report(mut self) -> Report {
        let found = &mut self.found;
        let oddities = self.spans.finish(&mut |span| found.span(&span));
        let (groups, catalog) = (&self.found.groups, self.spans.catalog());
        Report {
            durations: self.found.durations.into_rows(groups, catalog),
            operations: self.operations.into_rows(groups, catalog),
            flows: self.flows.into_rows(groups, catalog),
            counters: self.counters.into_rows(groups, catalog),
            instants: self.instants.into_rows(groups, catalog),
            context_switches: self.context_switches,
            oddities,
            links_without_end: self.open_operations.without_end() + self.open_flows.without_end(),
            links_without_begin: self.open_operations.without_begin()
                + self.open_flows.without_begin(),
            ..Report::default()
        }
    }
}

impl Found<'_> {
    /// Adds what began and ended to its row, if both are known.
    fn link(&mut self, table: &mut Table, label: LabelId, begin: Option<Begin>, end: u64) {
        if let Some(begin) = begin {
            let row = table.row(self.groups.of(begin.thread), label);
            row.lengths.add(end.saturating_sub(begin.nanos));
        }
    }

    #[inline]
    fn span(&mut self, span: &Span) {
        let group = self.groups.of(span.koids);
        let row = self.durations.row(group, span.label);
        row.lengths.add(span.nanos());
        row.self_nanos = row.self_nanos.saturating_add(span.self_nanos());
        if let Some(schedule) = self.schedule {
            let (from, to) = (span.rate.to_nanos(span.begin), span.rate.to_nanos(span.end));
            if let Some(nanos) = schedule.on_cpu(span.koids.thread, from, to) {
                let sum = row.on_cpu_nanos.get_or_insert(0);
                *sum = sum.saturating_add(nanos);
            }
        }
    }
}
