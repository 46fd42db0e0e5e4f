//! Records in the order of time.
//!
//! perf writes the records of one ring buffer after those of another, in rounds: when a round ends,
//! all records with times up to the last of the round before are in the file.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// The most bytes of records that wait. Beyond them, the oldest is returned.
const MAX_BYTES: usize = if cfg!(test) { 1 << 10 } else { 256 << 20 };

/// Puts records in the order of time.
#[derive(Debug)]
pub(super) struct Sorter<T> {
    waiting: BinaryHeap<Reverse<Waiting<T>>>,
    /// The number of records so far.
    number: u64,
    bytes: usize,
    /// The time up to which records are complete.
    complete: u64,
    /// The last time when the last round ended, and that of all records.
    last_of_round: u64,
    last: u64,
    /// The time of the record that was returned last.
    returned: u64,
    /// The number of records that were returned after later ones.
    late: u64,
}

#[derive(Debug)]
struct Waiting<T> {
    time: u64,
    number: u64,
    bytes: usize,
    record: T,
}

impl<T> Default for Sorter<T> {
    fn default() -> Self {
        let (number, bytes, complete, last_of_round, last, returned, late) = Default::default();
        let waiting = BinaryHeap::new();
        Self { waiting, number, bytes, complete, last_of_round, last, returned, late }
    }
}

impl<T> Sorter<T> {
    /// Adds a record of a time, which needs so many bytes of memory. One without a time has the
    /// time 0, and is returned before all others.
    pub(super) fn add(&mut self, time: u64, bytes: usize, record: T) {
        let number = self.number;
        self.number += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.last = self.last.max(time);
        self.waiting.push(Reverse(Waiting { time, number, bytes, record }));
    }

    /// Ends a round.
    pub(super) fn end_round(&mut self) {
        self.complete = self.complete.max(self.last_of_round);
        self.last_of_round = self.last;
    }

    /// Ends all rounds.
    pub(super) fn end(&mut self) {
        self.complete = u64::MAX;
    }

    /// Returns the next record and its time, unless an earlier one may follow.
    pub(super) fn next(&mut self) -> Option<(u64, T)> {
        let Reverse(first) = self.waiting.peek()?;
        if first.time > self.complete && self.bytes <= MAX_BYTES {
            return None;
        }
        let Reverse(Waiting { time, bytes, record, .. }) = self.waiting.pop()?;
        self.bytes = self.bytes.saturating_sub(bytes);
        self.late += u64::from(time > 0 && time < self.returned);
        self.returned = self.returned.max(time);
        Some((time, record))
    }

    /// Returns the number of records that were returned after later ones.
    pub(super) fn late(&self) -> u64 {
        self.late
    }
}

impl<T> Ord for Waiting<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.time, self.number).cmp(&(other.time, other.number))
    }
}

impl<T> PartialOrd for Waiting<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Waiting<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Waiting<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready(sorter: &mut Sorter<char>) -> String {
        std::iter::from_fn(|| sorter.next()).map(|(_, record)| record).collect()
    }

    #[test]
    fn records_of_a_round_wait_for_the_next_one() {
        let mut sorter = Sorter::default();
        for (time, record) in [(5, 'c'), (0, 'a'), (3, 'b'), (5, 'd')] {
            sorter.add(time, 1, record);
        }
        assert_eq!(ready(&mut sorter), "a");
        sorter.end_round();
        assert_eq!(ready(&mut sorter), "");
        sorter.add(9, 1, 'f');
        sorter.add(4, 1, '4');
        sorter.end_round();
        assert_eq!(ready(&mut sorter), "b4cd");
        sorter.add(6, 1, 'e');
        sorter.end();
        assert_eq!((&*ready(&mut sorter), sorter.late()), ("ef", 0));
    }

    #[test]
    fn memory_is_limited() {
        let mut sorter = Sorter::default();
        for time in 1..=8 {
            sorter.add(time, MAX_BYTES / 4, 'x');
            let ready = ready(&mut sorter);
            assert_eq!(ready, if time > 4 { "x" } else { "" }, "{time}");
        }
        sorter.add(1, 1, 'y');
        sorter.end();
        assert_eq!((&*ready(&mut sorter), sorter.late()), ("yxxxx", 1));
    }
}
