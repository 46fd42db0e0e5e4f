//! Refused providers.

use trace_format::notes::Omission;
use trace_protocol::archive::{self, ClockSample, Identity};
use trace_protocol::message::ClockSource;

use super::Recording;
use crate::records::Records;
use crate::sink::Sink as _;
use crate::summary::Refusal;

/// The archive id of the manager. Those of providers begin with 1.
const MANAGER: u32 = 0;

/// The number of refusals that are kept.
pub(super) const MAX_REFUSALS: usize = 100;

/// The refused providers of a session.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    pub(super) first: Vec<Refusal>,
    pub(super) number: u64,
}

impl Recording {
    /// Records that a provider was refused. Only the first refusals are kept.
    pub(crate) fn refuse(&mut self, refusal: Refusal) {
        self.refusals.number += 1;
        if self.refusals.first.len() < MAX_REFUSALS {
            self.refusals.first.push(refusal);
        }
    }

    /// Writes the number of refusals into the archive, as a provider of its own: the refused
    /// programs have none.
    pub(super) fn report_refusals(&mut self, now: &ClockSample, counter_rate: u64) {
        if self.refusals.number == 0 {
            return;
        }
        let manager = Identity {
            id: MANAGER,
            name: "trace manager".to_owned(),
            process_name: "trace manager".to_owned(),
            pid: std::process::id(),
            uid: rustix::process::getuid().as_raw(),
            clock: ClockSource::CpuCounter,
        };
        let mut words = Records::begin(&self.spares, MANAGER);
        archive::opening(&mut words, &manager, counter_rate, now);
        let ticks = now.ticks(manager.clock);
        archive::omission(&mut words, &manager, ticks, Omission::Connections, self.refusals.number);
        archive::anchor(&mut words, &manager, now);
        let records = self.block(MANAGER, words);
        self.outputs.archive.take(&records);
    }
}
