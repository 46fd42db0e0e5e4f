//! Calls of functions: durations of an entry and a return.
//!
//! A function that is left by unwinding, `longjmp` or the end of its thread has no return. Which
//! entry a return is of is decided by the address of the stack. An entry that finds a higher stack
//! than an open call shows that the call has ended, which is the kernel's rule, too.

use foldhash::HashMap;
use trace_format::{Argument, EventKind, ThreadKoids, Value, WriteError};

use super::instants::{event, inline, write_event, INSTANT};
use super::sink::RecordSink;

/// The most calls that are open at a time.
const MAX_OPEN: usize = 1 << 16;

/// The argument of a call whose return has no event.
const RETURNED: &str = "returned";

/// Calls that have begun, by their thread.
#[derive(Debug, Default)]
pub(super) struct Calls {
    open: HashMap<u64, Vec<Open>>,
    number: usize,
}

/// A call that has begun.
#[derive(Debug)]
struct Open {
    start: u64,
    place: ThreadKoids,
    category: Box<str>,
    name: Box<str>,
    stack: Option<u64>,
}

/// Category and name of a function.
pub(super) type Labels<'a> = (&'a str, &'a str);

impl Calls {
    /// Notes an entry with the address of the stack.
    pub(super) fn enter<S: RecordSink>(
        &mut self,
        writer: &mut S,
        (start, place): (u64, ThreadKoids),
        (category, name): Labels<'_>,
        stack: Option<u64>,
    ) -> Result<(), WriteError> {
        let mut result = Ok(());
        let calls = self.open.entry(place.thread).or_default();
        while calls.last().is_some_and(|call| stack.is_some() && call.stack < stack) {
            let ended = calls.pop().map_or(Ok(()), |call| call.write_without_return(writer));
            self.number -= 1;
            result = result.and(ended);
        }
        let (category, name) = (category.into(), name.into());
        let call = Open { start, place, category, name, stack };
        if self.number >= MAX_OPEN {
            return result.and(call.write_without_return(writer));
        }
        calls.push(call);
        self.number += 1;
        result
    }

    /// Ends the call of a function with this address of the stack at its entry, and writes it.
    /// A return without an entry is left out.
    pub(super) fn leave<S: RecordSink>(
        &mut self,
        writer: &mut S,
        (end, thread): (u64, u64),
        (category, name): Labels<'_>,
        stack: Option<u64>,
    ) -> Result<(), WriteError> {
        let Some(calls) = self.open.get_mut(&thread) else { return Ok(()) };
        let is_it =
            |call: &Open| (call.stack, &*call.category, &*call.name) == (stack, category, name);
        let Some(place) = calls.iter().rposition(is_it) else { return Ok(()) };
        let mut result = Ok(());
        // Calls inside of it have ended before.
        for (inner, call) in calls.drain(place..).enumerate() {
            self.number -= 1;
            let written = match inner {
                0 => call.write(writer, EventKind::DurationComplete { end }, &[]),
                _ => call.write_without_return(writer),
            };
            result = result.and(written);
        }
        if calls.is_empty() {
            self.open.remove(&thread);
        }
        result
    }

    /// Writes the calls that have not returned when their thread ends.
    pub(super) fn exit<S: RecordSink>(
        &mut self,
        writer: &mut S,
        thread: u64,
    ) -> Result<(), WriteError> {
        let calls = self.open.remove(&thread).unwrap_or_default();
        self.number -= calls.len();
        calls.iter().map(|call| call.write_without_return(writer)).fold(Ok(()), Result::and)
    }

    /// Writes the open calls as ones without a return: events are missing.
    pub(super) fn interrupt<S: RecordSink>(&mut self, writer: &mut S) -> Result<(), WriteError> {
        self.drain().iter().map(|call| call.write_without_return(writer)).fold(Ok(()), Result::and)
    }

    /// Writes the begins of the calls that are open at the end.
    pub(super) fn finish<S: RecordSink>(&mut self, writer: &mut S) -> Result<(), WriteError> {
        let calls = self.drain();
        let begins = calls.iter().map(|call| call.write(writer, EventKind::DurationBegin, &[]));
        begins.fold(Ok(()), Result::and)
    }

    fn drain(&mut self) -> Vec<Open> {
        self.number = 0;
        let mut calls: Vec<Open> = self.open.drain().flat_map(|(_, calls)| calls).collect();
        calls.sort_by_key(|call| call.start);
        calls
    }
}

impl Open {
    fn write_without_return<S: RecordSink>(&self, writer: &mut S) -> Result<(), WriteError> {
        self.write(writer, INSTANT, &[Argument::new(RETURNED, Value::Bool(false))])
    }

    fn write<S: RecordSink>(
        &self,
        writer: &mut S,
        kind: EventKind,
        arguments: &[Argument<'_>],
    ) -> Result<(), WriteError> {
        let labels = inline((&self.category, &self.name));
        write_event(writer, event(self.start, self.place, labels, kind, arguments))
    }
}
