//! Evaluation of a condition on a counter.
//!
//! ```text
//!          beyond the limit               for long enough: holds
//!   Within ----------------> Beyond{since} ---------------------> Reported
//!     ^                        |                                     |
//!     +---- within the limit --+------------------------------------+
//! ```

use std::collections::BTreeMap;

use super::CounterCondition;

/// The most counters of a provider that a condition observes: a program can use any number of ids.
const MAX_COUNTERS: usize = 1024;

/// The state of a condition, for each counter of its name.
#[derive(Debug, Clone)]
pub(super) struct CounterState {
    condition: CounterCondition,
    /// The time in nanoseconds for which a counter is beyond the limit before the condition holds.
    lasting: u64,
    providers: BTreeMap<u32, Counters>,
    is_limited: bool,
}

/// A counter of a provider: the counter's id, and the hash of the series' name.
pub(super) type Key = (u64, u64);

/// The counters of a provider that are beyond the limit. Times are in nanoseconds of its clock.
#[derive(Debug, Clone, Default)]
struct Counters {
    beyond: BTreeMap<Key, Beyond>,
    /// Before this time, the condition begins to hold for none of them without a new value.
    due: Option<u64>,
}

/// A counter that is beyond the limit.
#[derive(Debug, Clone, Copy)]
struct Beyond {
    since: u64,
    /// The time of the newest value.
    newest: u64,
    is_reported: bool,
}

impl CounterState {
    pub(super) fn new(condition: CounterCondition) -> Self {
        let lasting = u64::try_from(condition.lasting.as_nanos()).unwrap_or(u64::MAX);
        Self { condition, lasting, providers: BTreeMap::new(), is_limited: false }
    }

    pub(super) fn condition(&self) -> &CounterCondition {
        &self.condition
    }

    /// Handles a value. Returns whether the condition begins to hold. If the new value is not a
    /// number, the counter keeps its value.
    pub(super) fn sample(&mut self, provider: u32, key: Key, nanos: u64, value: f64) -> bool {
        if value.is_nan() {
            return false;
        }
        let CounterCondition { is_over, limit, .. } = self.condition;
        let is_beyond = if is_over { value > limit } else { value < limit };
        let counters = self.providers.entry(provider).or_default();
        if is_beyond && counters.is_full_for(key) {
            self.is_limited = true;
            return false;
        }
        match is_beyond {
            true => counters.exceed(key, nanos, self.lasting),
            false => counters.fall_back(key, nanos, self.lasting),
        }
    }

    /// Returns whether a provider had too many counters to observe all.
    pub(super) fn is_limited(&self) -> bool {
        self.is_limited
    }

    /// Returns whether the condition begins to hold if the provider's counters keep their values.
    pub(super) fn is_waiting(&self, provider: u32) -> bool {
        self.providers.get(&provider).is_some_and(|counters| counters.due.is_some())
    }

    /// Handles the time `nanos` of a provider, all of whose earlier values are known. Returns
    /// whether the condition begins to hold.
    pub(super) fn advance(&mut self, provider: u32, nanos: u64) -> bool {
        let counters = self.providers.get_mut(&provider);
        counters.is_some_and(|counters| counters.advance(nanos, self.lasting))
    }

    /// Removes the counters of a provider that has left.
    pub(super) fn remove(&mut self, provider: u32) {
        self.providers.remove(&provider);
    }
}

impl Counters {
    /// Returns whether this counter cannot be observed, because too many others are.
    fn is_full_for(&self, key: Key) -> bool {
        self.beyond.len() >= MAX_COUNTERS && !self.beyond.contains_key(&key)
    }

    /// Handles a value beyond the limit. Only this counter's time passes: records of threads are
    /// not in the order of time.
    fn exceed(&mut self, key: Key, nanos: u64, lasting: u64) -> bool {
        let first = Beyond { since: nanos, newest: nanos, is_reported: false };
        let counter = self.beyond.entry(key).or_insert(first);
        counter.newest = counter.newest.max(nanos);
        let holds = counter.hold(counter.newest, lasting);
        if !counter.is_reported {
            let due = counter.since.saturating_add(lasting);
            self.due = Some(self.due.map_or(due, |first| first.min(due)));
        }
        holds
    }

    /// Handles a value within the limit. The one before it lasted until now.
    fn fall_back(&mut self, key: Key, nanos: u64, lasting: u64) -> bool {
        let Some(counter) = self.beyond.get_mut(&key) else { return false };
        if nanos < counter.newest {
            // A record of another thread that is collected late: the counter went beyond again.
            counter.since = counter.newest;
            return false;
        }
        let holds = counter.hold(nanos, lasting);
        self.beyond.remove(&key);
        holds
    }

    fn advance(&mut self, nanos: u64, lasting: u64) -> bool {
        if self.due.is_none_or(|due| nanos < due) {
            return false;
        }
        let mut holds = false;
        for counter in self.beyond.values_mut() {
            holds |= counter.hold(nanos, lasting);
        }
        let waiting = self.beyond.values().filter(|counter| !counter.is_reported);
        self.due = waiting.map(|counter| counter.since.saturating_add(lasting)).min();
        holds
    }
}

impl Beyond {
    /// Reports the counter if it was beyond the limit for `lasting` at the time `now`. Returns
    /// whether this is the first time.
    fn hold(&mut self, now: u64, lasting: u64) -> bool {
        let holds = !self.is_reported && now.saturating_sub(self.since) >= lasting;
        self.is_reported |= holds;
        holds
    }
}

#[cfg(test)]
mod tests {
    use super::super::Condition;
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn state(text: &str) -> CounterState {
        let Ok(Condition::Counter(counter)) = text.parse() else { panic!("{text}") };
        CounterState::new(counter)
    }

    fn key(id: u64) -> Key {
        (id, 9)
    }

    #[test]
    fn without_a_time_it_holds_at_once_and_again_after_a_return() {
        let mut state = state("counter:a/b.s>10");
        let values = [10.0, 11.0, 12.0, 10.0, 11.0];
        let held = values.map(|value| state.sample(1, key(0), 0, value));
        assert_eq!(held, [false, true, false, false, true]);
    }

    #[test]
    fn it_can_be_under_a_limit() {
        let mut state = state("counter:a/b.s<0.5");
        assert!(!state.sample(1, key(0), 0, 0.5) && state.sample(1, key(0), 0, -3.0));
    }

    #[test]
    fn it_lasts_for_a_time() {
        let mut state = state("counter:a/b.s>10 for 2s");
        assert!(!state.sample(1, key(0), 5 * SECOND, 11.0));
        assert!(!state.sample(1, key(0), 6 * SECOND, 90.0));
        assert!(state.sample(1, key(0), 7 * SECOND, 12.0));
        assert!(!state.sample(1, key(0), 9 * SECOND, 12.0), "reported once");
    }

    #[test]
    fn a_return_restarts_the_time() {
        let mut state = state("counter:a/b.s>10 for 2s");
        for (seconds, value) in [(0, 11.0), (1, 10.0), (2, 11.0), (3, 11.0)] {
            assert!(!state.sample(1, key(0), seconds * SECOND, value), "{seconds}");
        }
        assert!(state.sample(1, key(0), 4 * SECOND, 11.0));
    }

    /// A counter keeps its value between samples.
    #[test]
    fn time_passes_without_values() {
        let mut state = state("counter:a/b.s>10 for 2s");
        assert!(!state.sample(1, key(0), 0, 11.0));
        assert!(!state.advance(2, 9 * SECOND), "the time of another provider");
        assert!(!state.advance(1, 2 * SECOND - 1));
        assert!(state.advance(1, 2 * SECOND) && !state.advance(1, 3 * SECOND));
    }

    #[test]
    fn the_value_lasts_until_the_next_one() {
        let mut state = state("counter:a/b.s>10 for 2s");
        assert!(!state.sample(1, key(0), 0, 11.0));
        assert!(state.sample(1, key(0), 3 * SECOND, 1.0), "it was over the limit for 3 s");
    }

    #[test]
    fn each_counter_has_its_own_time() {
        let mut state = state("counter:a/b.s>10 for 2s");
        assert!(!state.sample(1, key(1), 0, 11.0) && !state.sample(1, key(2), SECOND, 11.0));
        assert!(!state.sample(1, key(1), SECOND, 0.0));
        assert!(!state.advance(1, 2 * SECOND) && state.advance(1, 3 * SECOND));
        state.sample(1, key(2), 3 * SECOND, 0.0);
        state.sample(1, key(2), 3 * SECOND, 99.0);
        state.remove(1);
        assert!(!state.advance(1, 9 * SECOND));
    }

    /// Records of threads are not in the order of time, so that a later value of another counter
    /// does not mean that this one kept its value until then.
    #[test]
    fn the_time_of_one_counter_is_not_that_of_another() {
        let mut state = state("counter:a/b.s>10 for 2s");
        assert!(!state.sample(1, key(1), 0, 11.0));
        assert!(!state.sample(1, key(2), 5 * SECOND, 11.0));
        assert!(!state.sample(1, key(1), SECOND, 0.0));
    }

    #[test]
    fn an_earlier_value_that_is_collected_late_restarts_the_time() {
        let mut state = state("counter:a/b.s>10 for 2s");
        for (nanos, value) in [(0, 11.0), (SECOND, 11.0), (SECOND / 2, 1.0)] {
            assert!(!state.sample(1, key(0), nanos, value), "{nanos}");
        }
        assert!(!state.advance(1, 3 * SECOND - 1) && state.advance(1, 3 * SECOND));
    }

    #[test]
    fn the_number_of_counters_of_a_provider_is_limited() {
        let mut state = state("counter:a/b.s>10 for 2s");
        for id in 0..2 * MAX_COUNTERS as u64 {
            state.sample(1, key(id), 0, 11.0);
        }
        assert_eq!(state.providers[&1].beyond.len(), MAX_COUNTERS);
        assert!(!state.sample(2, key(0), 0, 11.0) && state.sample(2, key(0), 2 * SECOND, 11.0));
    }
}
