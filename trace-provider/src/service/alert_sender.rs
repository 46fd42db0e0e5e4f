//! Sending alerts: each as often as it was raised, at a rate that no manager takes for a flood.

use std::time::{Duration, Instant};

use trace_protocol::packet::AlertName;

use crate::engine::alert::AlertCount;
use crate::engine::client::Client;
use crate::engine::Engine;
use crate::service::active::NAMES_INTERVAL;

/// Alerts sent in an interval; others wait. A manager cuts off who sends 200,000 packets in a
/// second.
const MOST: u32 = 5_000;

/// In which the service thread looks by itself for what waits.
const INTERVAL: Duration = NAMES_INTERVAL;

/// How often alerts were sent of late.
#[derive(Debug)]
pub(crate) struct AlertSender<'a> {
    engine: &'static Engine,
    client: &'a dyn Client,
    since: Instant,
    sent: u32,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Sent,
    /// There is no room for it now.
    Later,
    Closed,
}

impl<'a> AlertSender<'a> {
    pub(crate) fn new(engine: &'static Engine, client: &'a dyn Client) -> Self {
        Self { engine, client, since: Instant::now(), sent: 0 }
    }

    fn raised(&self) -> impl Iterator<Item = (AlertName, &'static AlertCount)> + 'static {
        self.client.alerts().chain(self.engine.alerts.raised())
    }

    /// Sends what was raised, as far as `send` takes it and the interval has room; the rest waits.
    /// `None` if nobody listens any more.
    pub(crate) fn send(&mut self, mut send: impl FnMut(AlertName) -> Answer) -> Option<()> {
        if self.since.elapsed() >= INTERVAL {
            *self = Self::new(self.engine, self.client);
        }
        loop {
            let mut any = false;
            // One of each, so that none waits for many of another.
            for (name, count) in self.raised() {
                if self.sent == MOST {
                    return Some(());
                }
                if count.take() {
                    match send(name) {
                        Answer::Sent => (any, self.sent) = (true, self.sent + 1),
                        Answer::Later => {
                            count.put_back();
                            return Some(());
                        }
                        Answer::Closed => return None,
                    }
                }
            }
            if !any {
                return Some(());
            }
        }
    }

    /// Sends what was raised up to now, an interval's worth at most. Returns how many alerts are
    /// not sent.
    pub(crate) fn send_last(&mut self, send: impl FnMut(AlertName) -> Answer) -> Option<u64> {
        *self = Self::new(self.engine, self.client);
        self.send(send)?;
        let rest: u64 = self.raised().map(|(_, count)| count.take_all()).sum();
        Some(rest + self.engine.alerts.take_without_slot())
    }
}
