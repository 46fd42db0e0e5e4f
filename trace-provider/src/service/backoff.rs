//! The wait before the next connection to a manager that has not started a session.

use std::time::Duration;

use trace_protocol::socket::Socket;

/// The wait after a connection without a session.
const RECONNECT_INTERVAL: Duration = Duration::from_secs(1);

/// How often the wait doubles while the manager refuses this provider: up to about a minute.
const MOST_DOUBLINGS: u32 = 6;

/// The result of a connection to a manager.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// There was a session.
    Served,
    /// There was no session.
    NoSession,
    /// The manager has refused this provider.
    Refused,
    /// A manager that comes first has appeared, and this is the connection to it.
    Moved(Socket),
}

/// The wait between two connections.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    /// The number of consecutive refusals.
    refusals: u32,
}

impl Backoff {
    /// Returns the wait after a connection with this outcome. `None` for no wait.
    ///
    /// The wait doubles with each refusal.
    pub(crate) fn after(&mut self, outcome: &Outcome) -> Option<Duration> {
        self.refusals = match outcome {
            Outcome::Refused => (self.refusals + 1).min(MOST_DOUBLINGS),
            Outcome::Served | Outcome::NoSession | Outcome::Moved(_) => 0,
        };
        let waits = matches!(outcome, Outcome::NoSession | Outcome::Refused);
        waits.then(|| RECONNECT_INTERVAL * (1 << self.refusals))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_with_each_refusal_up_to_a_minute() {
        let mut backoff = Backoff::default();
        let waits = |backoff: &mut Backoff, outcomes: &[Outcome]| -> Vec<Option<u64>> {
            let waits = outcomes.iter().map(|outcome| backoff.after(outcome));
            waits.map(|wait| wait.map(|wait| wait.as_secs())).collect()
        };
        let refused = waits(&mut backoff, &[const { Outcome::Refused }; 8]);
        assert_eq!(refused, [2, 4, 8, 16, 32, 64, 64, 64].map(Some));
        let outcomes = [Outcome::NoSession, Outcome::NoSession, Outcome::Refused, Outcome::Served];
        assert_eq!(waits(&mut backoff, &outcomes), [Some(1), Some(1), Some(2), None]);
        assert_eq!(
            waits(&mut backoff, &[Outcome::Refused]),
            [Some(2)],
            "a session resets the wait"
        );
    }
}
