//! Open begins, for streams in the order of time, where each end comes after its begin.

use std::collections::HashMap;
use std::hash::Hash;

use super::innermost;

/// The begins on each track without an end so far.
#[derive(Debug)]
pub struct OpenBegins<K, T> {
    open: HashMap<K, Vec<T>>,
    count: usize,
    max_count: usize,
}

impl<K: Hash + Eq, T> OpenBegins<K, T> {
    /// Creates a set that keeps at most `max_count` begins.
    #[must_use]
    pub fn new(max_count: usize) -> Self {
        Self { open: HashMap::new(), count: 0, max_count }
    }

    /// Adds a begin, and returns whether it is kept.
    pub fn begin(&mut self, track: K, begin: T) -> bool {
        let is_kept = self.count < self.max_count;
        if is_kept {
            self.open.entry(track).or_default().push(begin);
            self.count += 1;
        }
        is_kept
    }

    /// Returns the innermost open begin of a track that matches.
    pub fn find(&self, track: &K, matches: impl Fn(&T) -> bool) -> Option<&T> {
        let open = self.open.get(track)?;
        open.get(innermost(open, matches)?)
    }

    /// Removes the innermost open begin of a track that matches. Returns it, with the number of
    /// begins in it, which stay open.
    pub fn end(&mut self, track: &K, matches: impl Fn(&T) -> bool) -> Option<(T, usize)> {
        let open = self.open.get_mut(track)?;
        let place = innermost(open, matches)?;
        let inside = open.len() - 1 - place;
        let begin = open.remove(place);
        if open.is_empty() {
            self.open.remove(track);
        }
        self.count -= 1;
        Some((begin, inside))
    }

    /// Removes the `number` innermost open begins of a track.
    pub fn cut(&mut self, track: &K, number: usize) {
        for _ in 0..number {
            self.end(track, |_| true);
        }
    }

    /// Removes all open begins of a track.
    pub fn forget(&mut self, track: &K) {
        self.count -= self.open.remove(track).map_or(0, |open| open.len());
    }

    /// Removes all open begins of the tracks for which `keep` returns `false`.
    pub fn retain(&mut self, keep: impl Fn(&K) -> bool) {
        self.open.retain(|track, _| keep(track));
        self.count = self.open.values().map(Vec::len).sum();
    }

    /// Returns the number of open begins of a track. [`MAX_SEARCH`](super::MAX_SEARCH) of them are
    /// searched for the begin of an end.
    #[must_use]
    pub fn depth(&self, track: &K) -> usize {
        self.open.get(track).map_or(0, Vec::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_takes_the_innermost_begin_that_matches() {
        let mut open = OpenBegins::new(3);
        for begin in ["a", "b", "a"] {
            assert!(open.begin(1, begin));
        }
        assert!(!open.begin(1, "too many"));
        assert_eq!(open.depth(&1), 3);
        assert_eq!(open.find(&1, |begin| *begin == "b"), Some(&"b"));
        assert_eq!(open.end(&1, |begin| *begin == "too many"), None);
        assert_eq!(open.end(&2, |_| true), None);
        assert_eq!(open.end(&1, |begin| *begin == "b"), Some(("b", 1)));
        assert_eq!(open.end(&1, |begin| *begin == "a"), Some(("a", 0)));
        open.begin(1, "c");
        open.cut(&1, 1);
        assert_eq!(open.end(&1, |_| true), Some(("a", 0)));
        assert_eq!(open.depth(&1), 0);
        open.begin(1, "d");
        open.forget(&1);
        open.forget(&2);
        assert_eq!(open.depth(&1), 0);
        assert!(open.begin(1, "e") && open.begin(2, "e"));
        open.retain(|track| *track != 1);
        assert_eq!((open.depth(&1), open.depth(&2), open.count), (0, 1, 1));
        open.forget(&2);
        assert_eq!(open.count, 0);
    }
}
