//! A record with the state of its thread buffer.

use crate::record::{CustomEvent, EventTime, Header, Record, WallClock};

/// The state of a thread buffer after a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ThreadBuffer {
    /// Where the buffer starts, in bytes from the start of the log.
    pub offset: u64,
    /// The number of its log in the file, from 1 on: each header starts another one.
    pub log: u32,
    /// The thread id.
    pub thread: i32,
    /// The process id, from version 3.
    pub process: Option<i32>,
    /// The wall-clock time at the start.
    pub wall_clock: Option<WallClock>,
    /// The CPU's number.
    pub cpu: u16,
    /// The time in ticks.
    pub tsc: u64,
}

impl ThreadBuffer {
    /// Applies a record's changes.
    pub(super) fn apply(&mut self, record: &Record<'_>) {
        match *record {
            Record::Function(function) => self.tsc = self.tsc.wrapping_add(function.delta.into()),
            Record::NewBuffer { thread } => self.thread = thread,
            Record::NewCpuId { cpu, tsc } => (self.cpu, self.tsc) = (cpu, tsc),
            Record::TscWrap { tsc } => self.tsc = tsc,
            Record::WallClock(time) => self.wall_clock = Some(time),
            Record::Pid { pid } => self.process = Some(pid),
            Record::TypedEvent(event) => self.tsc = after(self.tsc, event.delta),
            Record::CustomEvent(CustomEvent { time: EventTime::Delta(delta), .. }) => {
                self.tsc = after(self.tsc, delta);
            }
            Record::CustomEvent(_)
            | Record::CallArgument { .. }
            | Record::BufferExtents { .. }
            | Record::EndOfBuffer => {}
        }
    }
}

fn after(tsc: u64, delta: i32) -> u64 {
    tsc.wrapping_add_signed(delta.into())
}

/// A record of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item<'a> {
    /// Where the record starts, in bytes from the start of the log.
    pub offset: u64,
    /// The record.
    pub record: Record<'a>,
    /// The state of its thread buffer, including the record's changes.
    pub buffer: &'a ThreadBuffer,
    /// The header of the log.
    pub header: &'a Header,
}

impl Item<'_> {
    /// Returns the time of the record in ticks.
    ///
    /// The records before the first CPU record of a thread buffer have no time, and get 0.
    #[inline]
    #[must_use]
    pub fn tsc(&self) -> u64 {
        match self.record {
            Record::CustomEvent(CustomEvent { time: EventTime::Absolute { tsc, .. }, .. }) => tsc,
            _ => self.buffer.tsc,
        }
    }

    /// Returns the number of the CPU that wrote the record.
    #[inline]
    #[must_use]
    pub fn cpu(&self) -> u16 {
        match self.record {
            Record::CustomEvent(CustomEvent {
                time: EventTime::Absolute { cpu: Some(cpu), .. },
                ..
            }) => cpu,
            _ => self.buffer.cpu,
        }
    }
}
