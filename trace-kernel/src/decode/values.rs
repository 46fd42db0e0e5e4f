//! The values of an event's fields, by their place in the list of its kind.

use trace_format::layout::ThreadState;

use crate::byte_order::ByteOrder;
use crate::event::Task;
use crate::format::{EventFormat, Field, Value};

/// The fields of an event.
pub(super) struct Values<'a> {
    pub(super) fields: &'a [Option<Field>],
    /// The states of threads, by their bit.
    pub(super) states: &'a [(u64, ThreadState)],
    pub(super) format: &'a EventFormat,
    pub(super) payload: &'a [u8],
    pub(super) order: ByteOrder,
}

impl<'a> Values<'a> {
    fn value(&self, index: usize) -> Option<Value<'a>> {
        self.fields.get(index)?.as_ref()?.value(self.payload, self.order)
    }

    #[inline]
    pub(super) fn integer(&self, index: usize) -> Option<i64> {
        self.fields.get(index)?.as_ref()?.integer(self.payload, self.order)
    }

    pub(super) fn text(&self, index: usize) -> Option<&'a str> {
        match self.value(index)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn thread(&self, index: usize) -> Option<u64> {
        self.integer(index)?.try_into().ok()
    }

    pub(super) fn cpu(&self, index: usize) -> Option<u16> {
        self.integer(index)?.try_into().ok()
    }

    /// Returns the thread of three fields: name, id and priority.
    pub(super) fn task(&self, index: usize) -> Option<Task<'a>> {
        let priority = Some(self.integer(index + 2)?.try_into().ok()?);
        Some(Task { name: self.text(index)?, thread: self.thread(index + 1)?, priority })
    }

    /// Returns the state of which the field has the bit. Without one the thread can run.
    pub(super) fn state(&self, index: usize) -> Option<ThreadState> {
        let bits = self.integer(index)? as u64;
        let state = self.states.iter().find(|(bit, _)| bits & bit != 0);
        Some(state.map_or(ThreadState::RUNNING, |(_, state)| *state))
    }

    /// Returns an array of numbers.
    pub(super) fn numbers<const N: usize>(&self, index: usize) -> Option<[u64; N]> {
        let Value::Bytes(bytes) = self.value(index)? else { return None };
        let mut numbers = [0; N];
        // Kernels of 32 bits have smaller numbers.
        let size = bytes.len() / N;
        if size == 8 {
            for (number, bytes) in numbers.iter_mut().zip(bytes.chunks_exact(8)) {
                *number = self.order.eight(bytes.first_chunk()?);
            }
            return Some(numbers);
        }
        for (number, bytes) in numbers.iter_mut().zip(bytes.chunks(size.max(1))) {
            *number = self.order.number(bytes)?;
        }
        Some(numbers)
    }

    /// Returns the name that the event's text has for a field's number, or none.
    pub(super) fn symbol(&self, index: usize) -> Option<&'a str> {
        Some(self.format.symbol(self.integer(index)? as u64).unwrap_or_default())
    }
}
