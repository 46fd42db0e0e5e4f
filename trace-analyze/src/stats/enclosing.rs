//! The groups of durations, for the events within them.

use std::cmp::Reverse;
use std::collections::HashMap;

use trace_format::ThreadKoids;

use crate::pairing::MAX_SEARCH;
use crate::spans::Span;

/// The most durations.
const MAX_DURATIONS: usize = 4 << 20;

/// The durations with a group, by thread.
#[derive(Debug, Default)]
pub(super) struct Enclosing {
    threads: HashMap<ThreadKoids, Vec<Outer>>,
    number: usize,
    /// Durations beyond the limit.
    pub(super) left_out: u64,
}

/// A duration, in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Outer {
    begin: u64,
    end: u64,
    group: u32,
    /// The place of the duration around it.
    around: Option<u32>,
}

impl Enclosing {
    /// Adds a duration with its group.
    pub(super) fn add<V>(&mut self, span: &Span<V>, group: u32) {
        if self.number >= MAX_DURATIONS {
            self.left_out += 1;
            return;
        }
        let (begin, end) = (span.rate.to_nanos(span.begin), span.rate.to_nanos(span.end));
        let outer = Outer { begin, end, group, around: None };
        self.threads.entry(span.koids).or_default().push(outer);
        self.number += 1;
    }

    /// Finds the durations around each other, at the end of the archive.
    pub(super) fn finish(&mut self) {
        self.threads.values_mut().for_each(|thread| nest(thread));
    }

    /// Returns the group of the innermost duration around a time of a thread.
    pub(super) fn group(&self, thread: ThreadKoids, begin: u64, end: u64) -> Option<u32> {
        let outers = self.threads.get(&thread)?;
        let begun = outers.partition_point(|outer| outer.begin <= begin);
        let last = begun.checked_sub(1).and_then(|place| outers.get(place));
        let around = |outer: &&Outer| outers.get(outer.around? as usize);
        let mut open = std::iter::successors(last, around).take(MAX_SEARCH);
        open.find(|outer| outer.is_around(begin, end)).map(|outer| outer.group)
    }
}

impl Outer {
    /// Returns whether a duration is within this one. It may end later.
    fn is_around(&self, begin: u64, end: u64) -> bool {
        match self.begin == begin {
            true => self.end >= end,
            false => self.begin < begin && self.end > begin,
        }
    }
}

/// Sorts the durations of a thread, and finds those around each other.
fn nest(outers: &mut [Outer]) {
    outers.sort_by_key(|outer| (outer.begin, Reverse(outer.end)));
    let mut open: Vec<(u32, u64)> = Vec::new();
    for (place, outer) in (0..).zip(outers) {
        while open.last().is_some_and(|(_, end)| *end <= outer.begin) {
            open.pop();
        }
        outer.around = open.last().map(|(place, _)| *place);
        open.push((place, outer.end));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const THREAD: ThreadKoids = ThreadKoids::new(1, 5);

    fn of(durations: &[(u64, u64)]) -> Enclosing {
        let mut enclosing = Enclosing::default();
        let outers = durations.iter().zip(0..);
        let outers = outers.map(|((begin, end), group)| Outer {
            begin: *begin,
            end: *end,
            group,
            around: None,
        });
        enclosing.threads.insert(THREAD, outers.collect());
        enclosing.finish();
        enclosing
    }

    #[test]
    fn the_innermost_duration_has_the_group() {
        let enclosing = of(&[(0, 100), (10, 20), (12, 14), (30, 40)]);
        let groups = [(13, 13), (14, 16), (20, 25), (35, 60), (100, 100), (12, 18), (12, 12)]
            .map(|(begin, end)| enclosing.group(THREAD, begin, end));
        assert_eq!(groups, [Some(2), Some(1), Some(0), Some(3), None, Some(1), Some(2)]);
        assert_eq!(enclosing.group(ThreadKoids::new(1, 6), 13, 13), None);
    }

    /// Returns nested durations, by the lengths of the gaps before, in and after them.
    fn nested(from: u64, tree: &[u64], depth: usize) -> Vec<(u64, u64)> {
        let Some((gap, rest)) = tree.split_first().filter(|_| depth < 6) else { return Vec::new() };
        let (within, after) = rest.split_at(rest.len() / 2);
        let begin = from + gap;
        let inner = nested(begin, within, depth + 1);
        let end = inner.iter().map(|(_, end)| *end).max().unwrap_or(begin) + gap;
        let next = nested(end, after, depth + 1);
        [vec![(begin, end)], inner, next].concat()
    }

    proptest! {
        #[test]
        fn same_as_by_search(tree in prop::collection::vec(1..4u64, 0..40), at in 0..120u64) {
            let durations = nested(0, &tree, 0);
            let around = durations.iter().zip(0..).filter(|((begin, end), _)| {
                *begin == at || *begin < at && at < *end
            });
            let expected = around.max_by_key(|((begin, end), _)| (*begin, Reverse(*end)));
            prop_assert_eq!(
                of(&durations).group(THREAD, at, at),
                expected.map(|(_, group)| group)
            );
        }
    }
}
