//! The calls and events of a thread as records of a log.

use std::io::Write;

use super::error::ExportError;
use super::marks::Ending;
use super::sorter::{Kind, Row, ThreadRows, OPEN};
use crate::layout::{Action, MetadataKind, Version, FILLER, UNKNOWN_CPU};
use crate::record::FunctionId;
use crate::write::{Buffer, Log, Stamp};

/// Records of a thread that differ from the archive.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    /// Calls in the log.
    pub(super) calls: u64,
    /// Calls among them without an end.
    pub(super) open: u64,
    /// Calls among them that end with their caller, because they end after it.
    pub(super) cut: u64,
    /// Calls that are left out because they are shorter than the threshold.
    pub(super) short: u64,
    pub(super) events: u64,
}

/// A call that has begun.
struct OpenCall {
    row: Row,
    /// The function's id in the log.
    function: FunctionId,
    end: u64,
    ending: Ending,
    /// The CPU of its begin.
    cpu: u16,
    is_written: bool,
}

/// Writes the records of threads to a log.
pub(super) struct Merge<'a, W> {
    pub(super) log: &'a mut Log<W>,
    /// Calls that are shorter are left out, in ticks.
    pub(super) threshold: u64,
    /// Reads the bytes of a row.
    pub(super) read: &'a dyn Fn(Row) -> Result<Vec<u8>, ExportError>,
    /// Returns the id of a function in the log.
    pub(super) function: &'a mut dyn FnMut(FunctionId) -> FunctionId,
    /// The CPU of the thread.
    pub(super) cpu: u16,
    pub(super) version: Version,
    pub(super) counts: Counts,
}

impl<W: Write> Merge<'_, W> {
    /// Writes the records of a thread into its buffer, and that to the log.
    ///
    /// `start` is the start of a log with several threads. `llvm-xray account` and `graph` refuse
    /// times before that of their first record, and read threads in an order of their own. So each
    /// thread has a filler at the start.
    pub(super) fn thread(
        &mut self,
        mut buffer: Buffer,
        mut rows: ThreadRows<'_>,
        start: Option<u64>,
    ) -> Result<(), ExportError> {
        let first = rows.peek();
        self.cpu = match first.map(|row| row.kind) {
            Some(Kind::Cpu(cpu)) => cpu,
            _ => UNKNOWN_CPU,
        };
        if let Some(start) = start.filter(|_| first.is_some()) {
            self.log.custom_event(&mut buffer, self.at(start), &FILLER)?;
        }
        let mut open: Vec<OpenCall> = Vec::new();
        loop {
            let next = rows.peek().map(|row| row.begin);
            let has_ended =
                |last: &OpenCall| last.end != OPEN && next.is_none_or(|next| last.end <= next);
            if open.last().is_some_and(has_ended) {
                open.pop().map_or(Ok(()), |call| self.exit(&mut buffer, &call))?;
            } else if let Some(row) = rows.next().map_err(ExportError::Temporary)? {
                self.row(&mut buffer, &mut open, row)?;
            } else {
                break;
            }
        }
        self.counts.open += open.len() as u64;
        Ok(self.log.write(&mut buffer)?)
    }

    fn row(
        &mut self,
        buffer: &mut Buffer,
        open: &mut Vec<OpenCall>,
        row: Row,
    ) -> Result<(), ExportError> {
        let (function, ending) = match row.kind {
            Kind::Cpu(cpu) => {
                self.cpu = cpu;
                // Entries that wait are earlier. The next record has the CPU.
                let at = self.at(row.begin);
                let is_next = open.last().is_none_or(|call| call.is_written);
                return if is_next { Ok(self.log.cpu(buffer, at)?) } else { Ok(()) };
            }
            Kind::Custom | Kind::Typed(_) => {
                self.enter_all(buffer, open)?;
                self.counts.events += 1;
                let (at, payload) = (self.at(row.begin), (self.read)(row)?);
                match row.kind {
                    Kind::Typed(number) if self.version >= MetadataKind::TypedEvent.since() => {
                        self.log.typed_event(buffer, at, number, &payload)?
                    }
                    _ => self.log.custom_event(buffer, at, &payload)?,
                }
                return Ok(());
            }
            Kind::Call(function, ending) => (function, ending),
        };
        let limit = open.last().map_or(OPEN, |around| around.end);
        let end = row.end.min(limit);
        self.counts.cut += u64::from(row.end > limit && row.end != OPEN);
        self.counts.open += u64::from(row.end == OPEN && limit != OPEN);
        let function = (self.function)(function);
        open.push(OpenCall { row, function, end, ending, cpu: self.cpu, is_written: false });
        if end - row.begin >= self.threshold {
            self.enter_all(buffer, open)?;
        }
        Ok(())
    }

    /// Writes the entries of open calls. Those of short calls wait for an event, as in LLVM's
    /// runtime, which removes a call only if nothing was recorded in it.
    fn enter_all(&mut self, buffer: &mut Buffer, open: &mut [OpenCall]) -> Result<(), ExportError> {
        let written = open.iter().rposition(|call| call.is_written).map_or(0, |last| last + 1);
        for call in open.iter_mut().skip(written) {
            let bytes = (self.read)(call.row)?;
            let words = bytes.chunks_exact(8).filter_map(|word| word.try_into().ok());
            let arguments: Vec<u64> = words.map(u64::from_le_bytes).collect();
            let stamp = Stamp { tsc: call.row.begin, cpu: call.cpu };
            self.log.entry_with_arguments(buffer, stamp, call.function, &arguments)?;
            self.counts.calls += 1;
            call.is_written = true;
        }
        Ok(())
    }

    fn exit(&mut self, buffer: &mut Buffer, call: &OpenCall) -> Result<(), ExportError> {
        if !call.is_written {
            self.counts.short += 1;
            return Ok(());
        }
        let action = match call.ending {
            Ending::Exit => Action::Exit,
            Ending::TailExit => Action::TailExit,
            Ending::Unwound => return Ok(()),
        };
        Ok(self.log.function(buffer, self.at(call.end), action, call.function)?)
    }

    fn at(&self, tsc: u64) -> Stamp {
        Stamp { tsc, cpu: self.cpu }
    }
}
