//! Frequent events, whose fields are read without an [`Entry`](crate::Entry).

use trace_format::WriteError;

use super::super::frequent::{Switch, Wakeup, REGISTERS};
use super::super::sink::RecordSink;
use super::super::threads::Comm;
use super::Translator;

impl Translator {
    /// Begins a system call of a thread, like [`entry`](Self::entry).
    #[inline]
    pub(crate) fn enter(
        &mut self,
        (ticks, thread): (u64, u64),
        number: i64,
        registers: [u64; REGISTERS],
    ) {
        if !self.is_recorder(thread) {
            self.system_calls.begin(ticks, self.threads.koids(thread), number, registers);
        }
    }

    /// Ends a system call of a thread, like [`entry`](Self::entry).
    #[inline]
    pub(crate) fn leave<S: RecordSink>(
        &mut self,
        writer: &mut S,
        (ticks, thread): (u64, u64),
        number: i64,
        result: i64,
    ) -> Result<(), WriteError> {
        if self.is_recorder(thread) {
            return Ok(());
        }
        self.system_calls.end(writer, ticks, self.threads.koids(thread), (number, result))
    }

    /// Writes a switch with the names of its threads, like [`entry`](Self::entry).
    #[inline]
    pub(crate) fn switch<S: RecordSink>(
        &mut self,
        writer: &mut S,
        switch: &Switch,
        names: [&Comm; 2],
    ) -> Result<(), WriteError> {
        let (outgoing, incoming) = (switch.outgoing.0, switch.incoming.0);
        if let Some(start) = &mut self.start {
            let is_hidden = start.hides_switch(&self.threads, outgoing, incoming);
            start.note_switch(outgoing);
            if is_hidden {
                return Ok(());
            }
        }
        self.threads.note_comm(writer, outgoing, names[0])?;
        self.threads.note_comm(writer, incoming, names[1])?;
        self.wakeups.run(incoming);
        writer.switch(switch)
    }

    /// Writes a wake-up by a thread with the name of the woken one, like [`entry`](Self::entry).
    #[inline]
    pub(crate) fn wake<S: RecordSink>(
        &mut self,
        writer: &mut S,
        wakeup: &Wakeup,
        (by, name): (u64, &Comm),
    ) -> Result<(), WriteError> {
        let thread = wakeup.thread.0;
        if self.start.as_ref().is_some_and(|it| it.is_between(&self.threads, by, thread)) {
            return Ok(());
        }
        self.threads.note_comm(writer, thread, name)?;
        self.wakeups.wake(thread);
        writer.wakeup(wakeup)
    }
}
