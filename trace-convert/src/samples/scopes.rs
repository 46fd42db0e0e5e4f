//! The times of the durations of each thread.

use std::collections::HashMap;

use trace_analyze::spans::Span;
use trace_format::ThreadKoids;

/// The times of the durations of each thread, in nanoseconds.
#[derive(Debug, Default)]
pub(super) struct Scopes(HashMap<ThreadKoids, Vec<(u64, u64)>>);

impl Scopes {
    pub(super) fn add(&mut self, span: &Span) {
        let (begin, end) = (span.rate.to_nanos(span.begin), span.rate.to_nanos(span.end));
        self.0.entry(span.koids).or_default().push((begin, end));
    }

    /// Joins the durations that overlap. It precedes [`Scopes::contain`].
    pub(super) fn sort(&mut self) {
        for times in self.0.values_mut() {
            times.sort_unstable();
            times.dedup_by(|(begin, end), (_, last)| {
                let overlaps = *begin <= *last;
                if overlaps {
                    *last = (*last).max(*end);
                }
                overlaps
            });
        }
    }

    /// Returns whether a thread has a duration at a time. A duration has its begin, but not its
    /// end.
    pub(super) fn contain(&self, koids: ThreadKoids, nanos: u64) -> bool {
        let times = self.0.get(&koids).map(Vec::as_slice).unwrap_or_default();
        let behind = times.partition_point(|(begin, _)| *begin <= nanos);
        let last = behind.checked_sub(1).and_then(|place| times.get(place));
        last.is_some_and(|(_, end)| nanos < *end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_that_overlap_are_joined() {
        let koids = ThreadKoids::new(1, 2);
        let times = vec![(50, 60), (10, 40), (20, 30), (60, 70)];
        let mut scopes = Scopes(HashMap::from([(koids, times)]));
        scopes.sort();
        assert_eq!(scopes.0[&koids], [(10, 40), (50, 70)]);
        let contained: Vec<u64> = [9, 10, 35, 40, 49, 50, 60, 69, 70]
            .into_iter()
            .filter(|it| scopes.contain(koids, *it))
            .collect();
        assert_eq!(contained, [10, 35, 50, 60, 69]);
        assert!(!scopes.contain(ThreadKoids::new(1, 3), 20));
    }
}
