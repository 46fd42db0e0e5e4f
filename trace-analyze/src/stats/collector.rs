//! One pass over an archive.

use trace_format::{Event, EventKind, Item, Record, ThreadKoids};

use super::counters::Counters;
use super::table::{Groups, Table};
use super::{Grouping, Report};
use crate::links::{Key, Links, Moment, Unpaired};
use crate::schedule::Schedule;
use crate::spans::{Span, Spans};

/// What was found so far.
#[derive(Debug)]
pub(super) struct Collector<'s> {
    spans: Spans,
    found: Found<'s>,
    instants: Table,
    operations: Linked,
    flows: Linked,
    counters: Counters,
    context_switches: u64,
}

/// Operations or flows.
#[derive(Debug)]
struct Linked {
    rows: Table,
    links: Links,
}

impl Linked {
    fn begin(&mut self, groups: &mut Groups, key: Key, at: Moment) {
        self.links.begin(key, at, &mut |link| self.rows.link(groups, &link));
    }

    fn end(&mut self, groups: &mut Groups, key: Key, at: Moment) {
        self.links.end(key, at, &mut |link| self.rows.link(groups, &link));
    }

    fn finish(&mut self, groups: &mut Groups) -> Unpaired {
        self.links.finish(&mut |link| self.rows.link(groups, &link))
    }
}

/// What durations are added to.
#[derive(Debug)]
struct Found<'s> {
    groups: Groups,
    durations: Table,
    schedule: Option<&'s Schedule>,
}

impl<'s> Collector<'s> {
    pub(super) fn new(
        grouping: Grouping,
        schedule: Option<&'s Schedule>,
        is_sampled: bool,
    ) -> Self {
        let groups = Groups::new(grouping);
        let linked = || Linked { rows: Table::new(is_sampled), links: Links::default() };
        Self {
            spans: Spans::default(),
            found: Found { groups, durations: Table::new(is_sampled), schedule },
            instants: Table::default(),
            operations: linked(),
            flows: linked(),
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
        let thread = item.thread(event.thread);
        let catalog = self.spans.catalog_mut();
        let label = catalog.label(item, event.category, event.name);
        let at = Moment { nanos: item.nanos(event.ticks), thread };
        let operation = |id| Key { process: thread.process, label, id };
        let flow = |id| Key { process: 0, label, id };
        let groups = &mut self.found.groups;
        match kind {
            EventKind::Instant { .. } => {
                let group = groups.of(thread);
                self.instants.row(group, label).lengths.add(0);
            }
            EventKind::Counter { id } => {
                let group = groups.of(ThreadKoids::new(thread.process, 0));
                self.counters.event(catalog, group, item, event, id);
            }
            EventKind::AsyncBegin { id } => self.operations.begin(groups, operation(id), at),
            EventKind::AsyncEnd { id } => self.operations.end(groups, operation(id), at),
            EventKind::FlowBegin { id } => self.flows.begin(groups, flow(id), at),
            EventKind::FlowEnd { id } => self.flows.end(groups, flow(id), at),
            _ => {}
        }
    }

    pub(super) fn report(mut self) -> Report {
        let found = &mut self.found;
        let oddities = self.spans.finish(&mut |span| found.span(&span));
        let unpaired_operations = self.operations.finish(&mut self.found.groups);
        let unpaired_flows = self.flows.finish(&mut self.found.groups);
        let (groups, catalog) = (&self.found.groups, self.spans.catalog());
        Report {
            categories: catalog.categories(),
            durations: self.found.durations.into_rows(groups, catalog),
            operations: self.operations.rows.into_rows(groups, catalog),
            flows: self.flows.rows.into_rows(groups, catalog),
            counter_values_left_out: self.counters.left_out,
            counters: self.counters.into_rows(groups, catalog),
            instants: self.instants.into_rows(groups, catalog),
            context_switches: self.context_switches,
            oddities,
            unpaired_operations,
            unpaired_flows,
            ..Report::default()
        }
    }
}

impl Found<'_> {
    #[inline]
    fn span(&mut self, span: &Span) {
        let group = self.groups.of(span.koids);
        let row = self.durations.row(group, span.label);
        row.lengths.add(span.nanos());
        if let Some(sample) = &mut row.sample {
            sample.add(span.rate.to_nanos(span.begin), span.nanos());
        }
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
