//! Records with their place in the order of time.

use super::record::{Body, PerfRecord, SampleId};
use crate::page::Missed;

/// A record of a perf ring buffer, whose time is in ticks.
#[derive(Debug)]
pub(crate) struct Timed {
    pub(crate) ticks: u64,
    /// The time of the record before on its CPU; 0 if there is none.
    pub(crate) since: u64,
    pub(crate) record: PerfRecord,
}

impl Timed {
    /// Returns the record that the events of a CPU were opened, after a time without them.
    pub(crate) fn came_online(cpu: u16, (since, ticks): (u64, u64)) -> Self {
        let sample = SampleId { process: 0, thread: 0, time: 0, cpu: cpu.into() };
        Self { ticks, since, record: PerfRecord { sample, body: Body::CameOnline } }
    }

    /// Returns the CPU.
    pub(crate) fn cpu(&self) -> u16 {
        u16::try_from(self.record.sample.cpu).unwrap_or(u16::MAX)
    }

    /// Returns the losses that this record reports, with the times around them.
    pub(crate) fn loss(&self) -> Option<(Missed, (u64, u64))> {
        match self.record.body {
            Body::Lost { number } => Some((Missed::Count(number), (self.since, self.ticks))),
            _ => None,
        }
    }
}
