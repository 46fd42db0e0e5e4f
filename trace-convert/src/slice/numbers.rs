//! Numbers for records that are kept or omitted together with others.

use trace_format::{Event, EventKind, Item, Record, Value};

use crate::rewrite::is_counter;
use trace_analyze::carried::{ADDED, EVENT, MORE, SHOWN};

/// Numbers the records whose selection depends on other records, with the same numbers in each
/// pass: begins and ends, and events that are carried as JSON with the record after them that
/// repeats them.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    next: usize,
    /// The provider and number of an event that is carried as JSON.
    carried: Option<(Option<u32>, usize)>,
    /// Whether the next counter repeats this event.
    is_repeated: bool,
}

impl Numbers {
    /// Returns the number of a record, if it has one.
    pub(super) fn of(&mut self, item: &Item<'_>) -> Option<usize> {
        let name = match &item.record {
            // These may be between a carried event and its record.
            Record::String { .. }
            | Record::Thread { .. }
            | Record::Metadata(_)
            | Record::Initialization { .. } => return None,
            Record::Blob(blob) => item.text(blob.name),
            record => return self.of_other(item, record),
        };
        let of_provider = |carried: &(Option<u32>, usize)| carried.0 == item.provider.id();
        self.carried = match &*name {
            MORE | SHOWN => self.carried.filter(of_provider),
            EVENT => Some((item.provider.id(), self.new_number())),
            _ => None,
        };
        self.is_repeated = name == SHOWN && self.carried.is_some();
        self.carried.map(|(_, number)| number)
    }

    fn of_other(&mut self, item: &Item<'_>, record: &Record<'_>) -> Option<usize> {
        // Several counters may repeat one event.
        if std::mem::take(&mut self.is_repeated) && is_counter(record) {
            return self.carried.map(|(_, number)| number);
        }
        match (self.carried.take(), record) {
            (Some((provider, number)), _)
                if provider == item.provider.id() && is_added(item, record) =>
            {
                Some(number)
            }
            (_, Record::Event(event)) if is_begin_or_end(event) => Some(self.new_number()),
            _ => None,
        }
    }

    fn new_number(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }
}

/// Returns whether a record only repeats a carried event for viewers.
fn is_added(item: &Item<'_>, record: &Record<'_>) -> bool {
    record
        .arguments()
        .iter()
        .any(|argument| argument.value == Value::Bool(true) && item.text(argument.name) == ADDED)
}

/// Returns whether an event is a begin or an end.
fn is_begin_or_end(event: &Event<'_>) -> bool {
    use EventKind::{AsyncBegin, AsyncEnd, DurationBegin, DurationEnd};
    matches!(event.kind, DurationBegin | DurationEnd | AsyncBegin { .. } | AsyncEnd { .. })
}
