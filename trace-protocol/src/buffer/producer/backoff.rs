//! Waiting for threads to leave their trace points: they are there for nanoseconds, unless they
//! were preempted or interrupted.

use std::time::{Duration, Instant};

/// How long there is patience, and how to spend it.
#[derive(Debug)]
pub(super) struct Backoff {
    patience: Duration,
    since: Option<Instant>,
    rounds: u32,
}

impl Backoff {
    pub(super) fn new(patience: Duration) -> Self {
        Self { patience, since: None, rounds: 0 }
    }

    /// Waits a little; longer each time. False when there is no patience left.
    pub(super) fn wait(&mut self) -> bool {
        self.rounds = self.rounds.saturating_add(1);
        #[cfg(loom)]
        loom::thread::yield_now();
        #[cfg(not(loom))]
        match self.rounds {
            0..=100 => std::hint::spin_loop(),
            101..=200 => std::thread::yield_now(),
            _ => std::thread::sleep(Duration::from_micros(50)),
        }
        // The clock is asked only when the wait is no longer a matter of nanoseconds; the model has
        // no clock, and all patience.
        cfg!(loom)
            || self.rounds <= 200
            || self.since.get_or_insert_with(Instant::now).elapsed() < self.patience
    }
}
