//! Operations and flows: a begin and an end that have an id in common.
//!
//! They may be of two threads, whose records stand in the archive in any
//! order: an end can come before its begin.

use std::collections::HashMap;

use trace_format::ThreadKoids;

use crate::catalog::LabelId;

/// The most that wait for their other half at once; others are only counted.
const MAX_OPEN: usize = 1 << 20;

/// What a begin and its end have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// The process, 0 if it does not matter.
    pub(crate) process: u64,
    pub(crate) label: LabelId,
    pub(crate) id: u64,
}

/// Where and when something began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Begin {
    pub(crate) nanos: u64,
    pub(crate) thread: ThreadKoids,
}

/// Begins and ends that wait for each other.
#[derive(Debug, Default)]
pub(crate) struct Links {
    waiting: HashMap<Key, Waiting>,
    begins: u64,
    ends: u64,
    /// Those that did not fit.
    begins_beyond: u64,
    ends_beyond: u64,
}

#[derive(Debug, Default)]
struct Waiting {
    begins: Vec<Begin>,
    ends: Vec<u64>,
}

impl Links {
    /// Takes a begin; returns when it ended, if its end has come before: the
    /// first one that is not earlier.
    pub(crate) fn begin(&mut self, key: Key, begin: Begin) -> Option<u64> {
        let has_room = self.has_room();
        let waiting = self.waiting.entry(key).or_default();
        let ends = waiting.ends.iter().enumerate();
        let end = ends.filter(|(_, end)| **end >= begin.nanos).min_by_key(|(_, end)| **end);
        if let Some((place, _)) = end {
            self.ends -= 1;
            let end = waiting.ends.swap_remove(place);
            self.tidy(key);
            return Some(end);
        }
        if has_room {
            waiting.begins.push(begin);
            self.begins += 1;
        } else {
            self.begins_beyond += 1;
            self.tidy(key);
        }
        None
    }

    /// Takes an end; returns its begin, of those that are not later the last
    /// one, if it has come before.
    pub(crate) fn end(&mut self, key: Key, nanos: u64) -> Option<Begin> {
        let has_room = self.has_room();
        let waiting = self.waiting.entry(key).or_default();
        let begin = waiting.begins.iter().rposition(|begin| begin.nanos <= nanos);
        if let Some(place) = begin {
            self.begins -= 1;
            let begin = waiting.begins.remove(place);
            self.tidy(key);
            return Some(begin);
        }
        if has_room {
            waiting.ends.push(nanos);
            self.ends += 1;
        } else {
            self.ends_beyond += 1;
            self.tidy(key);
        }
        None
    }

    fn has_room(&self) -> bool {
        self.begins + self.ends < MAX_OPEN as u64
    }

    /// Forgets a key for which nothing waits.
    fn tidy(&mut self, key: Key) {
        if self.waiting.get(&key).is_some_and(|of| of.begins.is_empty() && of.ends.is_empty()) {
            self.waiting.remove(&key);
        }
    }

    /// Returns how many have not ended.
    pub(crate) fn without_end(&self) -> u64 {
        self.begins + self.begins_beyond
    }

    /// Returns how many ends have no begin.
    pub(crate) fn without_begin(&self) -> u64 {
        self.ends + self.ends_beyond
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = Key { process: 1, label: LabelId(0), id: 7 };

    fn at(nanos: u64) -> Begin {
        Begin { nanos, thread: ThreadKoids::UNKNOWN }
    }

    #[test]
    fn halves_find_each_other_in_any_order() {
        let mut links = Links::default();
        assert_eq!(links.begin(KEY, at(10)), None);
        assert_eq!(links.begin(KEY, at(20)), None);
        assert_eq!(links.end(KEY, 25), Some(at(20)));
        // No begin is earlier than this.
        assert_eq!(links.end(KEY, 5), None);
        assert_eq!((links.without_end(), links.without_begin()), (1, 1));
        assert_eq!(links.end(KEY, 30), Some(at(10)));
        // The id is used again, and the archive has the ends first.
        assert_eq!(links.end(KEY, 50), None);
        assert_eq!(links.begin(KEY, at(40)), Some(50));
        assert_eq!(links.begin(KEY, at(1)), Some(5));
        assert_eq!((links.without_end(), links.without_begin()), (0, 0));
        assert!(links.waiting.is_empty());
    }
}
