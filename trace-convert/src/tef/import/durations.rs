//! Ends of durations, for readers of FXT.
//!
//! An end of FXT closes the innermost duration of its thread, whatever its name. An end in a
//! document closes the innermost one of its category and name; viewers ignore an end that has none,
//! and close the durations within one that ends.
//!
//! Viewers sort events by time. If a thread's times step back, its begins in the document are not
//! those that are open for viewers, so that its ends stay as they are from there on.

use std::collections::hash_map::{Entry, HashMap};

use trace_analyze::pairing::OpenBegins;
use trace_format::ThreadKoids;

use super::ids::hash;
use super::MAX_NAMED;

/// The durations that have begun and not ended.
#[derive(Debug)]
pub(super) struct Durations {
    open: OpenBegins<ThreadKoids, Label>,
    /// The last time of each thread; `None` if its ends stay as they are.
    times: HashMap<ThreadKoids, Option<u64>>,
}

/// A category and a name, as numbers; `None` if it is empty.
type Label = [Option<u64>; 2];

/// What an end closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closed {
    /// A duration with so many others within it that have not ended.
    Around(usize),
    /// None of those that are open.
    Nothing,
}

impl Default for Durations {
    fn default() -> Self {
        Self { open: OpenBegins::new(MAX_NAMED), times: HashMap::new() }
    }
}

impl Durations {
    pub(super) fn begin(&mut self, place: (u64, ThreadKoids), category: &str, name: &str) {
        if self.is_in_order(place) {
            self.open.begin(place.1, label(category, name));
        }
    }

    pub(super) fn end(&mut self, place: (u64, ThreadKoids), category: &str, name: &str) -> Closed {
        let thread = &place.1;
        if !self.is_in_order(place) || !self.open.has(thread) {
            // The begin may be before the document's start. No reader closes another one.
            return Closed::Around(0);
        }
        let end = label(category, name);
        let is_same = |(begin, end): (&Option<u64>, &Option<u64>)| end.is_none() || begin == end;
        match self.open.end(thread, |begin| begin.iter().zip(&end).all(is_same)) {
            Some((_, inside)) => {
                self.open.cut(thread, inside);
                Closed::Around(inside)
            }
            None => Closed::Nothing,
        }
    }

    /// Tells whether a thread's events are in order up to this time.
    fn is_in_order(&mut self, (ticks, thread): (u64, ThreadKoids)) -> bool {
        let is_full = self.times.len() == MAX_NAMED;
        let last = match self.times.entry(thread) {
            Entry::Occupied(last) => last.into_mut(),
            Entry::Vacant(_) if is_full => return false,
            Entry::Vacant(none) => none.insert(Some(ticks)),
        };
        match last {
            Some(time) if *time <= ticks => *time = ticks,
            Some(_) => {
                *last = None;
                self.open.forget(&thread);
            }
            None => {}
        }
        last.is_some()
    }
}

fn label(category: &str, name: &str) -> Label {
    [category, name].map(|text| (!text.is_empty()).then(|| hash(&[text.as_bytes()])))
}
