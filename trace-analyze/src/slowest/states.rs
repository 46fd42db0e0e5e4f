//! What a thread did during a single duration.

use serde_json::{json, Value as Json};

use crate::critical::Wait;
use crate::schedule::history::{History, Period, PeriodState};

/// The states of a thread during a duration, in nanoseconds. They add up to its length.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct States {
    /// The time on a processor.
    pub running: u64,
    /// The time in which the thread could run, and waited for a processor.
    pub runnable: u64,
    /// The time until it was woken up. Without wake-ups in the archive, also that until it ran.
    pub blocked: u64,
    /// The time for which the archive has no state.
    pub unknown: u64,
    /// Whether the archive has wake-ups.
    pub has_wakeups: bool,
    /// The longest time in which the thread did not run, with its reason.
    pub longest_wait: Option<(u64, Wait)>,
}

impl States {
    /// Returns the states of a thread from one time to another, or `None` if the archive has none.
    pub(super) fn of(history: &History, thread: u64, (from, to): (u64, u64)) -> Option<Self> {
        let recorded = (from.max(history.recorded.0), to.min(history.recorded.1));
        if recorded.0 >= recorded.1 {
            return None;
        }
        let has_wakeups = history.has_wakeups;
        let mut states = Self { unknown: to - from, has_wakeups, ..Self::default() };
        for period in history.during(thread, recorded.0, recorded.1) {
            let nanos = period.to.min(recorded.1) - period.from.max(recorded.0);
            states.add(history, period, nanos);
        }
        (states.unknown < to - from).then_some(states)
    }

    fn add(&mut self, history: &History, period: &Period, nanos: u64) {
        let sum = match period.state {
            PeriodState::Running => &mut self.running,
            PeriodState::Woken(_) | PeriodState::Preempted(_) => &mut self.runnable,
            PeriodState::Blocked(_) => &mut self.blocked,
        };
        *sum += nanos;
        self.unknown = self.unknown.saturating_sub(nanos);
        let longest = self.longest_wait.as_ref().map_or(0, |(longest, _)| *longest);
        if nanos > longest {
            let wait = Wait::of(history, period).map(|wait| (nanos, wait));
            self.longest_wait = wait.or(self.longest_wait.take());
        }
    }

    pub(super) fn to_json(&self) -> Json {
        let wait = |(nanos, wait): &(u64, Wait)| {
            let mut object = wait.to_json();
            object["length_ns"] = (*nanos).into();
            object
        };
        json!({
            "run_ns": self.running,
            "runnable_ns": self.runnable,
            "blocked_ns": self.blocked,
            "unknown_ns": self.unknown,
            "has_wakeups": self.has_wakeups,
            "longest_wait": self.longest_wait.as_ref().map(wait),
        })
    }
}
