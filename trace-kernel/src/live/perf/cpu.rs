//! The events and the ring buffer of a CPU.

use std::io;

use super::record::{Body, PerfRecords, RecordError, SampleLayout};
use super::ring::Ring;
use super::sys::{Attributes, Event, Target};
use super::timed::Timed;
use crate::live::clock::TraceClock;

/// The events of a CPU, which share a ring buffer.
#[derive(Debug)]
pub(super) struct Cpu {
    number: u16,
    events: Vec<Event>,
    ring: Ring,
    layout: SampleLayout,
    bytes: Vec<u8>,
    /// The time of the last record in ticks.
    last: u64,
    /// The number of dropped records that have been reported.
    reported: u64,
}

/// The events of a CPU: one for each target.
#[derive(Debug)]
pub(super) struct CpuEvents {
    number: u16,
    first: Event,
    others: Vec<Event>,
}

impl CpuEvents {
    /// Opens the events of a CPU. Threads that have ended are left out.
    pub(super) fn open(number: u16, events: &[(Attributes, Target)]) -> io::Result<Self> {
        let opened = events.iter().map(|(attributes, it)| Event::open(attributes, *it, number));
        let has_ended = |event: &io::Result<Event>| {
            event.as_ref().is_err_and(|error| error.raw_os_error() == Some(libc::ESRCH))
        };
        let mut events = opened.filter(|event| !has_ended(event));
        let first = events.next().unwrap_or(Err(io::Error::from_raw_os_error(libc::ESRCH)))?;
        Ok(Self { number, first, others: events.collect::<io::Result<_>>()? })
    }

    /// Returns the event whose ring buffer the others use.
    pub(super) fn first(&self) -> &Event {
        &self.first
    }
}

impl Cpu {
    /// Uses a ring buffer of the first event for all events.
    pub(super) fn new(events: CpuEvents, ring: Ring, layout: SampleLayout) -> io::Result<Self> {
        let CpuEvents { number, first, others } = events;
        others.iter().try_for_each(|event| event.write_to(&first))?;
        let events = std::iter::once(first).chain(others).collect();
        Ok(Self { number, events, ring, layout, bytes: Vec::new(), last: 0, reported: 0 })
    }

    pub(super) fn number(&self) -> u16 {
        self.number
    }

    /// Returns the time of the last record in ticks.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    pub(super) fn set_enabled(&self, is_enabled: bool) -> io::Result<()> {
        self.events.iter().try_for_each(|event| event.set_enabled(is_enabled))
    }

    /// Adds the unread records.
    pub(super) fn read(
        &mut self,
        clock: &TraceClock,
        records: &mut Vec<Timed>,
    ) -> Result<(), RecordError> {
        self.ring.read(&mut self.bytes);
        for record in PerfRecords::new(&self.bytes, self.layout) {
            let record = record?;
            let ticks = clock.ticks(record.sample.time);
            if let Body::Lost { number } = record.body {
                self.reported += number;
            }
            records.push(Timed { ticks, since: self.last, record });
            self.last = ticks;
        }
        Ok(())
    }

    /// Returns the number of dropped records that no record reports so far: a record with their
    /// number follows only if the buffer has space again.
    pub(super) fn unreported_losses(&self) -> io::Result<u64> {
        let counted = self.events.iter().map(Event::lost).sum::<io::Result<u64>>()?;
        Ok(counted.saturating_sub(self.reported))
    }

    /// Returns the same number, and regards these records as reported.
    pub(super) fn take_unreported_losses(&mut self) -> io::Result<u64> {
        let number = self.unreported_losses()?;
        self.reported += number;
        Ok(number)
    }
}
