//! Ends of durations, for readers of FXT.
//!
//! An end of FXT closes the innermost duration of its thread, regardless of its name. An end in a
//! document closes the innermost duration of its category and name, and all durations within it.
//! Viewers ignore an end without a matching begin.
//!
//! The ends of a thread are not changed any more once its open begins are unknown: if its times
//! decrease, because viewers sort by time, or if there are too many begins.

use std::collections::hash_map::{Entry, HashMap};

use trace_analyze::pairing::{OpenBegins, MAX_SEARCH};
use trace_format::ThreadKoids;

use super::ids::hash;
use super::MAX_NAMED;

/// The open durations.
#[derive(Debug)]
pub(super) struct Durations {
    open: OpenBegins<ThreadKoids, Label>,
    /// The last time of each thread; `None` if its ends are not changed any more.
    times: HashMap<ThreadKoids, Option<u64>>,
}

/// The hashes of category and name; `None` if empty.
type Label = [Option<u64>; 2];

/// The effect of an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closed {
    /// Closes a duration, and this number of open durations within it.
    Around(usize),
    /// Closes no open duration.
    Nothing,
}

impl Default for Durations {
    fn default() -> Self {
        Self { open: OpenBegins::new(MAX_NAMED), times: HashMap::new() }
    }
}

impl Durations {
    pub(super) fn begin(&mut self, place: (u64, ThreadKoids), category: &str, name: &str) {
        if self.is_in_order(place) && !self.open.begin(place.1, label(category, name)) {
            self.give_up(place.1);
        }
    }

    pub(super) fn end(&mut self, place: (u64, ThreadKoids), category: &str, name: &str) -> Closed {
        let thread = &place.1;
        let depth = if self.is_in_order(place) { self.open.depth(thread) } else { 0 };
        if depth == 0 {
            // The begin may precede the document. No other duration is closed.
            return Closed::Around(0);
        }
        let end = label(category, name);
        let is_same = |(begin, end): (&Option<u64>, &Option<u64>)| end.is_none() || begin == end;
        match self.open.end(thread, |begin| begin.iter().zip(&end).all(is_same)) {
            Some((_, inside)) => {
                self.open.cut(thread, inside);
                Closed::Around(inside)
            }
            None if depth > MAX_SEARCH => {
                self.give_up(*thread);
                Closed::Around(0)
            }
            None => Closed::Nothing,
        }
    }

    /// Returns whether a thread's events are in order up to this time.
    fn is_in_order(&mut self, (ticks, thread): (u64, ThreadKoids)) -> bool {
        let is_full = self.times.len() == MAX_NAMED;
        let last = match self.times.entry(thread) {
            Entry::Occupied(last) => last.into_mut(),
            Entry::Vacant(_) if is_full => return false,
            Entry::Vacant(none) => none.insert(Some(ticks)),
        };
        match last {
            Some(time) if *time <= ticks => {
                *time = ticks;
                true
            }
            Some(_) => {
                self.give_up(thread);
                false
            }
            None => false,
        }
    }

    /// Stops changing the ends of a thread.
    #[cold]
    fn give_up(&mut self, thread: ThreadKoids) {
        self.times.insert(thread, None);
        self.open.forget(&thread);
    }
}

fn label(category: &str, name: &str) -> Label {
    [category, name].map(|text| (!text.is_empty()).then(|| hash(&[text.as_bytes()])))
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREAD: ThreadKoids = ThreadKoids { process: 1, thread: 2 };

    #[test]
    fn ends_are_unchanged_after_an_unknown_begin() {
        let mut durations = Durations::default();
        durations.begin((0, THREAD), "", "a");
        for _ in 1..MAX_NAMED {
            durations.begin((0, ThreadKoids::new(1, 3)), "", "open");
        }
        durations.begin((1, THREAD), "", "b");
        assert_eq!(durations.end((2, THREAD), "", "b"), Closed::Around(0));
        assert_eq!(durations.end((3, THREAD), "", "a"), Closed::Around(0));
        // The begins of this thread were dropped, so that another thread has space.
        durations.begin((0, ThreadKoids::new(1, 4)), "", "c");
        assert_eq!(durations.end((1, ThreadKoids::new(1, 4)), "", "x"), Closed::Nothing);
    }

    #[test]
    fn ends_are_unchanged_beyond_the_search_limit() {
        let mut durations = Durations::default();
        durations.begin((0, THREAD), "", "a");
        for _ in 0..MAX_SEARCH {
            durations.begin((0, THREAD), "", "b");
        }
        assert_eq!(durations.end((1, THREAD), "", "a"), Closed::Around(0));
        assert_eq!(durations.end((1, THREAD), "", "x"), Closed::Around(0));
    }
}
