//! A row of the table, and its form in the temporary file.

use std::cmp::Reverse;

use trace_analyze::catalog::{LabelId, ThreadId};

use super::kind::Kind;
use crate::sorted::Element;

/// A row of the table. Numbers that its kind does not have are 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) thread: ThreadId,
    pub(super) kind: Kind,
    /// Log records have none.
    pub(super) label: LabelId,
    pub(super) begin: u64,
    /// The begin of a duration in ticks: several durations can begin in one nanosecond.
    pub(super) ticks: u64,
    /// The end of a duration, and the begin of others.
    pub(super) end: u64,
    /// The length, rounded by itself.
    pub(super) length: u64,
    pub(super) own: u64,
    pub(super) id: u64,
    /// The number of the row in the archive, or its complement: of equal durations, the inner one
    /// ends first.
    pub(super) number: u64,
    /// The cells of arguments and message, or an empty text if both are empty.
    pub(super) text: Box<str>,
}

impl Row {
    /// Creates a row without numbers and texts.
    pub(super) fn new(thread: ThreadId, kind: Kind, label: LabelId, begin: u64) -> Self {
        let (ticks, end, text) = (u64::MAX, begin, Box::default());
        let (length, own, id, number) = (0, 0, 0, 0);
        Self { thread, kind, label, begin, ticks, end, length, own, id, number, text }
    }
}

/// The order is that of begins. Outer durations precede inner ones, and all precede other events.
impl Element for Row {
    type Key = (u64, u64, Reverse<u64>, u64);

    #[inline]
    fn thread(&self) -> ThreadId {
        self.thread
    }

    #[inline]
    fn key(&self) -> Self::Key {
        (self.begin, self.ticks, Reverse(self.end), self.number)
    }

    #[inline]
    fn owned_bytes(&self) -> usize {
        self.text.len()
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        let Self { begin, ticks, end, length, own, id, number, .. } = *self;
        let numbers = [begin, ticks, end, length, own, id, number, self.text.len() as u64];
        bytes.extend_from_slice(numbers.map(u64::to_le_bytes).as_flattened());
        bytes.extend_from_slice(&self.label.0.to_le_bytes());
        bytes.push(self.kind as u8);
        bytes.extend_from_slice(self.text.as_bytes());
    }

    fn read(bytes: &[u8], thread: ThreadId) -> Option<(Self, usize)> {
        let mut rest = bytes;
        let mut number = || take(&mut rest).map(u64::from_le_bytes);
        let [begin, ticks, end, length] = [number()?, number()?, number()?, number()?];
        let [own, id, number, size] = [number()?, number()?, number()?, number()?];
        let label = LabelId(u32::from_le_bytes(take(&mut rest)?));
        let [kind] = take(&mut rest)?;
        let kind = *Kind::ALL.get(usize::from(kind))?;
        let (text, rest) = rest.split_at_checked(size as usize)?;
        let text = std::str::from_utf8(text).ok()?.into();
        let row = Self { thread, kind, label, begin, ticks, end, length, own, id, number, text };
        Some((row, bytes.len() - rest.len()))
    }
}

/// Removes the first bytes.
#[inline]
fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}
