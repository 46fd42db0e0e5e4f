//! Collects statistics in one pass over an archive.

use trace_format::{Event, EventKind, Item, Record, ThreadKoids};

use super::counters::Counters;
use super::groups::Groups;
use super::table::{sort_rows, Table};
use super::{By, JoinedNames, Measure, Report, Row};
use crate::catalog::Catalog;
use crate::pairing::{Edge, Outcome, Pairing, Unpaired};
use crate::schedule::Schedule;
use crate::spans::{Role, Span, Spans};

#[derive(Debug)]
pub(super) struct StatsCollector<'s> {
    /// The value of an event is its group.
    spans: Spans<u32>,
    durations: Durations<'s>,
    instants: Table,
    operations: Linked<'s>,
    flows: Linked<'s>,
    counters: Counters,
    context_switches: u64,
}

/// The most begins and ends of operations that wait for each other. Flows have the same limit.
const MAX_WAITING: usize = 1 << 20;

/// Collects operations or flows.
#[derive(Debug)]
struct Linked<'s> {
    /// The value of an edge is its group.
    pairing: Pairing<u32>,
    rows: LinkRows<'s>,
}

#[derive(Debug)]
struct LinkRows<'s> {
    by: By<'s>,
    /// Shorter ones are not counted.
    min_nanos: u64,
    table: Table,
    unpaired: Unpaired,
}

impl<'s> Linked<'s> {
    fn new(by: By<'s>, is_sampled: bool) -> Self {
        let (table, unpaired) = (Table::new(is_sampled), Unpaired::default());
        let rows = LinkRows { by, min_nanos: 0, table, unpaired };
        Self { pairing: Pairing::new(MAX_WAITING), rows }
    }

    fn push(&mut self, catalog: &Catalog, edge: Edge<u32>) {
        let outcomes = self.pairing.push(catalog, edge);
        outcomes.for_each(|outcome| self.rows.add(&outcome));
    }

    fn finish(mut self, catalog: &Catalog) -> LinkRows<'s> {
        let outcomes = self.pairing.finish(catalog);
        outcomes.for_each(|outcome| self.rows.add(&outcome));
        self.rows
    }
}

impl LinkRows<'_> {
    fn add(&mut self, outcome: &Outcome<u32>) {
        match outcome {
            Outcome::Pair { begin, end } if end.nanos - begin.nanos < self.min_nanos => {}
            Outcome::Pair { begin, end } => {
                let group = self.by.split(self.by.joined(begin.value, end.value));
                self.table.link(group, begin, end.nanos);
            }
            Outcome::Cut { begin: edge, .. } | Outcome::Unpaired(edge) => self.unpaired.count(edge),
        }
    }
}

#[derive(Debug)]
struct Durations<'s> {
    groups: Groups<'s>,
    rows: Table,
    polls: Table,
    drops: Table,
    /// Whether drops are ignored.
    is_sampled: bool,
    measure: Measure,
    /// Shorter ones are not counted.
    min_nanos: u64,
    schedule: Option<&'s Schedule>,
    /// Durations that are partly outside of the scheduling records.
    partly_scheduled: u64,
}

impl<'s> StatsCollector<'s> {
    pub(super) fn new(
        groups: Groups<'s>,
        schedule: Option<&'s Schedule>,
        is_sampled: bool,
    ) -> Self {
        let by = groups.by;
        let durations = Durations {
            groups,
            rows: Table::new(is_sampled),
            polls: Table::new(is_sampled),
            drops: Table::new(false),
            is_sampled,
            measure: Measure::default(),
            min_nanos: 0,
            schedule,
            partly_scheduled: 0,
        };
        Self {
            spans: Spans::with_values(),
            durations,
            instants: Table::new(false),
            operations: Linked::new(by, is_sampled),
            flows: Linked::new(by, is_sampled),
            counters: Counters::default(),
            context_switches: 0,
        }
    }

    /// Counts only durations, operations and flows that last longer.
    pub(super) fn over(mut self, nanos: u64) -> Self {
        let min = nanos.saturating_add(1);
        self.durations.min_nanos = min;
        self.operations.rows.min_nanos = min;
        self.flows.rows.min_nanos = min;
        self
    }

    /// Makes this time the lengths of durations.
    pub(super) fn measuring(mut self, measure: Measure) -> Self {
        self.durations.measure = measure;
        self
    }

    #[inline]
    pub(super) fn record(&mut self, item: &Item<'_>) {
        let durations = &mut self.durations;
        let group = durations.groups.of_edge(item);
        self.spans.record_with(item, group).for_each(|span| durations.add(&span));
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
        let groups = &mut self.durations.groups;
        match kind {
            EventKind::Instant { .. } => {
                let group = groups.of_own_or_around(item, event);
                let (group, is_inherited) = groups.by.split(group);
                let label = catalog.label(item, event.category, event.name);
                self.instants.add(group, label, 0).inherited += u64::from(is_inherited);
            }
            EventKind::Counter { id } => {
                let group = groups.of(ThreadKoids::new(thread.process, 0));
                self.counters.event(catalog, group, item, event, id);
            }
            kind => {
                let is_end = matches!(kind, EventKind::AsyncEnd { .. } | EventKind::FlowEnd { .. });
                let is_linked = is_end
                    || matches!(kind, EventKind::AsyncBegin { .. } | EventKind::FlowBegin { .. });
                if !is_linked {
                    return;
                }
                let group = match is_end {
                    true => groups.of_end(item, event),
                    false => groups.of_own_or_around(item, event),
                };
                if let Some(edge) = Edge::of(catalog, item, event, group) {
                    let is_flow =
                        matches!(kind, EventKind::FlowBegin { .. } | EventKind::FlowEnd { .. });
                    let linked = if is_flow { &mut self.flows } else { &mut self.operations };
                    linked.push(catalog, edge);
                }
            }
        }
    }

    pub(super) fn report(mut self) -> Report {
        let durations = &mut self.durations;
        self.spans.finish().for_each(|span| durations.add(&span));
        let catalog = self.spans.catalog();
        let operations = self.operations.finish(catalog);
        let flows = self.flows.finish(catalog);
        let groups = &self.durations.groups;
        let mut joined = JoinedNames::default();
        let Durations { rows, polls, drops, is_sampled, .. } = &self.durations;
        let tables = [rows, polls, drops, &operations.table, &flows.table, &self.instants];
        let inherited_others: u64 = tables.iter().map(|table| table.inherited_others(groups)).sum();
        for table in tables.iter().filter(|table| table.is_sampled() == *is_sampled) {
            table.add_joined(groups, catalog, &mut joined);
        }
        let roles = [
            (Role::Duration, self.durations.rows),
            (Role::Poll, self.durations.polls),
            (Role::Drop, self.durations.drops),
        ];
        let rows = roles.into_iter().flat_map(|(role, table)| {
            table.into_rows(groups, catalog).into_iter().map(move |row| Row { role, ..row })
        });
        let mut durations: Vec<Row> = rows.collect();
        sort_rows(&mut durations);
        Report {
            joined,
            durations,
            operations: operations.table.into_rows(groups, catalog),
            flows: flows.table.into_rows(groups, catalog),
            counter_values_left_out: self.counters.left_out,
            counters: self.counters.into_rows(groups, catalog),
            instants: self.instants.into_rows(groups, catalog),
            other_values: groups.other_values + inherited_others,
            values_left_out: groups.values_left_out,
            partly_scheduled: self.durations.partly_scheduled,
            context_switches: self.context_switches,
            oddities: self.spans.oddities(),
            unpaired_operations: operations.unpaired,
            unpaired_flows: flows.unpaired,
            ..Report::default()
        }
    }
}

impl Durations<'_> {
    #[inline]
    fn add(&mut self, span: &Span<u32>) {
        let group = self.groups.of_span(span);
        let (group, is_inherited) = self.groups.by.split(group);
        if span.nanos() < self.min_nanos {
            return;
        }
        let rows = match (span.role, self.is_sampled) {
            (Role::Drop, true) => return,
            (Role::Drop, false) => &mut self.drops,
            (Role::Poll, _) => &mut self.polls,
            (Role::Duration, _) => &mut self.rows,
        };
        let length = match self.measure {
            Measure::Length => span.nanos(),
            Measure::SelfTime => span.self_nanos(),
        };
        let row = rows.add(group, span.label, length);
        if let Some(sample) = &mut row.sample {
            sample.add(span.rate.to_nanos(span.begin), length);
        }
        row.inherited += u64::from(is_inherited);
        row.self_nanos = row.self_nanos.saturating_add(span.self_nanos());
        if let Some(schedule) = self.schedule {
            let (from, to) = (span.rate.to_nanos(span.begin), span.rate.to_nanos(span.end));
            let thread = span.koids.thread;
            if let Some(nanos) = schedule.on_cpu(thread, from, to) {
                let sum = row.on_cpu_nanos.get_or_insert(0);
                // The duration is rounded, and so are its begin and end.
                *sum = sum.saturating_add(nanos.min(span.nanos()));
            }
            let is_partly = schedule.has(thread) && !schedule.covers(from, to);
            self.partly_scheduled += u64::from(is_partly);
        }
    }
}
