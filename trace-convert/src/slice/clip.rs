//! Times of records that are moved into the time of a slice.

use trace_format::words::Word;
use trace_format::{Event, Item, Record, TickRate, Value};

use super::Selection;
use crate::rewrite::{argument_buffer, ArgumentBuffer};
use trace_analyze::arguments;

const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// The time of a slice in ticks of a provider.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    from: u64,
    to: u64,
}

impl Bounds {
    pub(super) fn new(selection: &Selection<'_>, rate: TickRate) -> Self {
        let from = ticks(selection.from, rate);
        let to = selection.to.map_or(u64::MAX, |to| ticks(to, rate).max(from));
        Self { from, to }
    }

    /// Returns the first time of the slice.
    pub(super) fn from(&self) -> u64 {
        self.from
    }

    /// Returns the nearest time in the slice.
    pub(super) fn clamp(&self, ticks: u64) -> u64 {
        ticks.clamp(self.from, self.to)
    }

    /// Replaces the times of a record.
    pub(super) fn change(&self, word: Word, value: u64) -> u64 {
        match word {
            Word::Ticks => self.clamp(value),
            _ => value,
        }
    }
}

/// Returns the first tick that is not before a time in nanoseconds.
fn ticks(nanos: u64, rate: TickRate) -> u64 {
    let per_second = u128::from(rate.ticks_per_second());
    let ticks = (u128::from(nanos) * per_second).div_ceil(NANOS_PER_SECOND);
    u64::try_from(ticks).unwrap_or(u64::MAX)
}

/// Calls `write` with a report of the tracing system that is moved into the slice: the clocks of an
/// anchor advance by the same time as its own, and the time of a loss is cut at the borders.
pub(super) fn with_moved_report<R>(
    item: &Item<'_>,
    event: &Event<'_>,
    bounds: &Bounds,
    write: impl FnOnce(&Record<'_>) -> R,
) -> R {
    let moved = bounds.clamp(event.ticks);
    let (before, after) = (item.nanos(event.ticks), item.nanos(moved));
    let mut buffer: ArgumentBuffer<'_> = argument_buffer();
    let mut count = 0;
    for (place, argument) in buffer.iter_mut().zip(&event.arguments) {
        *place = argument;
        let value = arguments::unsigned(item, argument.value);
        match (&*item.text(argument.name), value) {
            ("ticks", Some(_)) => place.value = Value::Uint64(moved),
            ("realtime_ns" | "monotonic_ns" | "boottime_ns", Some(value)) => {
                place.value = Value::Uint64(value.saturating_add(after).saturating_sub(before));
            }
            ("from" | "to", Some(ticks)) => place.value = Value::Uint64(bounds.clamp(ticks)),
            _ => {}
        }
        count += 1;
    }
    let arguments = buffer.get(..count).unwrap_or_default().into();
    write(&Record::Event(Event { ticks: moved, arguments, ..*event }))
}
