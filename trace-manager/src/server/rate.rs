//! Limits of what arrives in a second.

use std::collections::HashMap;
use std::time::{Duration, Instant};

const WINDOW: Duration = Duration::from_secs(1);

/// The number of arrivals in a second.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rate {
    pub(super) begun: Instant,
    pub(super) number: u32,
}

impl Rate {
    pub(super) fn new(now: Instant) -> Self {
        Self { begun: now, number: 0 }
    }

    fn is_over(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.begun) > WINDOW
    }

    /// Counts one arrival. Returns whether there are at most `most` in this second.
    pub(super) fn count(&mut self, now: Instant, most: u32) -> bool {
        if self.is_over(now) {
            *self = Self::new(now);
        }
        self.number = self.number.saturating_add(1);
        self.number <= most
    }
}

/// The rates of users, by user id.
#[derive(Debug, Default)]
pub(crate) struct UserRates(HashMap<u32, Rate>);

impl UserRates {
    /// Returns when the second of a user ends.
    pub(crate) fn end(&self, uid: u32, now: Instant) -> Instant {
        self.0.get(&uid).map_or(now, |rate| rate.begun + WINDOW)
    }

    /// Counts one arrival for a user. Returns whether there are at most `most` in this second.
    pub(crate) fn count(&mut self, uid: u32, now: Instant, most: u32) -> bool {
        if !self.0.contains_key(&uid) {
            self.0.retain(|_, rate| !rate.is_over(now));
        }
        self.0.entry(uid).or_insert_with(|| Rate::new(now)).count(now, most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_user_has_a_number_of_arrivals_in_a_second() {
        let (mut rates, now) = (UserRates::default(), Instant::now());
        let mut count = |uid, after| rates.count(uid, now + Duration::from_millis(after), 2);
        assert_eq!([0, 10, 20].map(|after| count(1, after)), [true, true, false]);
        assert!(count(2, 30), "another user");
        assert!(!count(1, 1000) && count(1, 1001), "the next second");
    }

    #[test]
    fn users_without_arrivals_are_forgotten() {
        let (mut rates, now) = (UserRates::default(), Instant::now());
        for uid in 0..100 {
            assert!(rates.count(uid, now + 2 * WINDOW * uid, 1));
        }
        assert_eq!(rates.0.len(), 1);
    }
}
