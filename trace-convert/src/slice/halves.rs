//! Which begin and which end are of one duration or operation, while an archive
//! is looked at.
//!
//! They can stand in the archive in any order, since chunks of threads do: so
//! halves are collected, and of many the older ones are paired in the order of
//! time.

use trace_analyze::catalog::{Catalog, LabelId, ThreadId};
use trace_analyze::pairing::{begin_of, Pattern};

/// The most halves that are remembered; of those without another half, a
/// quarter as many.
const MAX_WAITING: usize = 1 << 18;

/// What a begin and its end have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Thread(ThreadId),
    Operation { process: u64, id: u64 },
}

/// A begin or an end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Half {
    pub(super) key: Key,
    /// When it is, in nanoseconds.
    pub(super) at: u64,
    /// Its number, which grows along the archive.
    pub(super) number: usize,
    pub(super) label: LabelId,
    pub(super) is_end: bool,
    pub(super) is_wanted: bool,
}

/// What is known of a begin.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) begin: Half,
    /// When it was over.
    pub(super) over: u64,
    /// The number of its end; `None` if that is lost, and only what is around
    /// it has ended.
    pub(super) end: Option<usize>,
}

/// Begins and ends that wait for each other.
#[derive(Debug)]
pub(super) struct Halves {
    waiting: Vec<Half>,
    max_waiting: usize,
    /// Begins whose ends are not looked for any more.
    pub(super) forgotten: u64,
}

impl Default for Halves {
    fn default() -> Self {
        Self { waiting: Vec::new(), max_waiting: MAX_WAITING, forgotten: 0 }
    }
}

impl Halves {
    /// Takes a half; gives `sink` what is paired by that.
    #[inline]
    pub(super) fn push(&mut self, catalog: &Catalog, half: Half, sink: &mut impl FnMut(Pair)) {
        self.waiting.push(half);
        if self.waiting.len() >= self.max_waiting {
            self.make_room(catalog, sink);
        }
    }

    /// Pairs the older half. With what is newer, an end can still come whose
    /// begin is there.
    #[cold]
    fn make_room(&mut self, catalog: &Catalog, sink: &mut impl FnMut(Pair)) {
        let newer = split_off_newer(&mut self.waiting, self.max_waiting / 2);
        self.pair(catalog, sink);
        if self.waiting.len() > self.max_waiting / 4 {
            let newest = split_off_newer(&mut self.waiting, self.max_waiting / 4);
            self.forgotten += self.waiting.iter().filter(|half| !half.is_end).count() as u64;
            self.waiting = newest;
        }
        self.waiting.extend(newer);
    }

    /// Pairs the rest, at the end of the archive.
    pub(super) fn finish(&mut self, catalog: &Catalog, sink: &mut impl FnMut(Pair)) {
        self.pair(catalog, sink);
    }

    /// Pairs what can be paired.
    fn pair(&mut self, catalog: &Catalog, sink: &mut impl FnMut(Pair)) {
        self.waiting.sort_unstable_by_key(|half| (half.key, half.at, half.number));
        let mut rest = Vec::new();
        for halves in self.waiting.chunk_by(|a, b| a.key == b.key) {
            pair_of_key(catalog, halves, &mut rest, sink);
        }
        self.waiting = rest;
    }
}

/// Returns the `count` newest, and leaves the others.
fn split_off_newer(halves: &mut Vec<Half>, count: usize) -> Vec<Half> {
    let older = halves.len().saturating_sub(count);
    if older < halves.len() {
        halves.select_nth_unstable_by_key(older, |half| (half.at, half.number));
    }
    halves.split_off(older)
}

/// Pairs halves, in the order of time. Adds those without another half to
/// `rest`.
fn pair_of_key(
    catalog: &Catalog,
    halves: &[Half],
    rest: &mut Vec<Half>,
    sink: &mut impl FnMut(Pair),
) {
    let (mut open, mut ends): (Vec<Half>, Vec<Half>) = Default::default();
    for half in halves {
        if !half.is_end {
            // An end can stand before a begin of the same time, of another thread.
            let is_its = |end: &&Half| {
                end.at == half.at && Pattern::new(catalog, end.label).matches(half.label)
            };
            match ends.last().filter(is_its) {
                Some(end) => {
                    sink(Pair { begin: *half, over: end.at, end: Some(end.number) });
                    ends.pop();
                }
                None => open.push(*half),
            }
            continue;
        }
        let Some(place) = begin_of(catalog, half.label, &open, |begin| Some(begin.label)) else {
            ends.push(*half);
            continue;
        };
        if let Key::Thread(_) = half.key {
            let inside = open.drain(place + 1..);
            inside.for_each(|begin| sink(Pair { begin, over: half.at, end: None }));
        }
        sink(Pair { begin: open.remove(place), over: half.at, end: Some(half.number) });
    }
    rest.extend(ends);
    rest.extend(open);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A begin is `(label, at, false)`.
    fn paired(
        max_waiting: usize,
        key: Key,
        halves: &[(u32, u64, bool)],
    ) -> (Vec<(u64, u64)>, Halves) {
        let mut catalog = Catalog::default();
        let labels = ["a", "b"].map(|name| {
            let (category, name) = (catalog.intern("cat"), catalog.intern(name));
            catalog.label_of(category, name)
        });
        let (mut pairs, mut all) = (Vec::new(), Halves { max_waiting, ..Halves::default() });
        let mut sink = |pair: Pair| {
            assert!(pair.end.is_none_or(|end| end != pair.begin.number));
            pairs.push((pair.begin.at, pair.over));
        };
        for (number, &(label, at, is_end)) in halves.iter().enumerate() {
            let label = labels[label as usize];
            let half = Half { key, at, number, label, is_end, is_wanted: true };
            all.push(&catalog, half, &mut sink);
        }
        all.finish(&catalog, &mut sink);
        pairs.sort_unstable();
        (pairs, all)
    }

    const THREAD: Key = Key::Thread(ThreadId(0));
    const OPERATION: Key = Key::Operation { process: 1, id: 2 };

    #[test]
    fn in_any_order() {
        for key in [THREAD, OPERATION] {
            let halves = [(0, 30, true), (0, 10, false), (0, 40, true), (0, 30, false)];
            assert_eq!(paired(100, key, &halves).0, [(10, 30), (30, 40)]);
            let early = [(0, 30, true), (0, 30, false)];
            assert_eq!(paired(100, key, &early).0, [(30, 30)]);
            assert_eq!(paired(100, key, &[(1, 30, true), (0, 30, false)]).0, []);
        }
    }

    #[test]
    fn inside_of_what_has_ended() {
        let halves = [(0, 1, false), (1, 2, false), (0, 3, true), (1, 4, true)];
        assert_eq!(paired(100, THREAD, &halves).0, [(1, 3), (2, 3)]);
        assert_eq!(paired(100, OPERATION, &halves).0, [(1, 3), (2, 4)]);
    }

    #[test]
    fn those_without_another_half_are_forgotten() {
        let begins: Vec<_> = (0..100).map(|at| (0, at, false)).collect();
        let (pairs, all) = paired(16, OPERATION, &begins);
        assert!(pairs.is_empty() && all.waiting.len() <= 16, "{all:?}");
        assert_eq!(all.forgotten, 100 - all.waiting.len() as u64);
        // What ends soon is found all the same.
        let nested = |at: u64| [(0, 2 * at + 1, true), (0, 2 * at, false)];
        let halves: Vec<_> = (0..100).flat_map(nested).collect();
        let (pairs, all) = paired(16, THREAD, &halves);
        assert_eq!((pairs.len(), all.forgotten), (100, 0));
        assert!(pairs.iter().all(|(begin, end)| begin + 1 == *end), "{pairs:?}");
    }
}
