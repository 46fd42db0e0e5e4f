//! Sends alerts: each as often as it was raised, at a limited rate.

use std::time::{Duration, Instant};

use trace_protocol::packet::AlertName;

use crate::engine::alert::AlertCount;
use crate::engine::client::Client;
use crate::engine::Engine;
use crate::service::active::NAMES_INTERVAL;

/// The most alerts in an interval. A manager disconnects a provider that sends 200,000 packets in a
/// second.
const MOST: u32 = 5_000;

/// The interval at which the service thread polls for pending alerts.
const INTERVAL: Duration = NAMES_INTERVAL;

/// Sends alerts, and counts those of the current interval.
#[derive(Debug)]
pub(crate) struct AlertSender<'a> {
    engine: &'static Engine,
    client: &'a dyn Client,
    since: Instant,
    sent: u32,
}

/// The result of sending a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SendResult {
    Sent,
    /// The socket is full.
    Full,
    Closed,
}

impl<'a> AlertSender<'a> {
    pub(crate) fn new(engine: &'static Engine, client: &'a dyn Client) -> Self {
        Self { engine, client, since: Instant::now(), sent: 0 }
    }

    fn raised(&self) -> impl Iterator<Item = (AlertName, &'static AlertCount)> + 'static {
        self.client.alerts().chain(self.engine.alerts.raised())
    }

    /// Sends raised alerts until the socket is full or the interval's limit is reached. `None` if
    /// the connection is closed.
    pub(crate) fn send(&mut self, mut send: impl FnMut(AlertName) -> SendResult) -> Option<()> {
        if self.since.elapsed() >= INTERVAL {
            *self = Self::new(self.engine, self.client);
        }
        loop {
            let mut any = false;
            // One of each name in turn, so that a frequent alert does not delay others.
            for (name, count) in self.raised() {
                if self.sent == MOST {
                    return Some(());
                }
                if count.take() {
                    match send(name) {
                        SendResult::Sent => (any, self.sent) = (true, self.sent + 1),
                        SendResult::Full => {
                            count.put_back();
                            return Some(());
                        }
                        SendResult::Closed => return None,
                    }
                }
            }
            if !any {
                return Some(());
            }
        }
    }

    /// Sends the alerts that are raised now, up to the limit of an interval. Returns the number of
    /// unsent alerts.
    pub(crate) fn send_last(&mut self, send: impl FnMut(AlertName) -> SendResult) -> Option<u64> {
        *self = Self::new(self.engine, self.client);
        self.send(send)?;
        let rest: u64 = self.raised().map(|(_, count)| count.take_all()).sum();
        Some(rest + self.engine.alerts.take_without_slot())
    }
}
