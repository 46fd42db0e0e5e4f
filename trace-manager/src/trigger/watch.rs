//! Conditions that providers compare themselves.

use trace_protocol::message::{ClockSource, DurationLimit, MAX_LIMITS, MAX_LIMIT_BYTES};

/// A condition on durations that providers compare at the end of a scope or operation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DurationWatch {
    /// The number of the condition, which no other one of the manager has.
    pub number: u32,
    /// The category.
    pub category: String,
    /// The name.
    pub name: String,
    /// The condition holds for longer durations, in nanoseconds.
    pub nanos: u64,
    /// The same limit in ticks of the CPU's counter.
    pub counter_ticks: u64,
}

impl DurationWatch {
    /// Returns the limits that a provider with this clock gets: as many as it accepts.
    pub(crate) fn limits(watches: Vec<Self>, clock: ClockSource) -> Vec<DurationLimit> {
        let mut bytes = 0;
        let is_accepted = |limit: &DurationLimit| {
            bytes += limit.category.len() + limit.name.len();
            bytes <= MAX_LIMIT_BYTES
        };
        let limits = watches.into_iter().take(MAX_LIMITS).map(|watch| watch.limit(clock));
        limits.take_while(is_accepted).collect()
    }

    fn limit(self, clock: ClockSource) -> DurationLimit {
        let Self { number, category, name, nanos, counter_ticks } = self;
        let ticks = match clock {
            ClockSource::CpuCounter => counter_ticks,
            ClockSource::Boottime => nanos,
        };
        DurationLimit { number, category, name, ticks }
    }
}
