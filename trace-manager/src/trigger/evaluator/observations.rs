//! Observations in the order of time.

use super::evaluated::Evaluated;
use super::observation::Observation;

/// The most observations that wait for their order. A rolling buffer has any number of events, and
/// an event has one for each of its series and each condition.
const MAX_WAITING: usize = 1 << 16;

/// The number of observations for which the memory is kept between calls.
const KEPT: usize = 1024;

/// The observations that are not evaluated yet, of the records of one call.
///
/// Records are in the order of threads, and conditions need that of time. If there are too many,
/// those with the oldest half of the times are evaluated. Later records of the same call that are
/// older than these are then evaluated too late, as if they were of the next call.
#[derive(Debug, Default)]
pub(super) struct Observations {
    waiting: Vec<Observation>,
}

impl Observations {
    pub(super) fn push(&mut self, observation: Observation) {
        self.waiting.push(observation);
    }

    /// Evaluates the oldest half if too many wait.
    pub(super) fn limit(&mut self, conditions: &mut [Evaluated], provider: u32) {
        if self.waiting.len() >= MAX_WAITING {
            self.apply(MAX_WAITING / 2, conditions, provider);
        }
    }

    /// Evaluates all, and releases their memory.
    pub(super) fn finish(&mut self, conditions: &mut [Evaluated], provider: u32) {
        self.apply(self.waiting.len(), conditions, provider);
        self.waiting.shrink_to(KEPT);
    }

    /// Evaluates the oldest ones in the order of time.
    fn apply(&mut self, number: usize, conditions: &mut [Evaluated], provider: u32) {
        self.waiting.sort_by_key(|observation| observation.nanos);
        for observation in self.waiting.drain(..number) {
            let compared = match observation.condition {
                Some(index) => conditions.get_mut(index..=index),
                None => Some(&mut *conditions),
            };
            let compared = compared.into_iter().flatten();
            compared.for_each(|condition| condition.apply(provider, observation));
        }
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.waiting.capacity()
    }
}
