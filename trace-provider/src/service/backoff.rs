//! How long a provider waits before it goes back to a manager that gave it no session.

use std::time::Duration;

/// How long it waits before it goes back to a manager that has hung up without a session.
const RECONNECT_INTERVAL: Duration = Duration::from_secs(1);

/// How often that wait doubles while the manager refuses this provider: to about a minute.
const MOST_DOUBLINGS: u32 = 6;

/// The result of a connection to a manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// There was a session.
    Served,
    /// There was no session.
    Nothing,
    /// The manager has no room for this provider.
    Refused,
}

/// The wait between two connections.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    /// Refusals in a row.
    refusals: u32,
}

impl Backoff {
    /// Returns how long to wait after a connection with this outcome; `None` for not at all.
    ///
    /// A manager that takes nobody in is asked again later, and one that has no room less and less
    /// often.
    pub(crate) fn after(&mut self, outcome: Outcome) -> Option<Duration> {
        self.refusals = match outcome {
            Outcome::Refused => (self.refusals + 1).min(MOST_DOUBLINGS),
            Outcome::Served | Outcome::Nothing => 0,
        };
        (outcome != Outcome::Served).then(|| RECONNECT_INTERVAL * (1 << self.refusals))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_with_each_refusal_up_to_a_minute() {
        let mut backoff = Backoff::default();
        let waits = |backoff: &mut Backoff, outcomes: &[Outcome]| -> Vec<Option<u64>> {
            let waits = outcomes.iter().map(|outcome| backoff.after(*outcome));
            waits.map(|wait| wait.map(|wait| wait.as_secs())).collect()
        };
        let refused = waits(&mut backoff, &[Outcome::Refused; 8]);
        assert_eq!(refused, [2, 4, 8, 16, 32, 64, 64, 64].map(Some));
        let others = [Outcome::Nothing, Outcome::Nothing, Outcome::Refused, Outcome::Served];
        assert_eq!(waits(&mut backoff, &others), [Some(1), Some(1), Some(2), None]);
        assert_eq!(
            waits(&mut backoff, &[Outcome::Refused]),
            [Some(2)],
            "a session resets the wait"
        );
    }
}
