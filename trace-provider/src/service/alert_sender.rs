//! Sends alerts, each as often as it was raised, and the conditions that held, at a limited rate.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use trace_protocol::packet::{AlertName, Packet};

use crate::engine::alert::AlertCount;
use crate::engine::client::Client;
use crate::engine::Engine;
use crate::service::active::NAMES_INTERVAL;

/// The most alerts in an interval. A manager disconnects a provider that sends 200,000 packets in a
/// second.
const MOST: u32 = 5_000;

/// The interval at which the service thread polls for pending alerts.
const INTERVAL: Duration = NAMES_INTERVAL;

/// The longest time for which the last alerts are sent. The process waits for a second until their
/// rest is reported.
const LAST: Duration = Duration::from_millis(500);

/// Sends alerts and conditions, and counts the packets of the current interval.
#[derive(Debug)]
pub(crate) struct AlertSender<'a> {
    engine: &'static Engine,
    client: &'a dyn Client,
    since: Instant,
    sent: u32,
    /// The conditions that held and are not sent.
    held: BTreeMap<u32, u64>,
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
        Self { engine, client, since: Instant::now(), sent: 0, held: BTreeMap::new() }
    }

    fn raised(&self) -> impl Iterator<Item = (AlertName, &'static AlertCount)> + 'static {
        self.client.alerts().chain(self.engine.alerts.raised())
    }

    /// Sends conditions and raised alerts until the socket is full or the interval's limit is
    /// reached. `None` if the connection is closed.
    pub(crate) fn send(&mut self, mut send: impl FnMut(Packet) -> SendResult) -> Option<()> {
        if self.since.elapsed() >= INTERVAL {
            self.begin_interval();
        }
        self.send_conditions(&mut send)?;
        loop {
            let mut any = false;
            // One of each name in turn, so that a frequent alert does not delay others.
            for (name, count) in self.raised() {
                if self.sent == MOST {
                    return Some(());
                }
                if count.take() {
                    match send(Packet::Alert(name)) {
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

    fn begin_interval(&mut self) {
        (self.since, self.sent) = (Instant::now(), 0);
    }

    /// Sends the conditions that held, each once with its number of times.
    fn send_conditions(&mut self, send: &mut impl FnMut(Packet) -> SendResult) -> Option<()> {
        let held = self.engine.table().as_mut().map(|table| table.watches().take_held());
        for (number, times) in held.into_iter().flatten() {
            let sum = self.held.entry(number).or_default();
            *sum = sum.saturating_add(times);
        }
        while let Some((number, times)) = self.held.first_key_value().map(|(it, sum)| (*it, *sum)) {
            if self.sent == MOST {
                return Some(());
            }
            match send(Packet::ConditionHeld { number, times }) {
                SendResult::Sent => self.sent += 1,
                SendResult::Full => return Some(()),
                SendResult::Closed => return None,
            }
            self.held.remove(&number);
        }
        Some(())
    }

    /// Sends the alerts that are raised now, up to the limit of an interval, or for half a second.
    /// Returns the number of unsent alerts.
    pub(crate) fn send_last(&mut self, mut send: impl FnMut(Packet) -> SendResult) -> Option<u64> {
        self.begin_interval();
        let begin = self.since;
        self.send(|packet| match begin.elapsed() < LAST {
            true => send(packet),
            false => SendResult::Full,
        })?;
        let rest: u64 = self.raised().map(|(_, count)| count.take_all()).sum();
        Some(rest + self.engine.alerts.take_without_slot())
    }
}
