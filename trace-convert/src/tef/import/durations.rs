//! Ends of durations, for readers of FXT.
//!
//! An end of FXT closes the innermost duration of its thread, whatever its name. An end in a
//! document closes the innermost one of its category and name; viewers ignore an end that has none,
//! and close the durations within one that ends.

use trace_analyze::pairing::OpenBegins;
use trace_format::ThreadKoids;

use super::ids::hash;
use super::MAX_NAMED;

/// The durations that have begun and not ended.
#[derive(Debug)]
pub(super) struct Durations(OpenBegins<ThreadKoids, Label>);

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
        Self(OpenBegins::new(MAX_NAMED))
    }
}

impl Durations {
    pub(super) fn begin(&mut self, thread: ThreadKoids, category: &str, name: &str) {
        self.0.begin(thread, label(category, name));
    }

    pub(super) fn end(&mut self, thread: ThreadKoids, category: &str, name: &str) -> Closed {
        if !self.0.has(&thread) {
            // The begin may be before the document's start. No reader closes another one.
            return Closed::Around(0);
        }
        let end = label(category, name);
        let is_same = |(begin, end): (&Option<u64>, &Option<u64>)| end.is_none() || begin == end;
        match self.0.end(&thread, |begin| begin.iter().zip(&end).all(is_same)) {
            Some((_, inside)) => {
                self.0.cut(&thread, inside);
                Closed::Around(inside)
            }
            None => Closed::Nothing,
        }
    }
}

fn label(category: &str, name: &str) -> Label {
    [category, name].map(|text| (!text.is_empty()).then(|| hash(&[text.as_bytes()])))
}
