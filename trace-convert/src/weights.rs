//! What samples count: those of an event whose period varies have different weights.

use std::collections::HashMap;

use trace_format::notes::{CATEGORY, SAMPLE_WEIGHT};
use trace_format::{Backtrace, Event, EventKind, Item, ThreadKoids, Value};

/// The weight of the next sample of each thread, with its time in nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct Weights(HashMap<ThreadKoids, (u64, u64)>);

impl Weights {
    /// Adds the weight of an event. It must get each event of the archive. Returns whether the
    /// event is a weight.
    #[inline]
    pub(crate) fn note(&mut self, item: &Item<'_>, event: &Event<'_>) -> bool {
        let weight = of_event(item, event);
        if let Some(weight) = weight {
            let koids = item.thread(event.thread);
            self.0.insert(koids, (item.nanos(event.ticks), weight));
        }
        weight.is_some()
    }

    /// Returns the weight of a sample: 1 unless an event before it, at the same time, has another.
    pub(crate) fn take(&mut self, item: &Item<'_>, backtrace: &Backtrace<'_>) -> u64 {
        let weight = self.0.remove(&item.thread(backtrace.thread));
        weight.filter(|(nanos, _)| *nanos == item.nanos(backtrace.ticks)).map_or(1, |it| it.1)
    }
}

/// Returns the weight of an event, if it is one.
#[inline]
pub(crate) fn of_event(item: &Item<'_>, event: &Event<'_>) -> Option<u64> {
    let is_weight = matches!(event.kind, EventKind::Instant { .. })
        && item.text(event.category) == CATEGORY
        && item.text(event.name) == SAMPLE_WEIGHT;
    if !is_weight {
        return None;
    }
    event.arguments.iter().find_map(|argument| match argument.value {
        Value::Uint64(weight) if item.text(argument.name) == "weight" => Some(weight),
        _ => None,
    })
}
