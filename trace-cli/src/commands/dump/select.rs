//! The records that `trace dump` prints.

use trace_analyze::arguments::{self, Condition};
use trace_format::{Event, EventKind, Item, Record, Thread, Value};

use crate::args::Level;
use crate::cli::{DumpArgs, Filter};

/// The selection of `trace dump`.
pub(super) struct Select {
    filter: Option<Filter>,
    /// The first time and the time after the last one, or `None` for all.
    range: Option<(u64, Option<u64>)>,
    /// The koids of the selected threads, or `None` for all.
    threads: Option<Vec<u64>>,
    level: Option<Level>,
    id: Option<u64>,
    arguments: Vec<Condition>,
}

impl Select {
    pub(super) fn new(
        args: &DumpArgs,
        range: Option<(u64, Option<u64>)>,
        threads: Option<Vec<u64>>,
    ) -> Self {
        let selection = &args.selection;
        let has_filter = !(selection.categories.is_empty() && selection.name.is_empty());
        let filter = has_filter.then(|| selection.filter());
        let arguments = args.arg.clone();
        Self { filter, range, threads, level: args.level, id: args.id, arguments }
    }

    /// Returns the first time and the time after the last one, or `None` for all.
    pub(super) fn range(&self) -> Option<(u64, Option<u64>)> {
        self.range
    }

    pub(super) fn includes(&self, item: &Item<'_>) -> bool {
        self.range.is_none_or(|range| is_in(item, range)) && self.record(item)
    }

    fn record(&self, item: &Item<'_>) -> bool {
        match &item.record {
            Record::Event(event) => self.event(item, event),
            // A log record has no category, and its level is the first word of its message.
            Record::Log(log) if self.accepts_other_records() && self.thread(item, log.thread) => {
                let message = String::from_utf8_lossy(log.message);
                let level = message.split(' ').next().and_then(Level::named);
                self.level.is_none_or(|most| level.is_some_and(|level| level <= most))
            }
            Record::Log(_) => false,
            Record::ContextSwitch(_) | Record::LegacyContextSwitch(_) | Record::ThreadWakeup(_) => {
                self.accepts_other_records() && self.level.is_none() && self.scheduling(item)
            }
            _ => self.accepts_other_records() && self.threads.is_none() && self.level.is_none(),
        }
    }

    /// Returns whether records other than events can be selected.
    fn accepts_other_records(&self) -> bool {
        self.filter.is_none() && self.id.is_none() && self.arguments.is_empty()
    }

    fn thread(&self, item: &Item<'_>, thread: Thread) -> bool {
        let is_selected = |threads: &Vec<u64>| threads.contains(&item.thread(thread).thread);
        self.threads.as_ref().is_none_or(is_selected)
    }

    /// Returns whether a scheduling record is about a selected thread.
    fn scheduling(&self, item: &Item<'_>) -> bool {
        let Some(threads) = &self.threads else { return true };
        let koids = match &item.record {
            Record::ContextSwitch(switch) => [switch.outgoing_thread, switch.incoming_thread],
            Record::LegacyContextSwitch(switch) => {
                [switch.outgoing, switch.incoming].map(|thread| item.thread(thread).thread)
            }
            Record::ThreadWakeup(wakeup) => [wakeup.thread; 2],
            _ => return false,
        };
        koids.iter().any(|koid| threads.contains(koid))
    }

    fn event(&self, item: &Item<'_>, event: &Event<'_>) -> bool {
        let matches =
            |filter: &Filter| filter.matches(&item.text(event.category), &item.text(event.name));
        self.filter.as_ref().is_none_or(matches)
            && self.thread(item, event.thread)
            && self.level.is_none_or(|most| level_of(item, event).is_some_and(|it| it <= most))
            && self.id.is_none_or(|id| has_id(item, event, id))
            && self.arguments.iter().all(|condition| condition.is_met(item, event))
    }
}

/// Returns whether a record has a time in a range, or is a complete duration that overlaps it.
fn is_in(item: &Item<'_>, (from, to): (u64, Option<u64>)) -> bool {
    let mut record = item.record;
    let mut times = record.times().map(|ticks| item.nanos(*ticks));
    let Some(begin) = times.next() else { return false };
    let end = times.next().unwrap_or(begin).max(begin);
    to.is_none_or(|to| begin < to) && end >= from
}

/// Returns the level in the argument `level`.
fn level_of(item: &Item<'_>, event: &Event<'_>) -> Option<Level> {
    arguments::named(item, &event.arguments, "level").find_map(|value| match value {
        Value::String(text) => Level::named(&item.text(text)),
        _ => None,
    })
}

/// Returns whether an event belongs to the operation or flow `id`, is a poll of it, or begins a
/// child of it.
fn has_id(item: &Item<'_>, event: &Event<'_>, id: u64) -> bool {
    let own = match event.kind {
        EventKind::Counter { .. } => None,
        kind => kind.id(),
    };
    let named = |name| arguments::named_unsigned(item, &event.arguments, name) == Some(id);
    own == Some(id) || named("task") || named("parent")
}
