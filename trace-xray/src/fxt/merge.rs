//! The calls and events of a thread in the order of time.

use std::cmp::Reverse;
use std::io::Write;

use trace_format::ThreadKoids;

use super::error::ExportError;
use crate::layout::Action;
use crate::record::FunctionId;
use crate::write::{Buffer, Log, Stamp};

/// A call of a function.
#[derive(Debug)]
pub(super) struct CallTime {
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) function: FunctionId,
    pub(super) arguments: Vec<u64>,
}

/// A custom event, whose payload is in the temporary file.
#[derive(Debug)]
pub(super) struct EventTime {
    pub(super) ticks: u64,
    pub(super) offset: u64,
    pub(super) size: usize,
}

/// The records of a thread, in any order.
#[derive(Debug)]
pub(super) struct ThreadRecords {
    process: i32,
    thread: i32,
    pub(super) calls: Vec<CallTime>,
    pub(super) events: Vec<EventTime>,
}

impl ThreadRecords {
    /// Starts the records of a thread. A koid that is no id of Linux gets a negative number.
    pub(super) fn new(koids: ThreadKoids, number: usize) -> Self {
        let artificial = -1 - i32::try_from(number).unwrap_or(i32::MAX - 1);
        let id = |koid| i32::try_from(koid).unwrap_or(artificial);
        let (process, thread) = (id(koids.process), id(koids.thread));
        Self { process, thread, calls: Vec::new(), events: Vec::new() }
    }

    /// Returns the first time. `llvm-xray account` requires that threads start in order.
    pub(super) fn start(&self) -> u64 {
        let calls = self.calls.iter().map(|call| call.begin);
        calls.chain(self.events.iter().map(|event| event.ticks)).min().unwrap_or(0)
    }
}

/// Writes the records of a thread; returns the number of calls that end with their caller, because
/// they end after it.
pub(super) fn write_thread<W: Write>(
    log: &mut Log<W>,
    mut records: ThreadRecords,
    read: impl Fn(u64, usize) -> Result<Vec<u8>, ExportError>,
) -> Result<u64, ExportError> {
    records.calls.sort_by_key(|call| (call.begin, Reverse(call.end)));
    records.events.sort_by_key(|event| event.ticks);
    let mut buffer = log.thread(records.process, records.thread);
    let mut calls = records.calls.into_iter().peekable();
    let mut events = records.events.into_iter().peekable();
    let mut open: Vec<(FunctionId, u64)> = Vec::new();
    let mut cut = 0;
    loop {
        let begin = calls.peek().map(|call| call.begin);
        let event = events.peek().map(|event| event.ticks);
        let next = begin.into_iter().chain(event).min();
        let ended = open.last().filter(|(_, end)| next.is_none_or(|next| *end <= next)).copied();
        if let Some((function, end)) = ended {
            open.pop();
            log.function(&mut buffer, at(end), Action::Exit, function)?;
        } else if let Some(call) =
            calls.next_if(|call| event.is_none_or(|event| call.begin <= event))
        {
            let limit = open.last().map_or(u64::MAX, |(_, end)| *end);
            cut += u64::from(call.end > limit);
            open.push((call.function, call.end.min(limit)));
            enter(log, &mut buffer, &call)?;
        } else if let Some(EventTime { ticks, offset, size }) = events.next() {
            log.custom_event(&mut buffer, at(ticks), &read(offset, size)?)?;
        } else {
            break;
        }
    }
    log.write(&mut buffer)?;
    Ok(cut)
}

fn enter<W: Write>(
    log: &mut Log<W>,
    buffer: &mut Buffer,
    CallTime { begin, function, arguments, .. }: &CallTime,
) -> Result<(), ExportError> {
    Ok(log.entry_with_arguments(buffer, at(*begin), *function, arguments)?)
}

/// An archive has no CPU of an event.
fn at(tsc: u64) -> Stamp {
    Stamp { tsc, cpu: 0 }
}
