//! When a recording tries again what its threads have prevented.

use std::time::{Duration, Instant};

/// The wait after the first try.
const FIRST_WAIT: Duration = Duration::from_millis(10);

/// The longest wait.
const LONGEST_WAIT: Duration = Duration::from_millis(640);

/// The time of the next try. The wait before it doubles with each one: a try costs time, and what
/// prevents it may last.
#[derive(Debug)]
pub(crate) struct Tries {
    next: Instant,
    wait: Duration,
}

impl Tries {
    /// The first try is due at once.
    pub(crate) fn new(now: Instant) -> Self {
        Self { next: now, wait: FIRST_WAIT }
    }

    /// Returns the time until the next try, which is zero if it is due.
    pub(crate) fn remaining(&self, now: Instant) -> Duration {
        self.next.saturating_duration_since(now)
    }

    /// Notes that a try has failed.
    pub(crate) fn failed(&mut self, now: Instant) {
        self.next = now + self.wait;
        self.wait = LONGEST_WAIT.min(2 * self.wait);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_up_to_most_of_a_second() {
        let mut now = Instant::now();
        let mut tries = Tries::new(now);
        let waits = (0..9).map(|_| {
            now += tries.remaining(now);
            tries.failed(now);
            tries.remaining(now).as_millis()
        });
        assert_eq!(waits.collect::<Vec<_>>(), [10, 20, 40, 80, 160, 320, 640, 640, 640]);
    }

    #[test]
    fn a_turn_before_the_next_try_does_not_try() {
        let now = Instant::now();
        let mut tries = Tries::new(now);
        assert_eq!(tries.remaining(now), Duration::ZERO);
        tries.failed(now);
        assert_eq!(tries.remaining(now + Duration::from_millis(9)), Duration::from_millis(1));
        assert_eq!(tries.remaining(now + Duration::from_millis(99)), Duration::ZERO);
    }
}
