//! The open calls of a thread, with the number of those of each function.
//!
//! A log may have any number of exits without an entry. To search all open calls for each of them
//! takes the product of both numbers. So functions are counted, but only when an exit is not that
//! of the innermost call: other entries and exits cost nothing.

use std::collections::HashMap;
use std::vec::Drain;

use super::Frame;
use crate::record::FunctionId;

/// The open calls of a thread.
#[derive(Debug, Default)]
pub(super) struct Open {
    frames: Vec<Frame>,
    /// The calls of each function among the first `counted` ones.
    counts: HashMap<FunctionId, usize>,
    counted: usize,
    /// The frames that were looked at other than the innermost one.
    #[cfg(test)]
    work: usize,
}

impl Open {
    /// Returns the open calls, the outermost one first.
    pub(super) fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// Adds a call.
    pub(super) fn push(&mut self, frame: Frame) {
        self.frames.push(frame);
    }

    /// Returns the index of the innermost call of a function, if there is one.
    #[inline]
    pub(super) fn find(&mut self, function: FunctionId) -> Option<usize> {
        match self.frames.last() {
            Some(last) if last.function == function => Some(self.frames.len() - 1),
            _ => self.find_below(function),
        }
    }

    /// Searches the calls only if the function has one: then all calls that it looks at end.
    #[inline(never)]
    fn find_below(&mut self, function: FunctionId) -> Option<usize> {
        for frame in self.frames.get(self.counted..).unwrap_or_default() {
            *self.counts.entry(frame.function).or_default() += 1;
        }
        let searched = self.frames.len() - self.counted;
        self.note_work(searched);
        self.counted = self.frames.len();
        self.counts.get(&function)?;
        let found = self.frames.iter().rposition(|frame| frame.function == function);
        self.note_work(self.frames.len() - found.unwrap_or(0));
        found
    }

    /// Removes the calls from an index on.
    #[inline]
    pub(super) fn drain(&mut self, from: usize) -> Drain<'_, Frame> {
        if from < self.counted {
            self.uncount(from);
        }
        self.frames.drain(from..)
    }

    #[inline(never)]
    fn uncount(&mut self, from: usize) {
        self.note_work(self.counted - from);
        for frame in self.frames.get(from..self.counted).unwrap_or_default() {
            let count = self.counts.get_mut(&frame.function).map_or(0, |count| {
                *count -= 1;
                *count
            });
            if count == 0 {
                self.counts.remove(&frame.function);
            }
        }
        self.counted = from;
    }

    fn note_work(&mut self, _frames: usize) {
        #[cfg(test)]
        {
            self.work += _frames;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u32) -> FunctionId {
        FunctionId::new(number).unwrap()
    }

    fn frame(number: u32) -> Frame {
        Frame { function: id(number), entered: 0 }
    }

    /// The work grows with the sum of calls and exits, not with their product.
    #[test]
    fn exits_without_an_entry_do_not_search_all_calls() {
        const CALLS: usize = 10_000;
        let mut open = Open::default();
        for number in 0..CALLS {
            open.push(frame(1 + number as u32 % 7));
            assert_eq!(open.find(id(100)), None);
            // A call inside ends as usual.
            open.push(frame(50));
            assert_eq!(open.find(id(100)), None);
            assert_eq!(open.find(id(50)), Some(number + 1));
            open.drain(number + 1);
        }
        assert!(open.work <= 8 * CALLS, "{}", open.work);
        // Each exit ends the calls that it looks at.
        while let Some(at) = open.find(id(3)) {
            open.drain(at);
        }
        assert!(open.work <= 16 * CALLS, "{}", open.work);
        assert_eq!(open.frames().len(), 2);
    }

    #[test]
    fn the_innermost_call_of_a_function_is_found() {
        let mut open = Open::default();
        [1, 2, 1, 3].into_iter().for_each(|number| open.push(frame(number)));
        assert_eq!(
            [4, 3, 1, 2].map(|number| open.find(id(number))),
            [None, Some(3), Some(2), Some(1)]
        );
        open.drain(2);
        open.push(frame(4));
        assert_eq!([1, 3, 4].map(|number| open.find(id(number))), [Some(0), None, Some(2)]);
        open.drain(0);
        assert_eq!(open.find(id(1)), None);
        assert!(open.counts.is_empty());
    }
}
