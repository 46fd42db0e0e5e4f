//! Records that are missing.

use std::collections::HashMap;

use trace_format::{ThreadKoids, WriteError, Writer};

use super::super::sample::NO_CPU;
use crate::fxt::Translator;
use crate::live::backend::{LOST_SAMPLES, THROTTLED};
use crate::live::perf::record::{Body, PerfRecord, SampleId};
use crate::live::perf::throttled::Throttled;
use crate::live::perf::timed::Timed;
use crate::page::Missed;

/// The reason of records for which a ring buffer had no space.
const FULL: &str = "kernel buffer full";

/// The most buffers of which the last time is known.
const MAX_BUFFERS: usize = 1 << 16;

/// The ring buffer of a record, which is that of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Buffer {
    Cpu(u32),
    /// The CPU is unknown, but the record has the id of an event, which is of one CPU.
    Event(u64),
    Unknown,
}

/// Reports missing records.
#[derive(Debug, Default)]
pub(super) struct Losses {
    throttled: Throttled,
    /// The time of the first record.
    first: Option<u64>,
    /// The time of the last record of each known buffer.
    last: HashMap<Buffer, u64>,
    /// The number of missing records that records at their places report.
    reported: u64,
    /// The number of all, which perf adds at the end.
    total: u64,
}

impl Buffer {
    pub(super) fn of(cpu: u32, event: Option<u64>) -> Self {
        match (cpu, event) {
            (NO_CPU, Some(event)) => Self::Event(event),
            (NO_CPU, None) => Self::Unknown,
            _ => Self::Cpu(cpu),
        }
    }
}

impl Losses {
    /// Says whether each event is of one thread.
    pub(super) fn set_of_threads(&mut self, is_of_threads: bool) {
        self.throttled.set_of_threads(is_of_threads);
    }

    /// Notes the time of a buffer's record.
    pub(super) fn seen(&mut self, buffer: Buffer, now: u64) {
        self.first.get_or_insert(now);
        let has_room = self.last.len() < MAX_BUFFERS || self.last.contains_key(&buffer);
        if buffer != Buffer::Unknown && has_room {
            self.last.insert(buffer, now);
        }
    }

    /// Returns a record with its time and that of the record before in its buffer, or else the time
    /// of the first record.
    pub(super) fn timed(
        &mut self,
        buffer: Buffer,
        now: u64,
        is_timed: bool,
        record: PerfRecord,
    ) -> Timed {
        let since = self.last.get(&buffer).copied().or(self.first).unwrap_or(0);
        if is_timed {
            self.seen(buffer, now);
        }
        Timed { ticks: now, since, record }
    }

    /// Reports what is missing according to a record.
    pub(super) fn note(
        &mut self,
        archive: &mut Writer<Vec<u8>>,
        translator: &mut Translator,
        timed: &Timed,
        is_timed: bool,
    ) -> Result<(), WriteError> {
        let times = (timed.since, timed.ticks);
        match timed.record.body {
            Body::Lost { number } => {
                self.reported = self.reported.saturating_add(number);
                match timed.record.sample.cpu {
                    NO_CPU => gap(archive, translator, timed, (number, FULL), times)?,
                    _ => translator.missed(archive, timed.cpu(), Missed::Count(number), times)?,
                }
            }
            // perf writes them at the end, without a time.
            Body::LostSamples { number } if !is_timed => {
                self.total = self.total.saturating_add(number);
            }
            Body::LostSamples { number } => {
                gap(archive, translator, timed, (number, LOST_SAMPLES), times)?;
            }
            _ => {}
        }
        for (_, times) in self.throttled.note(timed) {
            gap(archive, translator, timed, (1, THROTTLED), times)?;
        }
        Ok(())
    }

    /// Reports pauses that have not ended, and what no record has reported.
    pub(super) fn finish(
        &mut self,
        archive: &mut Writer<Vec<u8>>,
        translator: &mut Translator,
        now: u64,
    ) -> Result<(), WriteError> {
        let place = ThreadKoids::UNKNOWN;
        for (_, times) in self.throttled.finish(now) {
            translator.gap_at(archive, place, (1, THROTTLED), times)?;
        }
        match self.total.saturating_sub(self.reported) {
            0 => Ok(()),
            number => translator.gap_at(archive, place, (number, FULL), (0, now)),
        }
    }
}

/// Reports missing records at the CPU of a record, or at its thread.
fn gap(
    archive: &mut Writer<Vec<u8>>,
    translator: &mut Translator,
    timed: &Timed,
    missing: (u64, &str),
    times: (u64, u64),
) -> Result<(), WriteError> {
    let SampleId { process, thread, cpu, .. } = timed.record.sample;
    match cpu {
        NO_CPU => {
            let place = ThreadKoids::new(process.into(), thread.into());
            translator.gap_at(archive, place, missing, times)
        }
        _ => translator.gap(archive, timed.cpu(), missing, times),
    }
}
