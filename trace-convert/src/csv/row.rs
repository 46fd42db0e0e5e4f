//! A row of the table, and its form in the temporary file.

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
    /// The order of those that begin together: the complement of a duration's end, so that outer
    /// ones come first, and the number of other rows.
    pub(super) order: u64,
    /// The length, rounded by itself.
    pub(super) length: u64,
    pub(super) own: u64,
    pub(super) id: u64,
    /// The cells of arguments and message, or an empty text if both are empty.
    pub(super) text: Box<str>,
}

impl Row {
    /// Creates a row without numbers and texts.
    pub(super) fn new(thread: ThreadId, kind: Kind, label: LabelId, begin: u64) -> Self {
        let (ticks, order, text) = (u64::MAX, 0, Box::default());
        Self { thread, kind, label, begin, ticks, order, length: 0, own: 0, id: 0, text }
    }

    /// Returns the end of a duration.
    pub(super) fn end(&self) -> u64 {
        !self.order
    }
}

/// The order is that of begins, and durations precede other events. Of equal durations, the inner
/// one ends first.
impl Element for Row {
    type Order = (u64, u64);

    #[inline]
    fn thread(&self) -> ThreadId {
        self.thread
    }

    #[inline]
    fn begin(&self) -> u64 {
        self.begin
    }

    #[inline]
    fn order(&self) -> (u64, u64) {
        (self.ticks, self.order)
    }

    #[inline]
    fn owned_bytes(&self) -> usize {
        self.text.len()
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        let Self { begin, ticks, order, length, own, id, .. } = *self;
        let numbers = [begin, ticks, order, length, own, id].map(u64::to_le_bytes);
        let indexes = [self.label.0, self.text.len() as u32].map(u32::to_le_bytes);
        bytes.extend_from_slice(numbers.as_flattened());
        bytes.extend_from_slice(indexes.as_flattened());
        bytes.push(self.kind as u8);
        bytes.extend_from_slice(self.text.as_bytes());
    }

    fn read(bytes: &[u8], thread: ThreadId) -> Option<(Self, usize)> {
        let mut rest = bytes;
        let mut number = || take(&mut rest).map(u64::from_le_bytes);
        let [begin, ticks, order] = [number()?, number()?, number()?];
        let [length, own, id] = [number()?, number()?, number()?];
        let mut index = || take(&mut rest).map(u32::from_le_bytes);
        let (label, size) = (LabelId(index()?), index()?);
        let [kind] = take(&mut rest)?;
        let kind = *Kind::ALL.get(usize::from(kind))?;
        let (text, rest) = rest.split_at_checked(size as usize)?;
        let text = std::str::from_utf8(text).ok()?.into();
        let row = Self { thread, kind, label, begin, ticks, order, length, own, id, text };
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    prop_compose! {
        fn row()(
            indexes: [u32; 2],
            numbers: [u64; 6],
            kind in 0..Kind::ALL.len(),
            text in ".{0,40}",
        ) -> Row {
            let [begin, ticks, order, length, own, id] = numbers;
            let [thread, label] = indexes;
            let (thread, label, text) = (ThreadId(thread), LabelId(label), text.into());
            Row { thread, kind: Kind::ALL[kind], label, begin, ticks, order, length, own, id, text }
        }
    }

    proptest! {
        #[test]
        fn rows_are_read_as_they_were_written(rows in prop::collection::vec(row(), 1..4)) {
            let mut bytes = Vec::new();
            rows.iter().for_each(|row| row.write(&mut bytes));
            let mut rest = &bytes[..];
            for row in rows {
                let (read, size) = Row::read(rest, row.thread).unwrap();
                prop_assert!(Row::read(&rest[..size - 1], row.thread).is_none());
                prop_assert_eq!(read, row);
                rest = &rest[size..];
            }
            prop_assert!(rest.is_empty());
        }
    }
}
