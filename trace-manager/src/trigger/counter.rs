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

/// The most counters that a condition observes: a program can use any number of ids.
const MAX_COUNTERS: usize = 1024;

/// The state of a condition, for each counter of its name.
#[derive(Debug, Clone)]
pub(super) struct CounterState {
    condition: CounterCondition,
    counters: BTreeMap<Key, State>,
}

/// One counter: the provider, the counter's id, and the series' string.
pub(super) type Key = (u32, u64, Box<[u8]>);

/// The state of one counter. Times are in nanoseconds of the provider's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Beyond { since: u64 },
    Reported,
}

impl CounterState {
    pub(super) fn new(condition: CounterCondition) -> Self {
        Self { condition, counters: BTreeMap::new() }
    }

    pub(super) fn condition(&self) -> &CounterCondition {
        &self.condition
    }

    /// Handles a value. Returns whether the condition begins to hold.
    pub(super) fn sample(&mut self, key: Key, nanos: u64, value: f64) -> bool {
        let CounterCondition { is_over, limit, .. } = self.condition;
        let is_beyond = if is_over { value > limit } else { value < limit };
        if !is_beyond {
            // The value was beyond the limit until now.
            return match self.counters.remove(&key) {
                Some(State::Beyond { since }) => self.has_lasted(since, nanos),
                _ => false,
            };
        }
        if self.counters.len() >= MAX_COUNTERS && !self.counters.contains_key(&key) {
            return false;
        }
        let provider = key.0;
        self.counters.entry(key).or_insert(State::Beyond { since: nanos });
        self.advance(provider, nanos)
    }

    /// Handles the time `nanos` of a provider, all of whose earlier values are known. Returns
    /// whether the condition begins to hold.
    pub(super) fn advance(&mut self, provider: u32, nanos: u64) -> bool {
        let lasting = self.lasting();
        let mut holds = false;
        for (_, state) in self.counters.iter_mut().filter(|((of, ..), _)| *of == provider) {
            if let State::Beyond { since } = *state {
                if nanos.saturating_sub(since) >= lasting {
                    (*state, holds) = (State::Reported, true);
                }
            }
        }
        holds
    }

    /// Removes the counters of a provider that has left.
    pub(super) fn remove(&mut self, provider: u32) {
        self.counters.retain(|(of, ..), _| *of != provider);
    }

    fn lasting(&self) -> u64 {
        u64::try_from(self.condition.lasting.as_nanos()).unwrap_or(u64::MAX)
    }

    fn has_lasted(&self, since: u64, now: u64) -> bool {
        now.saturating_sub(since) >= self.lasting()
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

    fn key(provider: u32, id: u64) -> Key {
        (provider, id, Box::from(*b"s"))
    }

    #[test]
    fn without_a_time_it_holds_at_once_and_again_after_a_return() {
        let mut state = state("counter:a/b.s>10");
        let values = [10.0, 11.0, 12.0, 10.0, 11.0];
        let held = values.map(|value| state.sample(key(1, 0), 0, value));
        assert_eq!(held, [false, true, false, false, true]);
    }

    #[test]
    fn it_can_be_under_a_limit() {
        let mut state = state("counter:a/b.s<0.5");
        assert!(!state.sample(key(1, 0), 0, 0.5) && state.sample(key(1, 0), 0, -3.0));
    }

    #[test]
    fn it_lasts_for_a_time() {
        let mut state = state("counter:a/b.s>10 for 2s");
        assert!(!state.sample(key(1, 0), 5 * SECOND, 11.0));
        assert!(!state.sample(key(1, 0), 6 * SECOND, 90.0));
        assert!(state.sample(key(1, 0), 7 * SECOND, 12.0));
        assert!(!state.sample(key(1, 0), 9 * SECOND, 12.0), "reported once");
    }

    #[test]
    fn a_return_restarts_the_time() {
        let mut state = state("counter:a/b.s>10 for 2s");
        for (seconds, value) in [(0, 11.0), (1, 10.0), (2, 11.0), (3, 11.0)] {
            assert!(!state.sample(key(1, 0), seconds * SECOND, value), "{seconds}");
        }
        assert!(state.sample(key(1, 0), 4 * SECOND, 11.0));
    }

    /// A counter keeps its value between samples.
    #[test]
    fn time_passes_without_values() {
        let mut state = state("counter:a/b.s>10 for 2s");
        assert!(!state.sample(key(1, 0), 0, 11.0));
        assert!(!state.advance(2, 9 * SECOND), "the time of another provider");
        assert!(!state.advance(1, 2 * SECOND - 1));
        assert!(state.advance(1, 2 * SECOND) && !state.advance(1, 3 * SECOND));
    }

    #[test]
    fn the_value_lasts_until_the_next_one() {
        let mut state = state("counter:a/b.s>10 for 2s");
        assert!(!state.sample(key(1, 0), 0, 11.0));
        assert!(state.sample(key(1, 0), 3 * SECOND, 1.0), "it was over the limit for 3 s");
    }

    #[test]
    fn each_counter_has_its_own_time() {
        let mut state = state("counter:a/b.s>10 for 2s");
        assert!(!state.sample(key(1, 1), 0, 11.0) && !state.sample(key(1, 2), SECOND, 11.0));
        assert!(!state.sample(key(1, 1), SECOND, 0.0));
        assert!(!state.advance(1, 2 * SECOND) && state.advance(1, 3 * SECOND));
        state.sample(key(1, 2), 3 * SECOND, 0.0);
        state.sample(key(1, 2), 3 * SECOND, 99.0);
        state.remove(1);
        assert!(!state.advance(1, 9 * SECOND));
    }

    #[test]
    fn the_number_of_counters_is_limited() {
        let mut state = state("counter:a/b.s>10 for 2s");
        for id in 0..2 * MAX_COUNTERS as u64 {
            state.sample(key(1, id), 0, 11.0);
        }
        assert_eq!(state.counters.len(), MAX_COUNTERS);
    }
}
