//! System calls: durations of a begin and an end.

use trace_format::layout::{cut_str, MAX_STRING_BYTES};
use trace_format::{Event, EventKind, Thread, ThreadKoids, Value, WriteError};

use super::call_names::CallNames;
use super::frequent::{SystemCall, REGISTERS};
use super::labels::Label;
use super::list::List;
use super::sink::RecordSink;
use crate::by_thread::ByThread;

/// The labels of the registers.
pub(crate) const LABELS: [Label; REGISTERS] = [
    Label::Argument0,
    Label::Argument1,
    Label::Argument2,
    Label::Argument3,
    Label::Argument4,
    Label::Argument5,
];

/// The most system calls that are open at a time.
const MAX_OPEN: usize = 1 << 16;

/// The number at the exit of `rt_sigreturn`.
const NO_SYSCALL: i64 = -1;

/// The system calls of all threads.
#[derive(Debug, Default)]
pub(super) struct SystemCalls {
    names: CallNames,
    /// The last one of each thread. It is kept when it has ended, because another one follows.
    last: ByThread<Last>,
}

/// The last system call of a thread.
#[derive(Debug, Default)]
struct Last {
    is_open: bool,
    process: u64,
    start: u64,
    number: i64,
    registers: [u64; REGISTERS],
}

impl SystemCalls {
    /// Names system calls.
    pub(super) fn name(&mut self, names: CallNames) {
        self.names = names;
    }

    /// Begins a system call. One that is open in the same thread has lost its end, and is dropped.
    #[inline]
    pub(super) fn begin(
        &mut self,
        start: u64,
        ThreadKoids { process, thread }: ThreadKoids,
        number: i64,
        registers: [u64; REGISTERS],
    ) {
        if self.last.len() < MAX_OPEN || self.has_place(thread) {
            let is_open = true;
            *self.last.entry(thread) = Last { is_open, process, start, number, registers };
        }
    }

    /// Returns whether the list of calls has a place for one of this thread.
    #[cold]
    fn has_place(&mut self, thread: u64) -> bool {
        if self.last.get(thread).is_none() {
            self.last.retain(|last| last.is_open);
        }
        self.last.get(thread).is_some() || self.last.len() < MAX_OPEN
    }

    /// Ends a system call, and writes it if its begin is there. [`NO_SYSCALL`] ends any.
    #[inline]
    pub(super) fn end<S: RecordSink>(
        &mut self,
        writer: &mut S,
        end: u64,
        thread: ThreadKoids,
        (number, result): (i64, i64),
    ) -> Result<(), WriteError> {
        let Some(last) = self.last.get_mut(thread.thread) else { return Ok(()) };
        let is_it = last.is_open && (last.number == number || number == NO_SYSCALL);
        last.is_open = false;
        if !is_it {
            return Ok(());
        }
        let Last { start, number, registers, .. } = *last;
        let (end, result, names) = (Some(end), Some(result), self.names);
        writer.call(&SystemCall { start, end, thread, number, names, registers, result })
    }

    /// Ends the system call in which a thread ends: it does not return.
    pub(super) fn exit<S: RecordSink>(
        &mut self,
        writer: &mut S,
        end: u64,
        thread: u64,
    ) -> Result<(), WriteError> {
        let open = self.last.remove(thread).filter(|last| last.is_open);
        open.map_or(Ok(()), |open| writer.call(&open.unfinished(thread, Some(end), self.names)))
    }

    /// Drops all calls: events are missing.
    pub(super) fn interrupt(&mut self) {
        self.last.clear();
    }

    /// Writes the begins of the calls that are open at the end.
    pub(super) fn finish<S: RecordSink>(&mut self, writer: &mut S) -> Result<(), WriteError> {
        let Self { names, last } = self;
        let open = last.drain().filter(|(_, last)| last.is_open);
        let mut open: Vec<_> =
            open.map(|(thread, last)| last.unfinished(thread, None, *names)).collect();
        open.sort_by_key(|call| call.start);
        open.iter().try_for_each(|call| writer.call(call))
    }
}

impl Last {
    fn unfinished(&self, thread: u64, end: Option<u64>, names: CallNames) -> SystemCall {
        let Self { process, start, number, registers, .. } = *self;
        let (thread, result) = (ThreadKoids::new(process, thread), None);
        SystemCall { start, end, thread, number, names, registers, result }
    }
}

/// Writes a system call as any other event.
///
/// # Errors
///
/// Those of [`RecordSink::record`].
pub fn write_call<S: RecordSink + ?Sized>(
    sink: &mut S,
    call: &SystemCall,
) -> Result<(), WriteError> {
    let Some(category) = sink.category(Label::Syscall) else { return Ok(()) };
    let mut list = List::new();
    list.push(sink.label(Label::Number), Value::Int64(call.number));
    for (label, register) in LABELS.into_iter().zip(call.registers) {
        list.push(sink.label(label), Value::Uint64(register));
    }
    if let Some(result) = call.result {
        list.push(sink.label(Label::Result), Value::Int64(result));
    }
    let name = call.names.name(call.number);
    let event = Event {
        ticks: call.start,
        thread: Thread::Inline(call.thread),
        category,
        name: sink.text(cut_str(&name, MAX_STRING_BYTES)),
        kind: call.end.map_or(EventKind::DurationBegin, |end| EventKind::DurationComplete { end }),
        arguments: list.as_slice().into(),
    };
    sink.record(&event.into())
}
