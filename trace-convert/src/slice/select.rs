//! The selection of records for a slice.

use std::fmt;

use trace_format::{Event, EventKind, Item, Process, Record, Thread, ThreadKoids};

use super::Operations;
use crate::rewrite;
use trace_analyze::carried::PREFIX;
use trace_analyze::catalog::{Catalog, LabelId};
use trace_analyze::critical::SelectName;
use trace_analyze::{is_clock_anchor, Gap};

/// The selection of records for a slice.
#[derive(Default)]
pub struct Selection<'a> {
    /// The first time, in nanoseconds of the providers' clocks.
    pub from: u64,
    /// The time after the last one; `None` for the archive's end.
    pub to: Option<u64>,
    /// Selects categories; `None` for all.
    pub category: Option<&'a dyn Fn(&str) -> bool>,
    /// Selects names of events by their category and name; `None` for all.
    pub name: Option<SelectName<'a>>,
    /// The koids of processes; `None` for all.
    pub processes: Option<&'a [u64]>,
    /// The koids of threads; `None` for all.
    pub threads: Option<&'a [u64]>,
    /// Selects an operation and its descendants, with the events in their polls; `None` for all.
    pub operations: Option<&'a Operations>,
    /// Whether durations and operations are cut at the first and after the last time.
    pub clips: bool,
}

impl Selection<'_> {
    /// Returns whether a duration overlaps the begin or the end of the time.
    pub(super) fn cuts(&self, begin: u64, end: u64) -> bool {
        begin < self.from || self.to.is_some_and(|to| end > to)
    }

    /// Returns whether scheduling records are selected, but not those before a time.
    pub(super) fn cuts_scheduling(&self) -> bool {
        let has_scheduling =
            self.category.is_none() && self.name.is_none() && self.operations.is_none();
        has_scheduling && self.from > 0
    }
}

impl fmt::Debug for Selection<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Selection")
            .field("from", &self.from)
            .field("to", &self.to)
            .field("processes", &self.processes)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

/// A selection with a cache of its results.
pub(super) struct Filter<'a> {
    selection: &'a Selection<'a>,
    /// The result for each label.
    labels: Vec<Option<bool>>,
}

impl<'a> Filter<'a> {
    pub(super) fn new(selection: &'a Selection<'a>) -> Self {
        Self { selection, labels: Vec::new() }
    }

    fn is_in_time(&self, nanos: u64) -> bool {
        nanos >= self.selection.from && self.is_before_end(nanos)
    }

    fn is_before_end(&self, nanos: u64) -> bool {
        self.selection.to.is_none_or(|to| nanos < to)
    }

    pub(super) fn reaches_in(&self, begin: u64, end: u64) -> bool {
        self.is_before_end(begin) && end.max(begin) >= self.selection.from
    }

    /// Returns whether a record is kept by its own properties, as if begins and ends had no
    /// counterpart.
    pub(super) fn keeps(&mut self, catalog: &mut Catalog, item: &Item<'_>) -> bool {
        let event = match &item.record {
            Record::Event(event) => event,
            record => return self.record(item, record),
        };
        if let Some(gap) = Gap::of(item, event) {
            return self.reaches_in(item.nanos(gap.from), item.nanos(gap.to));
        }
        let nanos = item.nanos(event.ticks);
        let is_in = match event.kind {
            EventKind::DurationComplete { end } => self.reaches_in(nanos, item.nanos(end)),
            EventKind::DurationBegin | EventKind::AsyncBegin { .. } => self.is_before_end(nanos),
            _ => self.is_in_time(nanos),
        };
        is_clock_anchor(item, event) || is_in && self.selects(catalog, item, event)
    }

    /// Returns whether an event is selected, regardless of its time.
    pub(super) fn selects(
        &mut self,
        catalog: &mut Catalog,
        item: &Item<'_>,
        event: &Event<'_>,
    ) -> bool {
        let label = catalog.label(item, event.category, event.name);
        self.thread(item.thread(event.thread))
            && self.selection.operations.is_none_or(|operations| operations.has(item, event))
            && self.label(catalog, label)
    }

    fn label(&mut self, catalog: &Catalog, label: LabelId) -> bool {
        let place = label.0 as usize;
        if self.labels.len() <= place {
            self.labels.resize(place + 1, None);
        }
        let Some(cached) = self.labels.get_mut(place) else { return false };
        let Selection { category, name, .. } = self.selection;
        *cached.get_or_insert_with(|| {
            category.is_none_or(|category| category(catalog.category(label)))
                && name.is_none_or(|name| name(catalog.category(label), catalog.name(label)))
        })
    }

    fn thread(&self, koids: ThreadKoids) -> bool {
        self.process(koids.process)
            && self.selection.threads.is_none_or(|threads| threads.contains(&koids.thread))
    }

    fn process(&self, koid: u64) -> bool {
        self.selection.processes.is_none_or(|processes| processes.contains(&koid))
    }

    /// Returns whether a record that is not an event is kept.
    fn record(&self, item: &Item<'_>, record: &Record<'_>) -> bool {
        match record {
            Record::KernelObject(_) => return true,
            Record::Blob(blob) if item.text(blob.name).starts_with(PREFIX) => return true,
            _ => {}
        }
        let ticks = rewrite::ticks(record);
        let is_in = |nanos| match record {
            // Later samples are in them.
            Record::Module(_) | Record::Mmap(_) => self.is_before_end(nanos),
            _ => self.is_in_time(nanos),
        };
        ticks.is_none_or(|ticks| is_in(item.nanos(ticks)))
            && self.by_category(item, record)
            && self.by_thread(item, record)
            && self.by_operation(item, record)
    }

    /// Returns whether a record is in a poll of the selected operations, if there are any.
    fn by_operation(&self, item: &Item<'_>, record: &Record<'_>) -> bool {
        self.selection.operations.is_none_or(|operations| match record {
            Record::Log(log) => {
                operations.is_in_poll(item.thread(log.thread), item.nanos(log.ticks))
            }
            _ => false,
        })
    }

    fn by_category(&self, item: &Item<'_>, record: &Record<'_>) -> bool {
        let Selection { category, name, .. } = self.selection;
        match record {
            Record::LargeBlob(blob) => {
                let of = item.text(blob.category);
                category.is_none_or(|category| category(&of))
                    && name.is_none_or(|name| name(&of, &item.text(blob.name)))
            }
            _ => category.is_none() && name.is_none(),
        }
    }

    fn by_thread(&self, item: &Item<'_>, record: &Record<'_>) -> bool {
        let thread = |thread: Thread| self.thread(item.thread(thread));
        let process = |process: Process| match process {
            Process::Inline(koid) => self.process(koid),
            Process::Indexed(index) => self.process(item.thread(Thread::Indexed(index)).process),
        };
        match record {
            Record::Log(log) => thread(log.thread),
            Record::Backtrace(backtrace) => thread(backtrace.thread),
            Record::UserspaceObject(object) => process(object.process),
            Record::Module(module) => process(module.process),
            Record::Mmap(mmap) => process(mmap.process),
            Record::LargeBlob(blob) => blob.event.is_none_or(|event| thread(event.thread)),
            // The other records have no thread, or concern all threads.
            _ => true,
        }
    }
}
